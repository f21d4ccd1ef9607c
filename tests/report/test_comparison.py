"""The page of a comparison: whole, self-contained, and with everything that the report says."""

import numpy as np
import pytest

from genbayes import AutoSurrogate
from genbayes.auto import SelectionReport
from genbayes.errors import UnwritableFile
from genbayes.report import write_comparison


@pytest.fixture(scope="module")
def report() -> SelectionReport:
    rng = np.random.default_rng(0)
    X = np.append(rng.uniform(size=(59, 1)), [[8.0]], axis=0)
    y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(60)
    return AutoSurrogate(candidates=["gp", "het-gp"], random_state=0).fit(X, y).report_


def test_the_page_tells_what_the_report_tells(report, tmp_path) -> None:
    path = write_comparison(tmp_path / "page.html", report, title="Which <one>?", target="drag", n_rows=60)
    text = path.read_text()
    assert "Which &lt;one&gt;?" in text
    assert "60 rows, 2 surrogates" in text
    assert report.reason in text
    for entry in report.entries:
        assert entry.title in text
    assert "x0 above" in text  # one run far from the others
    assert text.count("<svg") == 4


def test_nothing_is_fetched_from_elsewhere(report, tmp_path) -> None:
    text = write_comparison(tmp_path / "page.html", report, title="t").read_text()
    assert "<script" not in text
    assert 'src="http' not in text
    assert "url(http" not in text


def test_a_path_that_cannot_be_written_is_refused(report, tmp_path) -> None:
    with pytest.raises(UnwritableFile, match="path must lie in an existing folder"):
        write_comparison(tmp_path / "no" / "page.html", report, title="t")
