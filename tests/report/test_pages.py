"""Laws of every page: well formed, self-contained, whole or not there, and whatever a user can name is text."""

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from genbayes import AutoSurrogate, Campaign
from genbayes.auto import SelectionReport
from genbayes.auto.jobs import NO_TIME
from genbayes.auto.surrogate import Combination
from genbayes.campaign.learning_curve import LearningCurve
from genbayes.data import Choice, Log
from genbayes.errors import InvalidInput, UnwritableFile
from genbayes.report import write_assessment, write_campaign, write_comparison
from genbayes.report.figures import find_history, find_regime_map, training_figures

NASTY = "<script>alert('x')</script>"
HISTORY = SimpleNamespace(
    epoch=np.arange(1.0, 9), loss=1 / np.arange(1.0, 9), held_out_epoch=np.array([4.0, 8.0]),
    held_out_crps=np.array([0.4, 0.3]), seconds=1.25,
)  # fmt: skip
CURVE = LearningCurve(np.array([10.0, 20.0, 40.0]), np.array([0.4, 0.2, 0.1]), np.array([0.02, 0.01, 0.01]))


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
def assessment(make_model) -> Callable[[Path], Any]:
    X = mixed_frame(60)
    law = lambda X: 3 * X["压力 $x_1$"] + X["on"]  # noqa: E731
    model = make_model(law, history_=HISTORY, summary=lambda: {"<u>recipe": "<fast>"})
    y = pd.Series(np.asarray(law(X)) + np.linspace(-2, 2, 60), name="thrust <kN>")
    words = {"title": NASTY, "scored_on": "<held-out>", "notes": ["Mind the <gap>."]}
    return lambda path: write_assessment(path, model, X, y, **words)


ROWS = np.append(np.random.default_rng(0).uniform(size=(59, 2)), [[8.0, 0.5]], axis=0)
RESPONSE = np.sin(6 * ROWS[:, 0]) + ROWS[:, 1] + 0.1 * np.random.default_rng(1).standard_normal(60)


@pytest.fixture(scope="module")
def chosen() -> AutoSurrogate:
    return AutoSurrogate(candidates=["gp", "het-gp"], random_state=0).fit(ROWS, RESPONSE)


@pytest.fixture(scope="module")
def selection(chosen: AutoSurrogate) -> SelectionReport:
    return chosen.report_


@pytest.fixture(scope="module")
def comparison(chosen: AutoSurrogate) -> Callable[[Path], Any]:
    entries = tuple(replace(entry, title=f"{entry.title} <i>") for entry in chosen.report_.entries)
    named = replace(chosen.report_, entries=entries)
    words = {"title": NASTY, "target": "<drag>", "n_rows": 60}
    return lambda path: write_comparison(path, named, chosen, ROWS[:20], RESPONSE[:20], **words)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Any]:
    url = f"sqlite:///{tmp_path_factory.mktemp('campaign')}/a.db"
    space = {NASTY: (0.0, 1.0), "rate": Log(0.1, 1.0), "b&": Choice("<i>", "</svg>")}
    made = Campaign.create(url, NASTY, space, n_initial=6, random_state=0, proposer="random")
    made.tell(made.ask(worker=NASTY), 1.0)
    made.fail(made.ask(), NASTY)
    made.run(lambda x: x["rate"], budget=9)
    made.ask(worker=NASTY)
    return lambda path: write_campaign(path, made, made.status(), CURVE)


PAGES = pytest.mark.parametrize("which", ["assessment", "comparison", "campaign"])


@pytest.fixture
def write(which: str, request: pytest.FixtureRequest) -> Callable[[Path], Any]:
    return request.getfixturevalue(which)


@PAGES
def test_a_page_is_well_formed_and_needs_nothing_else(write, read, tmp_path: Path) -> None:
    write(tmp_path / "page.html")
    page = read(tmp_path / "page.html")
    assert not re.search(r"https?://|@import|url\((?!#)", page.source)
    assert not {"script", "link", "img", "iframe", "image"} & set(page.tags)
    assert all(address.startswith("#") for address in page.addresses)
    assert page.identifiers
    assert len(page.identifiers) == len(set(page.identifiers))
    assert page.source.count("<figcaption><b>How to read this.</b>") == page.tags.count("figure") > 0
    assert "average distance" in page.text  # what CRPS means, in words
    assert page.text.count("average distance") == 1


