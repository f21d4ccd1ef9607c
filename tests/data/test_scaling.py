"""Scaling: invertible, weighted, safe at any unit, and bounds that hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genbayes.data.scaling import InputScaler, ResponseScaler, as_bounds, weighted_moments
from genbayes.errors import InvalidInput

Y = np.array([0.1, 0.5, 2.0, 7.0])
BOUNDS = [(None, None), (0.0, None), (None, 8.0), (0.0, 8.0)]


@given(st.integers(-280, 280))
def test_moments_survive_any_unit(exponent: int) -> None:
    unit = 10.0**exponent
    mean, sd = weighted_moments(unit * Y, np.ones(4))
    assert mean / unit == pytest.approx(Y.mean(), rel=1e-9)
    assert sd / unit == pytest.approx(Y.std(), rel=1e-9)


def test_a_weight_of_two_equals_two_rows() -> None:
    one = weighted_moments(Y, np.array([2.0, 1.0, 1.0, 1.0]))
    two = weighted_moments(np.r_[Y[0], Y], np.ones(5))
    np.testing.assert_allclose(one, two, rtol=1e-14)


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
def test_the_response_scale_is_invertible(bounds) -> None:
    scaler = ResponseScaler.learn(Y, np.ones(4), bounds)
    np.testing.assert_allclose(scaler.inverse(scaler.transform(Y)), Y, rtol=1e-9)


@pytest.mark.parametrize("bounds", BOUNDS)
def test_the_response_scale_increases(bounds) -> None:
    scaler = ResponseScaler.learn(Y, np.ones(4), bounds)
    z = np.linspace(-60, 60, 2001)
    assert (np.diff(scaler.inverse(z)) >= 0).all()


@pytest.mark.parametrize("bounds", BOUNDS)
def test_no_prediction_leaves_the_bounds(bounds) -> None:
    y = ResponseScaler.learn(Y, np.ones(4), bounds).inverse(np.array([-1e6, -50.0, 0.0, 50.0, 1e6]))
    lower, upper = bounds
    assert np.isfinite(y).all()
    assert lower is None or (y >= lower).all()
    assert upper is None or (y <= upper).all()


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
    with pytest.raises(
        InvalidInput, match=r"y must lie within y_bounds=\(0.2, None\), got .* in 1 of 4 rows \(row 0\)"
    ):
        ResponseScaler.learn(Y, np.ones(4), (0.2, None))


@pytest.mark.parametrize(
    "bounds", [(None, None), (0, None), (None, 1), (-1, 2), [0, 1], np.array([0.0, 1.0])], ids=repr
)
def test_bounds_become_a_pair_of_numbers_or_none(bounds) -> None:
    pair = as_bounds(bounds)
    assert isinstance(pair, tuple)
    assert all(value is None or type(value) is float for value in pair)
    assert list(pair) == list(bounds)


def test_no_bounds_are_a_pair_of_none() -> None:
    assert as_bounds(None) == (None, None)


@pytest.mark.parametrize("bounds", [3, (1,), (1, 2, 3), ("low", "high"), (0, [1])], ids=repr)
def test_what_is_no_pair_of_bounds_is_refused(bounds) -> None:
    with pytest.raises(InvalidInput, match=r"y_bounds must be \(lower, upper\), got .*; either may be None"):
        as_bounds(bounds)


@pytest.mark.parametrize("bounds", [(1, 1), (2, 1), (np.nan, None), (-np.inf, 0), (0, np.inf)], ids=repr)
def test_bounds_without_room_or_beyond_numbers_are_refused(bounds) -> None:
    with pytest.raises(InvalidInput, match="y_bounds must be finite or None with lower < upper, got .*; use None"):
        as_bounds(bounds)
