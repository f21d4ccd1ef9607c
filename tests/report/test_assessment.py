import os
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from genbayes.errors import InvalidInput, UnwritableFile
from genbayes.report import write_assessment

Maker = Callable[..., Any]
VOID = {"meta", "br", "hr", "img", "link", "input"}
HISTORY = SimpleNamespace(
    epoch=np.arange(1.0, 9), loss=1 / np.arange(1.0, 9), held_out_epoch=np.array([4.0, 8.0]),
    held_out_crps=np.array([0.4, 0.3]), seconds=1.25,
)  # fmt: skip


class WellFormed(HTMLParser):
    """Collects tags, attributes and text, and fails on a tag that is not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.identifiers: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.identifiers += [str(value) for name, value in attributes if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.identifiers += [str(value) for name, value in attributes if name == "id"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, text: str) -> None:
        self.text += text


def read(path: Path) -> WellFormed:
    page = WellFormed()
    page.feed(path.read_text(encoding="utf-8"))
    page.close()
    assert page.open == []
    return page


def mixed_frame(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    columns = {
        "<b>gas</b>": rng.choice(["He", "<i>O2</i>"], n),
        "压力 $x_1$": rng.uniform(size=n),
        "constant": np.ones(n),
        "on": rng.uniform(size=n) < 0.5,
        "long_" * 30: 10.0 ** rng.uniform(-12, 0, size=n),
    }
    return pd.DataFrame(columns)


@pytest.fixture(scope="module")
def mixed_page(make_model: Maker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    X = mixed_frame(60)
    model = make_model(
        lambda X: 3 * X["压力 $x_1$"] + X["on"], history_=HISTORY, summary=lambda: {"<u>recipe": "<fast>"}
    )
    y = pd.Series(np.asarray(3 * X["压力 $x_1$"] + X["on"]) + np.linspace(-2, 2, 60), name="thrust <kN>")
    path = tmp_path_factory.mktemp("mixed") / "report.html"
    write_assessment(path, model, X, y, title="A <script>", scored_on="<held-out>", notes=["Mind the <gap>."])
    return path


def test_the_page_is_well_formed_and_keeps_the_order_of_reading(mixed_page: Path) -> None:
    text = read(mixed_page).text
    titles = [
        "Over 60 rows", "Mind the <gap>.", "Skill", "Prediction along each input", "Predicted against observed",
        "PIT histogram", "Where the CRPS comes from", "Reliability of quantiles", "Calibration curve", "Main effects",
        "Training loss", "Held-out score", "Settings",
    ]  # fmt: skip
    places = [text.index(title) for title in titles]
    assert places == sorted(places)


def test_the_page_needs_nothing_else(mixed_page: Path) -> None:
    source, page = mixed_page.read_text(encoding="utf-8"), read(mixed_page)
    assert "http://" not in source
    assert "https://" not in source
    assert not page.tags & {"script", "link", "img", "iframe", "image"}
    assert "@import" not in source


def test_what_a_user_names_is_text(mixed_page: Path) -> None:
    page = read(mixed_page)
    assert not page.tags & {"i", "u", "fast", "gap"}
    for name in (
        "A <script>",
        "<held-out>",
        "<b>gas</b>",
        "<i>O2</i>",
        "压力 $x_1$",
        "<u>recipe",
        "<fast>",
        "thrust <kN>",
    ):
        assert name in page.text


def test_identifiers_of_figures_do_not_clash(mixed_page: Path) -> None:
    identifiers = read(mixed_page).identifiers
    assert identifiers
    assert len(identifiers) == len(set(identifiers))


def test_every_figure_says_how_to_read_it(mixed_page: Path) -> None:
    source = mixed_page.read_text(encoding="utf-8")
    assert source.count("<figcaption><b>How to read this.</b>") == source.count("<figure>") == 9


@pytest.mark.parametrize(("n", "scale"), [(2, 1.0), (10, 1e12), (20_000, 1e-12)])
def test_any_number_of_rows_and_any_unit_is_shown(make_model: Maker, tmp_path: Path, n: int, scale: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 1)) / scale
    y = scale * rng.normal(size=n)
    model = make_model(lambda X: np.zeros(len(X)), scale=scale)
    path = tmp_path / "report.html"
    assert write_assessment(path, model, X, y, title="t", scored_on="s").n == n
    text = read(path).text
    assert "Prediction and data" in text
    assert not re.search("Training|Settings", text)  # this model tells of neither
    assert path.stat().st_size < 600_000


@pytest.mark.parametrize(
    "X",
    [
        np.ones((12, 2)),
        np.random.default_rng(0).uniform(size=(12, 30)),
        pd.DataFrame({"only": ["a", "b", "c"] * 4}),
    ],
    ids=["all constant", "thirty inputs", "one category"],
)
def test_unusual_inputs_are_shown(make_model: Maker, tmp_path: Path, X: Any) -> None:
    path = tmp_path / "report.html"
    model = make_model(lambda X: np.zeros(len(X)))
    write_assessment(path, model, X, np.arange(12.0), title="t", scored_on="s")
    assert "Main effect" in read(path).text


def test_a_directory_is_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(UnwritableFile, match="path must name a file, got the directory"):
        write_assessment(tmp_path, None, None, None, title="t", scored_on="s")


def test_a_missing_folder_is_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(UnwritableFile, match="path must lie in an existing folder"):
        write_assessment(tmp_path / "no" / "r.html", None, None, None, title="t", scored_on="s")


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interrupted_write_leaves_the_old_page(
    make_model: Maker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: Any
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(*_: Any) -> None:
        raise failure

    monkeypatch.setattr(os, "replace", fail)
    monkeypatch.setattr("genbayes.report.assessment.draw_pictures", lambda *_: [])  # they take the time
    model, X = make_model(lambda X: X[:, 0]), np.arange(9.0).reshape(-1, 1)
    with pytest.raises((KeyboardInterrupt, UnwritableFile), match=r"^$|No space left on device"):
        write_assessment(path, model, X, np.arange(9.0), title="t", scored_on="s")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]


def test_rows_that_cannot_be_scored_leave_the_old_page(make_model: Maker, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(InvalidInput, match="y must be finite"):
        write_assessment(path, make_model(lambda X: X[:, 0]), np.ones((2, 1)), [1.0, np.inf], title="t", scored_on="s")
    assert path.read_text() == "old"