@PAGES
def test_whatever_a_user_can_name_is_text(write, read, tmp_path: Path) -> None:
    write(tmp_path / "page.html")
    page = read(tmp_path / "page.html")
    assert not {"script", "i", "u", "fast", "gap", "drag"} & set(page.tags)
    assert page.text.count(NASTY) >= 2  # title and heading


@PAGES
@pytest.mark.parametrize(
    ("place", "sentence"), [(".", "must name a file, got the dir"), ("no/r.html", "must lie in an")]
)
def test_a_place_that_cannot_be_written_is_refused(write, tmp_path: Path, place: str, sentence: str) -> None:
    with pytest.raises(UnwritableFile, match=f"path {sentence}"):
        write(tmp_path / place)


@PAGES
@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_an_interrupted_write_leaves_the_old_page(write, tmp_path: Path, monkeypatch, failure: Any) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(*_: Any) -> None:
        raise failure

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", fail)
        with pytest.raises((KeyboardInterrupt, UnwritableFile), match=r"^$|No space left on device"):
            write(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]
    write(path)
    assert path.read_text().startswith("<!doctype html>")


def test_the_page_of_a_model_keeps_the_order_of_reading(assessment, read, tmp_path: Path) -> None:
    assessment(tmp_path / "page.html")
    page = read(tmp_path / "page.html")
    titles = [
        "Over 60 rows", "Mind the <gap>.", "Skill", "Prediction along each input", "Predicted against observed",
        "PIT histogram", "Where the CRPS comes from", "Reliability of quantiles", "Calibration curve", "Main effects",
        "Training loss", "Held-out score", "Settings",
    ]  # fmt: skip
    places = [page.text.index(title) for title in titles]
    assert places == sorted(places)
    assert page.tags.count("figure") == 9
    for name in ("<held-out>", "<b>gas</b>", "<i>O2</i>", "压力 $x_1$", "<u>recipe", "<fast>", "thrust <kN>"):
        assert name in page.text


@pytest.mark.parametrize(("n", "scale"), [(2, 1.0), (10, 1e12), (20_000, 1e-12)])
def test_any_number_of_rows_and_any_unit_is_shown(make_model, read, tmp_path: Path, n: int, scale: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 1)) / scale
    y = scale * rng.normal(size=n)
    model = make_model(lambda X: np.zeros(len(X)), scale=scale)
    path = tmp_path / "report.html"
    assert write_assessment(path, model, X, y, title="t", scored_on="s").n == n
    text = read(path).text
    assert "Prediction and data" in text
    assert not re.search("Training|Settings", text)  # this model has neither
    assert path.stat().st_size < 600_000


@pytest.mark.parametrize(
    "X",
    [np.ones((12, 2)), np.random.default_rng(0).uniform(size=(12, 30)), pd.DataFrame({"only": ["a", "b", "c"] * 4})],
    ids=["all constant", "thirty inputs", "one category"],
)
def test_unusual_inputs_are_shown(make_model, read, tmp_path: Path, X: Any) -> None:
    path = tmp_path / "report.html"
    model = make_model(lambda X: np.zeros(len(X)))
    write_assessment(path, model, X, np.arange(12.0), title="t", scored_on="s")
    assert re.search("Main effects|Prediction along each input", read(path).text)


