import numpy as np
import pytest
import scoringrules as sr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.metrics import crps, crps_normal, pinball

NUMBERS = st.floats(-1e6, 1e6)


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, (3, 8), elements=NUMBERS), arrays(np.float64, 3, elements=NUMBERS))
def test_crps_is_the_formula_with_all_pairs(q: FloatArray, y: FloatArray) -> None:
    q = np.sort(q, axis=1)
    pairs = np.abs(q - y[:, None]).mean(axis=1) - 0.5 * np.abs(q[:, :, None] - q[:, None, :]).mean(axis=(1, 2))
    np.testing.assert_allclose(crps(q, y), pairs, rtol=1e-9, atol=1e-8)


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, (3, 8), elements=NUMBERS), arrays(np.float64, 3, elements=NUMBERS))
def test_crps_is_that_of_scoringrules(q: FloatArray, y: FloatArray) -> None:
    q = np.sort(q, axis=1)
    np.testing.assert_allclose(crps(q, y), sr.crps_ensemble(y, q, estimator="nrg"), rtol=1e-9, atol=1e-8)


def test_crps_of_one_quantile_is_the_absolute_error() -> None:
    np.testing.assert_allclose(crps([[2.0]], [5.0]), 3.0)


def test_crps_is_about_twice_the_mean_pinball_loss() -> None:
    m = 2000
    tau = (np.arange(m) + 0.5) / m
    q = np.log(tau / (1 - tau))[None, :]
    np.testing.assert_allclose(crps(q, [0.7]), 2 * pinball(q, [0.7], tau).mean(axis=1), rtol=1e-12)


def test_crps_keeps_its_digits_far_from_zero() -> None:
    q = np.array([[0.0, 1.0, 3.0]])
    np.testing.assert_allclose(crps(q + 2.0**40, [2.0**40 + 2]), crps(q, [2.0]), rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(NUMBERS, st.floats(1e-6, 1e6), NUMBERS)
def test_crps_of_a_normal_law_is_that_of_scoringrules(mu: float, sigma: float, y: float) -> None:
    expected = sr.crps_normal(y, mu, sigma)
    np.testing.assert_allclose(crps_normal(mu, sigma, [y]), expected, rtol=1e-6, atol=1e-9 * sigma)


def test_crps_of_a_point_mass_is_the_absolute_error() -> None:
    np.testing.assert_array_equal(crps_normal([1.0, 1.0], 0.0, [3.0, 1.0]), [2.0, 0.0])


def test_a_tiny_sigma_raises_no_warning() -> None:
    np.testing.assert_allclose(crps_normal(0.0, 1e-300, [1e10]), 1e10)


@pytest.mark.parametrize(
    ("q", "y", "message"),
    [
        ([[2.0, 1.0]], [0.0], r"q must not decrease along a row, got 1 of 1 rows \(row 0\) that do; sort each row"),
        ([1.0, 2.0], [0.0], r"q must have shape \(n, m\), got \(2,\)"),
        ([[1.0, np.nan]], [0.0], "q must be finite"),
        ([[1.0, 2.0]], [np.nan], "y must be finite"),
        ([[1.0, 2.0]], [0.0, 1.0], r"y must have shape \(1,\)"),
        (np.empty((2, 0)), [0.0, 1.0], r"q must have shape \(n, m\), got \(2, 0\)"),
        ("text", [0.0], "q must be numbers"),
    ],
)
def test_bad_quantiles_are_refused(q: object, y: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        crps(q, y)


@pytest.mark.parametrize(
    ("mu", "sigma", "y", "message"),
    [
        (0.0, -1.0, [0.0], "sigma must be zero or positive, got -1.0"),
        (np.nan, 1.0, [0.0], "mu must be finite"),
        (0.0, np.inf, [0.0], "sigma must be finite"),
        (0.0, 1.0, [np.inf], "y must be finite"),
        ([0.0, 1.0], 1.0, [0.0, 1.0, 2.0], r"mu must have shape \(3,\)"),
    ],
)
def test_bad_normal_laws_are_refused(mu: object, sigma: object, y: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        crps_normal(mu, sigma, y)
