"""What figures need of a model: small, exact enough, and never at the cost of a record."""

import json
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from genbayes.distribution import Normal
from genbayes_bench.figure_data import N_POINTS, N_SIDE, figure_data_of, find_plane, keep_figure_data, rounded
from genbayes_bench.problems import Split, draw_bgp, split_motorcycle
from genbayes_bench.record import Record

Z_90 = 1.6448536269514722  # 95% quantile of the normal law


@pytest.fixture
def bell() -> Any:
    """A fitted model with distribution N(sum of x, 2^2)."""
    return SimpleNamespace(predict_distribution=lambda X: Normal(loc=X.sum(axis=1), scale=np.full(len(X), 2.0)))


def record(method: str, replicate: int, detail: dict[str, Any], problem: str = "bgp2") -> Record:
    scores_and_costs: tuple[Any, ...] = ({}, 0.0, 0.0, 0.0)
    return Record(problem, "paper", method, replicate, 0, 10, 10, 2, *scores_and_costs, {}, {}, detail, None, "")


def test_bands_are_those_of_the_model_along_the_whole_range(bell: Any) -> None:
    split = split_motorcycle(0)
    found = keep_figure_data("motorcycle", bell, split)["exhibit"]
    x = np.array(found["x"])
    both = np.concatenate([split.X_train, split.X_test])
    assert (len(x), x[0], x[-1]) == (N_POINTS, both.min(), both.max())
    np.testing.assert_allclose(found["median"], x, atol=0.01)
    ((inner, *_), (outer, lower, upper)) = found["bands"]
    assert (inner, outer) == (0.5, 0.9)
    np.testing.assert_allclose(np.subtract(upper, lower), 2 * Z_90 * 2.0, atol=0.02)
    np.testing.assert_allclose(found["y_train"], split.y_train, atol=0.05)


def test_a_surface_runs_over_the_grid_with_the_second_input_fastest(bell: Any) -> None:
    found = keep_figure_data("bgp2", bell, draw_bgp(2, 0))["exhibit"]
    mean = np.array(found["mean"]).reshape(N_SIDE, N_SIDE)
    np.testing.assert_allclose(mean, np.add.outer(found["x1"], found["x2"]), atol=0.006)
    np.testing.assert_allclose(found["width"], 2 * Z_90 * 2.0, atol=0.01)


@pytest.mark.parametrize("problem", ["jump1d", "motorcycle", "bgp2"])
def test_figure_data_is_small_and_survives_json(problem: str, bell: Any) -> None:
    split = draw_bgp(2, 0) if problem == "bgp2" else split_motorcycle(0)
    found = keep_figure_data(problem, bell, split)["exhibit"]
    text = json.dumps(found, allow_nan=False)
    assert json.loads(text) == found
    assert len(text) < 80_000


@pytest.mark.parametrize("problem", ["friedman", "bgp3", "somebody's"])
def test_problems_without_a_picture_keep_nothing(problem: str, bell: Any) -> None:
    assert keep_figure_data(problem, bell, draw_bgp(2, 0)) == {}


def test_a_model_that_fails_on_the_grid_keeps_its_record() -> None:
    model = SimpleNamespace(predict_distribution=Mock(side_effect=MemoryError("too many rows")))
    assert keep_figure_data("bgp2", model, draw_bgp(2, 0)) == {"exhibit_error": "MemoryError: too many rows"}


@pytest.mark.parametrize("a", [[1.0, 1.0], [1.0, -1.0]])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_line_of_the_jump_is_found(a: list[float], sign: int) -> None:
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (200, 2))
    y = np.where(sign * X @ a >= 0, 0.0, 13.0)
    assert find_plane(Split(X, y, X, y)) == a


@pytest.mark.parametrize("replicate", range(4))
def test_the_line_parts_the_levels_of_bgp(replicate: int) -> None:
    split = draw_bgp(2, replicate)
    assert split.f_test is not None
    side = split.X_test @ find_plane(split) >= 0
    assert abs(split.f_test[side].mean() - split.f_test[~side].mean()) > 6  # 13 but for two surfaces of sd 3


def test_digits_are_those_of_the_largest_value() -> None:
    assert rounded([1234.567, -0.4, 0.0]) == [1235.0, 0.0, 0.0]
    assert rounded([0.0, 0.0]) == [0.0, 0.0]
    assert rounded(np.array([0.00123456])) == [0.001235]


def test_the_data_of_the_lowest_replicate_is_shown(bell: Any) -> None:
    sound = keep_figure_data("bgp2", bell, draw_bgp(2, 0))["exhibit"]
    own = [record("gp", r, {"exhibit": sound | {"kind": str(r)}}) for r in (3, 0, 7)]
    other = [record("gbc", 0, {}), record("gp", 0, {"exhibit": {}}, problem="bgp3")]
    assert figure_data_of([*own, *other], "bgp2") == {"gp": sound | {"kind": "0"}}