def test_rows_that_cannot_be_scored_leave_the_old_page(make_model, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(InvalidInput, match="y must be finite"):
        write_assessment(path, make_model(lambda X: X[:, 0]), np.ones((2, 1)), [1.0, np.inf], title="t", scored_on="s")
    assert path.read_text() == "old"


def test_the_page_of_a_comparison_says_what_the_report_says(comparison, selection, read, tmp_path: Path) -> None:
    comparison(tmp_path / "page.html")
    page = read(tmp_path / "page.html")
    assert "60 rows, 2 surrogates" in page.text
    assert selection.reason in page.text
    assert all(f"{entry.title} <i>" in page.text for entry in selection.entries)
    assert "x1 above" in page.text  # one run far from the others
    titles = [
        "Scores of the surrogates", "Every surrogate", "PIT histogram", "Calibration curve",
        "The chosen model", "Predicted against observed", "Prediction along each input", "Main effects",
    ]  # fmt: skip
    places = [page.text.index(title) for title in titles]
    assert places == sorted(places)
    assert page.tags.count("svg") == 4 + 1 + 2 + 3  # scores and calibration, observed, slices, effects


def test_the_page_of_a_comparison_counts_those_that_were_scored(selection, read, tmp_path: Path) -> None:
    write_comparison(tmp_path / "page.html", selection, title="t")
    assert "2 surrogates, each scored on rows it had not seen, in" in read(tmp_path / "page.html").text
    late = replace(selection.entries[1], crps=None, crps_se=None, behind=None, behind_se=None, weight=0.0, note=NO_TIME)
    some = replace(selection, entries=(selection.entries[0], late))
    write_comparison(tmp_path / "page.html", some, title="t")
    assert "2 surrogates, 1 of them scored on rows they had not seen, in" in read(tmp_path / "page.html").text


def test_the_page_of_an_automatic_choice_shows_among_what_it_was_made(chosen, read, tmp_path: Path) -> None:
    write_assessment(tmp_path / "page.html", chosen, ROWS[:20], RESPONSE[:20], title="t", scored_on="s")
    page = read(tmp_path / "page.html")
    assert all(entry.title in page.text for entry in chosen.report_.entries)
    assert "Scores of the surrogates" in page.text
    assert "Training loss" not in page.text  # no network was chosen


def test_the_training_shown_is_that_of_the_network_with_most_weight_and_marks_the_epoch_kept() -> None:
    part = lambda history: SimpleNamespace(history_=history)  # noqa: E731
    joined = SimpleNamespace(models=[part("small"), SimpleNamespace(), part("large")], weights=[0.2, 0.5, 0.3])
    assert find_history(SimpleNamespace(combination_=joined)) == "large"
    assert find_history(SimpleNamespace(combination_=SimpleNamespace(models=[1], weights=[1.0]))) is None
    assert [figure.count("kept: epoch 8") for figure in training_figures(HISTORY)] == [1, 1]
    paper = SimpleNamespace(**{**vars(HISTORY), "held_out_epoch": np.empty(0), "held_out_crps": np.empty(0)})
    (alone,) = training_figures(paper)
    assert "kept" not in alone


def test_regimes_are_those_of_the_largest_model_that_knows_more_than_one() -> None:
    def knowing(word: str | None) -> SimpleNamespace:
        return SimpleNamespace(map_regimes=lambda names: word and (word, names))

    auto, models = AutoSurrogate(), (knowing("small"), knowing("large"), knowing(None), 1)
    auto.combination_ = Combination("pool", models, np.array([0.1, 0.2, 0.3, 0.4]))
    assert find_regime_map(auto) == ("large", None)
    auto.feature_names_in_, auto.n_features_in_ = np.array(["mach", "alpha"], dtype=object), 2
    assert find_regime_map(auto) == ("large", ["mach", "alpha"])
    assert find_regime_map(SimpleNamespace()) is None


def test_the_page_of_a_model_of_jumps_shows_where_its_regimes_lie(read, tmp_path: Path) -> None:
    from genbayes.models import RegimeGP

    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (80, 2))
    y = 6.0 * (X[:, 0] > X[:, 1] ** 2) + 0.1 * rng.standard_normal(80)
    model = RegimeGP(n_starts=1, random_state=0).fit(X, y)
    write_assessment(tmp_path / "page.html", model, X, y, title="t", scored_on="80 rows", target="y")
    page = read(tmp_path / "page.html")
    assert "2 regimes, found from inputs and responses together" in page.text
