"""An AutoSurrogate in a file: the same answers and the same report; anything else is refused in a sentence."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from genbayes import AutoSurrogate, InvalidInput, load
from genbayes.auto.stacking import Kind
from genbayes.auto.surrogate import Combination
from genbayes.errors import UnreadableFile
from genbayes.models import StationaryGP
from genbayes.persistence import State, read_state, write_state

TAU = [0.001, 0.1, 0.5, 0.9, 0.999]


def draw_runs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(40, 2))
    return X, np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(40)


@pytest.fixture(scope="module")
def single() -> AutoSurrogate:
    return AutoSurrogate(candidates=["gp"], y_bounds=(-3, None), random_state=0).fit(*draw_runs())


def joined(kind: Kind) -> AutoSurrogate:
    """As fitted with two GPs that happened to be worth joining."""
    X, y = draw_runs()
    model = AutoSurrogate(candidates=["gp"], random_state=0).fit(X, y)
    other = StationaryGP(n_starts=1, random_state=1).fit(X, y + X[:, 1])
    model.combination_ = Combination(kind, (*model.combination_.models, other), np.array([0.25, 0.75]))
    return model


def altered(model: AutoSurrogate, path: Path, values: dict[str, Any], arrays: dict[str, np.ndarray]) -> Path:
    state = read_state(model.save(path))
    write_state(path, State(state.kind, {**state.values, **values}, {**state.arrays, **arrays}))
    return path


def test_report_and_answers_survive_the_file(single, tmp_path: Path) -> None:
    again = load(single.save(tmp_path / "auto.gb"))
    X = draw_runs()[0]
    np.testing.assert_array_equal(again.predict_quantiles(X, TAU), single.predict_quantiles(X, TAU))
    assert again.report_ == single.report_
    assert again.get_params() == single.get_params()
    assert again.combination_.bounds == (-3.0, None)


@pytest.mark.parametrize("kind", ["average", "pool"])
@pytest.mark.parametrize("of", ["run", "mean"])
def test_joined_models_survive_the_file(kind: Kind, of: str, tmp_path: Path) -> None:
    model = joined(kind)
    again, X = load(model.save(tmp_path / "auto.gb")), draw_runs()[0]
    old, new = (each.predict_distribution(X, of=of).ppf(TAU) for each in (model, again))
    np.testing.assert_array_equal(new, old)
    assert again.combination_.kind == kind


def test_models_of_the_user_that_are_ours_are_saved_fitted(tmp_path: Path) -> None:
    X, y = draw_runs()
    model = AutoSurrogate(candidates={"mine": StationaryGP(n_starts=1)}, random_state=0).fit(X, y)
    again = load(model.save(tmp_path / "auto.gb"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.report_.chosen == ("mine",)


def test_models_of_another_library_cannot_be_saved(fakes, tmp_path: Path) -> None:
    model = AutoSurrogate(candidates={"bell": fakes.Bell()}, random_state=0).fit(*draw_runs())
    with pytest.raises(InvalidInput, match="a model must be registered to be saved, got Bell"):
        model.save(tmp_path / "auto.gb")
    assert not (tmp_path / "auto.gb").exists()


@pytest.mark.parametrize(
    ("values", "arrays"),
    [
        ({"kind": "vote"}, {}),
        ({"n_models": 0}, {"weights": np.empty(0)}),
        ({"n_models": 2}, {}),
        ({"n_models": 2}, {"weights": np.array([0.5, 0.5])}),
        ({"n_models": "many"}, {}),
        ({"bounds": [3, -3]}, {}),
        ({"report": {}}, {}),
        ({"report": "good"}, {}),
        ({"model0": {"kind": "Evil", "values": {}}}, {}),
        ({"model0": 3}, {}),
        ({"parameters": {"trust_me": True}}, {}),
        ({}, {"weights": np.array([-1.0])}),
        ({}, {"weights": np.array([np.nan])}),
        ({}, {"weights": np.array([np.inf])}),
    ],
    ids=repr,
)
def test_a_file_that_was_tampered_with_is_refused(values, arrays, single, tmp_path: Path) -> None:
    path = altered(single, tmp_path / "auto.gb", values, arrays)
    with pytest.raises(UnreadableFile, match="must"):
        load(path)


def test_a_model_inside_that_is_fitted_to_other_columns_is_refused(single, tmp_path: Path) -> None:
    X, y = draw_runs()
    other = StationaryGP(n_starts=1, random_state=0).fit(X[:, :1], y).to_state()
    state = read_state(single.save(tmp_path / "auto.gb"))
    values = {name: value for name, value in state.values.items() if name != "model0"}
    arrays = {name: array for name, array in state.arrays.items() if not name.startswith("model0.")}
    write_state(tmp_path / "auto.gb", State(state.kind, values, arrays).with_part("model0", other))
    with pytest.raises((UnreadableFile, InvalidInput), match="features|inputs|columns"):
        load(tmp_path / "auto.gb").predict(X)
