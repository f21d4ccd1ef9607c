"""Main effects and slices of a model."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from genbayes.analysis import main_effects, slice_inputs
from genbayes.errors import InvalidInput

Maker = Callable[..., Any]


def additive(X: Any) -> np.ndarray:
    x = np.asarray(X)
    return 3 * x[:, 0] ** 2 + np.sin(5 * x[:, 1])


def uniform(n: int, d: int = 2) -> np.ndarray:
    return np.random.default_rng(0).uniform(size=(n, d))


def test_effects_and_shares_of_an_additive_function_are_those_of_its_terms_up_to_a_constant(make_model: Maker) -> None:
    X = uniform(1_000)
    first, second = sorted(main_effects(make_model(additive), X), key=lambda effect: effect.column)
    assert np.ptp(first.mean - 3 * first.values**2) < 1e-12
    assert np.ptp(second.mean - np.sin(5 * second.values)) < 1e-12
    terms = np.c_[3 * X[:, 0] ** 2, np.sin(5 * X[:, 1])]
    expected = terms.var(axis=0) / terms.sum(axis=1).var()
    # the grid of 31 points is the only error: linear interpolation, below (1/15)^2 / 8 of the curvature
    assert [first.share, second.share] == pytest.approx(expected, rel=0.02)


def test_a_pure_interaction_has_no_main_effect(make_model: Maker) -> None:
    grid = np.linspace(-1, 1, 15)
    X = np.array([(a, b) for a in grid for b in grid])
    product = make_model(lambda X: X[:, 0] * X[:, 1])
    assert max(effect.share for effect in main_effects(product, X, n_averaged=len(X))) < 1e-20


def test_the_most_important_input_comes_first(make_model: Maker) -> None:
    effects = main_effects(make_model(lambda X: X @ np.array([1.0, 5.0, 2.0])), uniform(50, 3))
    assert [effect.name for effect in effects] == ["x2", "x3", "x1"]


def test_categories_of_a_frame_are_tried_one_by_one(make_model: Maker) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"gas": rng.choice(["He", "O2"], 80), "x": rng.uniform(size=80)})
    model = make_model(lambda X: X["gas"].map({"He": 0.0, "O2": 2.0}).astype(float) + X["x"])
    gas = next(effect for effect in main_effects(model, X) if effect.name == "gas")
    assert gas.values.tolist() == ["He", "O2"]
    assert np.diff(gas.mean) == pytest.approx([2.0])
    assert gas.categorical


def test_a_constant_column_and_a_constant_prediction_explain_nothing(make_model: Maker) -> None:
    constant = main_effects(make_model(additive), np.c_[np.ones(30), np.linspace(0, 1, 30)])[-1]
    assert (constant.column, constant.share, len(constant.values)) == (0, 0.0, 1)
    effects = main_effects(make_model(lambda X: np.zeros(len(X))), uniform(20))
    assert [effect.share for effect in effects] == [0.0, 0.0]


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_shares_do_not_depend_on_units(make_model: Maker, scale: float) -> None:
    X = uniform(100)
    usual = [effect.share for effect in main_effects(make_model(additive), X)]
    odd = [effect.share for effect in main_effects(make_model(lambda X: scale * additive(X / scale)), X * scale)]
    assert odd == pytest.approx(usual)


def test_the_only_input_explains_everything(make_model: Maker) -> None:
    (effect,) = main_effects(make_model(lambda X: np.sin(20 * X[:, 0])), uniform(500, 1))
    assert effect.share == pytest.approx(1.0, abs=0.01)


def test_the_same_rows_are_chosen_each_time(make_model: Maker) -> None:
    model = make_model(lambda X: X[:, 0] * X[:, 1])
    first, second = (main_effects(model, uniform(2_000)) for _ in range(2))
    assert [effect.mean.tolist() for effect in first] == [effect.mean.tolist() for effect in second]


def test_the_number_of_predictions_stays_bounded_for_many_inputs_and_rows(make_model: Maker) -> None:
    asked: list[int] = []

    def count(X: Any) -> np.ndarray:
        asked.append(len(X))
        return np.zeros(len(X))

    main_effects(make_model(count), uniform(5_000, 30))
    assert sum(asked) < 30_000


def test_a_grid_of_one_value_and_levels_in_percent_are_refused(make_model: Maker) -> None:
    with pytest.raises(InvalidInput, match="n_grid must be a whole number of at least 2"):
        main_effects(make_model(additive), np.ones((5, 2)), n_grid=1)
    with pytest.raises(InvalidInput, match=r"pass 0\.9 for 90%"):
        slice_inputs(make_model(lambda X: X[:, 0]), np.ones((3, 1)), [0], levels=[90])


def test_other_inputs_stay_at_their_median(make_model: Maker) -> None:
    X = np.c_[uniform(21, 1), np.arange(21.0)]
    (cut,) = slice_inputs(make_model(lambda X: X[:, 0] + 100 * X[:, 1]), X, [0])
    assert cut.median == pytest.approx(cut.values + 1_000)


def test_bands_are_central_intervals(make_model: Maker) -> None:
    (cut,) = slice_inputs(make_model(lambda X: X[:, 0], scale=2.0), uniform(20, 1), [0], levels=(0.5, 0.9))
    for level, lower, upper in cut.bands:
        assert upper - cut.median == pytest.approx(2 * norm.ppf((1 + level) / 2))
        assert cut.median - lower == pytest.approx(2 * norm.ppf((1 + level) / 2))


def test_a_category_is_sliced_at_each_of_its_values(make_model: Maker) -> None:
    X = pd.DataFrame({"x": [0.1, 0.2, 0.3], "gas": ["He", "O2", "He"]})
    model = make_model(lambda X: X["gas"].map({"He": 1.0, "O2": 5.0}).astype(float))
    (cut,) = slice_inputs(model, X, [1])
    assert (cut.name, cut.values.tolist(), cut.median.tolist()) == ("gas", ["He", "O2"], [1.0, 5.0])
