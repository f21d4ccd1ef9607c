"""Runs as models see them: merged, categories coded, scaled, and where they lie."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from genbayes.data.categories import CategoryCoder
from genbayes.data.dataset import Dataset
from genbayes.data.extrapolation import N_KEPT, InputCoverage
from genbayes.data.scaling import InputScaler, ResponseScaler, as_bounds, weighted_moments
from genbayes.errors import InvalidInput

Y = np.array([0.1, 0.5, 2.0, 7.0])
BOUNDS = [(None, None), (0.0, None), (None, 8.0), (0.0, 8.0)]


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(0, 3)), min_size=1, max_size=20))
def test_a_weight_equals_repeating_the_row(rows: list[tuple[int, int, int]]) -> None:
    x, y, count = np.array(rows).T
    weighted = Dataset.merged(x[:, None].astype(float), y.astype(float), count.astype(float))
    repeated = Dataset.merged(np.repeat(x, count)[:, None].astype(float), np.repeat(y, count).astype(float))
    for name in ("X", "y", "weight"):
        np.testing.assert_array_equal(getattr(weighted, name), getattr(repeated, name))
    assert weighted.fingerprint() == repeated.fingerprint()


@given(st.permutations(range(8)))
def test_the_order_of_rows_does_not_matter_and_another_response_does(order: list[int]) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (8, 2)).astype(float), rng.integers(0, 2, 8).astype(float)
    assert Dataset.merged(X[order], y[order]).fingerprint() == Dataset.merged(X, y).fingerprint()
    assert Dataset.merged(X, y + np.eye(8)[order[0]]).fingerprint() != Dataset.merged(X, y).fingerprint()


def test_negative_zero_is_zero() -> None:
    assert len(Dataset.merged(np.array([[0.0], [-0.0]]), np.array([1.0, 1.0]))) == 1


@given(st.lists(st.text(max_size=4), min_size=1, max_size=20))
def test_codes_lead_back_to_the_categories_and_do_not_depend_on_their_sequence(values: list[str]) -> None:
    coder = CategoryCoder.learn(0, "gas", values)
    assert [coder.levels[int(code)] for code in coder.encode(values)] == values
    assert CategoryCoder.learn(0, "gas", values[::-1] + values[:1]).levels == coder.levels


def test_numbers_may_be_categories() -> None:
    coder = CategoryCoder.learn(2, "stage", [3, 1, 1.0])
    assert coder.levels == (1.0, 3.0)
    np.testing.assert_array_equal(coder.encode([1, 3]), [0, 1])


def test_a_whole_number_is_the_text_of_its_digits_though_a_gap_in_its_column_made_it_a_float() -> None:
    coder = CategoryCoder.learn(0, "batch", ["1", "2", "A1"])
    np.testing.assert_array_equal(coder.encode(pd.Series([2.0, None, 1.0]).dropna()), [1, 0])
    np.testing.assert_array_equal(CategoryCoder(0, "batch", ("1", "1.0")).encode([1.0]), [1])  # as fit had it


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_a_missing_category_is_refused(missing) -> None:
    with pytest.raises(InvalidInput, match=r"X\['gas'\] must not have missing categories, got 1 of 2 rows \(row 1\)"):
        CategoryCoder.learn(0, "gas", ["He", missing])


@pytest.mark.parametrize(
    ("learnt", "sentence"),
    [
        ([f"g{i}" for i in range(20)], r"hold categories seen in fit \('g0', .*, \.\.\.\), got 'one' in 1 of 1"),
        ([1, 2], r"X\['gas'\] must hold numbers as in fit, got 'one'"),
    ],
)
def test_an_unknown_category_is_refused(learnt: list, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        CategoryCoder.learn(0, "gas", learnt).encode(["one"])


@given(st.integers(-280, 280))
def test_moments_survive_any_unit_and_a_weight_of_two_equals_two_rows(exponent: int) -> None:
    unit = 10.0**exponent
    mean, sd = weighted_moments(unit * Y, np.array([2.0, 1.0, 1.0, 1.0]))
    repeated = np.r_[Y[0], Y]
    np.testing.assert_allclose([mean / unit, sd / unit], [repeated.mean(), repeated.std()], rtol=1e-9)


@pytest.mark.parametrize("value", [0.0, 3.0, 1e12, 1e-12, 0.1])
def test_a_constant_column_is_centred_and_left_alone(value: float) -> None:
    scaler = InputScaler.learn(np.full((7, 1), value), np.ones(7))
    assert np.abs(scaler.transform(np.full((7, 1), value))).max() < 1e-12


def test_categories_become_one_hot_blocks_after_the_numbers() -> None:
    Z = np.array([[0.0, 1.0, 5.0], [2.0, 3.0, 7.0]])
    scaler = InputScaler.learn(Z, np.ones(2), ((0, 3),))
    np.testing.assert_array_equal(scaler.transform(Z), [[-1, -1, 1, 0, 0], [1, 1, 0, 0, 1]])
    assert scaler.blocks == ((2, 5),)
    assert scaler.n_outputs == 5


@pytest.mark.parametrize("bounds", BOUNDS)
def test_the_response_scale_rises_within_its_bounds_and_is_invertible(bounds) -> None:
    scaler = ResponseScaler.learn(Y, np.ones(4), bounds)
    np.testing.assert_allclose(scaler.inverse(scaler.transform(Y)), Y, rtol=1e-9)
    assert (np.diff(scaler.inverse(np.linspace(-60, 60, 2001))) >= 0).all()
    y = scaler.inverse(np.array([-1e6, -50.0, 0.0, 50.0, 1e6]))
    assert np.isfinite(y).all()
    lower, upper = (np.inf * sign if bound is None else bound for bound, sign in zip(bounds, (-1, 1), strict=True))
    assert ((lower <= y) & (y <= upper)).all()


@pytest.mark.parametrize("bounds", BOUNDS[1:])
def test_responses_on_the_bound_stay_finite(bounds) -> None:
    y = np.array([0.0, 1.0, 5.0, 8.0])
    scaler = ResponseScaler.learn(y, np.ones(4), bounds)
    assert np.isfinite(scaler.transform(y)).all()
    np.testing.assert_allclose(scaler.inverse(scaler.transform(y)), y, atol=1e-9)


def test_far_from_a_bound_the_scale_is_nearly_linear() -> None:
    y = np.linspace(1000, 1010, 11)
    scaler = ResponseScaler.learn(y, np.ones(11), (0.0, None))
    np.testing.assert_allclose(scaler.transform(y), (y - y.mean()) / y.std(), atol=1e-6)


def test_responses_outside_their_bounds_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"y must lie within y_bounds=\(0.2, None\), got .* in 1 of 4 rows \(row 0"):
        ResponseScaler.learn(Y, np.ones(4), (0.2, None))


@pytest.mark.parametrize(
    "bounds", [(None, None), (0, None), (None, 1), (-1, 2), [0, 1], np.array([0.0, 1.0])], ids=repr
)
def test_bounds_become_a_pair_of_numbers_or_none(bounds) -> None:
    pair = as_bounds(bounds)
    assert isinstance(pair, tuple)
    assert {type(value) for value in pair} <= {float, type(None)}
    assert list(pair) == list(bounds)
    assert as_bounds(None) == (None, None)


NO_PAIR = r"y_bounds must be \(lower, upper\), got .*; either may be None"
NO_ROOM = "y_bounds must be finite or None with lower < upper, got .*; use None"


@pytest.mark.parametrize(
    ("bounds", "sentence"),
    [
        *[(bad, NO_PAIR) for bad in (3, (1,), (1, 2, 3), ("low", "high"), (0, [1]))],
        *[(bad, NO_ROOM) for bad in ((1, 1), (2, 1), (np.nan, None), (-np.inf, 0), (0, np.inf))],
    ],
    ids=repr,
)
def test_what_is_no_pair_of_bounds_is_refused(bounds, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        as_bounds(bounds)


def test_training_inputs_are_hardly_ever_far() -> None:
    Z = np.random.default_rng(0).standard_normal((5_000, 3))
    cover = InputCoverage.learn(Z, np.random.default_rng(1))
    assert len(cover.inputs) == N_KEPT
    assert cover.is_far(Z).mean() < 0.02


@pytest.mark.parametrize(
    ("learnt", "asked", "far"),
    [
        (np.r_[np.linspace(-1, -0.5, 100), np.linspace(0.5, 1, 100)], [0.0, 0.75, 1.5], [True, False, True]),  # a gap
        (np.zeros(5), [0.0, 0.1], [False, True]),  # a single input is near only to itself
    ],
)
def test_what_lies_outside_or_in_a_gap_is_far(learnt: np.ndarray, asked: list[float], far: list[bool]) -> None:
    cover = InputCoverage.learn(learnt[:, None], np.random.default_rng(0))
    assert cover.is_far(np.array(asked)[:, None]).tolist() == far


def test_a_category_of_many_levels_costs_no_table_of_their_square() -> None:
    levels = 20_000
    scaler = InputScaler(np.zeros(1), np.ones(1), (0,), ((1, levels),))
    tracemalloc.start()
    Z = scaler.transform(np.array([[0.5, 0.0], [0.5, levels - 1.0]]))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * 2 * 2 * levels  # numbers of 8 bytes, two rows, twice over
    np.testing.assert_array_equal(np.flatnonzero(Z[1]), [0, levels])


def test_inputs_beyond_all_scales_are_refused_in_a_sentence() -> None:
    with pytest.raises(InvalidInput, match="X on the scale of the model must be finite, got NaN or infinity in 1 of 2"):
        InputScaler(np.zeros(1), np.full(1, 1e-300), (0,)).transform(np.array([[0.0], [1e300]]))


def test_a_few_responses_far_out_do_not_set_the_scale_and_come_back_as_they_were() -> None:
    rng = np.random.default_rng(0)
    y = rng.standard_normal(300)
    y[:3] = 1e6, -1e6, 1e12
    scaler = ResponseScaler.learn(y, np.ones(300), robust=True)
    z = scaler.transform(y)
    assert 0.5 < z[3:].std() < 2
    assert np.abs(z).max() < 1_000  # on the scale of their logarithm
    assert (np.diff(scaler.transform(np.sort(y))) > 0).all()
    np.testing.assert_allclose(scaler.inverse(z), y, rtol=1e-9)
    assert np.isfinite(scaler.inverse(np.array([-1e300, 1e300]))).all()


@pytest.mark.parametrize(
    "y",
    [
        np.exp(2 * ndtri(np.arange(1, 400) / 400)),  # lognormal, sigma = 2
        np.repeat([0.0, 1e6], [388, 12]) + np.linspace(0, 1, 400),  # a regime of 3% of the runs
        np.repeat([0.0, 5.0], [398, 2]),  # a count that is nearly always the same
    ],
)
def test_heavy_tails_and_small_regimes_are_scaled_as_ever(y: np.ndarray) -> None:
    plain, robust = (ResponseScaler.learn(y, np.ones(len(y)), robust=robust) for robust in (False, True))
    assert plain == robust


def test_inputs_reach_as_far_as_can_be_computed_with_and_bent_ones_and_categories_anywhere() -> None:
    scaler = InputScaler(np.array([5.0, 1.0]), np.array([2.0, 1.0]), (0, 2), ((1, 3),), np.array([0.0, 1.0]))
    low, high = scaler.reach(3)
    np.testing.assert_allclose(high, [2e25, np.inf, np.inf])
    np.testing.assert_allclose(low, -high)
    assert np.isfinite(scaler.transform(np.array([[1e24, 0.0, 1e300]]))).all()
