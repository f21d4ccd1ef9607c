"""What is known of each kind of distribution: numbers in closed form, and what it refuses to be made of."""

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import ndtr, ndtri
from scipy.stats import norm

from genbayes.arrays import FloatArray
from genbayes.distribution import Empirical, Mixture, Normal, PredictiveDistribution, QuantileFunction
from genbayes.distribution.normal import mean_absolute_normal, monotone_ndtr, monotone_ndtri
from genbayes.errors import InvalidInput, NoDensity

POINT_MASS, EQUAL = Normal(2.0, 0.0), QuantileFunction([0.2, 0.5, 0.8], [[2.0, 2.0, 2.0]])
TINY = Normal(0.0, 1e-300)
FOUR = Empirical([[4.0, 1.0, 3.0, 2.0]])
ATOM = QuantileFunction([0.2, 0.4, 0.6, 0.8], [[0.0, 1.0, 1.0, 2.0]])
STEP = QuantileFunction([0.2, 0.5, 0.8], [[0.0, 0.0, 3.0]])
BOUND = QuantileFunction([0.2, 0.5, 0.8], [[-1.0, 1.0, 2.0]], support=(0.0, None))
LAPLACE = QuantileFunction([0.25, 0.5, 0.75], [[-np.log(2), 0.0, np.log(2)]])  # beyond its quartiles
MASSES = Mixture([Normal(0.0, 0.0), Normal(10.0, 0.0)])


@pytest.mark.parametrize(
    ("dist", "read", "at", "expected"),
    [
        *[(POINT_MASS, *case) for case in [("ppf", 0.01, 2), ("cdf", 1.999, 0), ("cdf", 2.0, 1), ("pdf", 2.0, np.inf)]],
        *[(POINT_MASS, *case) for case in [("pdf", 1.0, 0), ("crps", 5.0, 3), ("pit", 2.0, 0.5)]],
        *[(TINY, *case) for case in [("cdf", 1e10, 1), ("pdf", 1e10, 0), ("crps", 1e10, 1e10)]],  # without a warning
        *[(EQUAL, *case) for case in [("ppf", [1e-9, 1 - 1e-9], 2), ("cdf", [[1.9, 2.0]], [0, 1]), ("crps", 5.0, 3)]],
        (FOUR, "ppf", [0.2, 0.25, 0.5, 0.7, 0.9], [1, 1, 2, 3, 4]),  # draws come in any order
        (FOUR, "pit", 2.0, 0.375),  # the middle of a draw's jump
        (Empirical([[0.0, 1.0, 5.0]]), "crps", 2.0, pytest.approx(2 - 0.5 * 20 / 9)),  # of all pairs
        (STEP, "pdf", [[0.0, 1.5, -1.0]], pytest.approx([np.inf, 0.1, 0.0])),
        (ATOM, "pit", 1.0, 0.5),  # the middle of an atom
        (ATOM, "pit", 0.7, ATOM.cdf(0.7)),  # there is none
        *[(BOUND, *case) for case in [("cdf", 0.0, 0.2), ("cdf", -1e-9, 0.0), ("ppf", 0.1, 0.0)]],  # gathered there
        (LAPLACE, "ppf", [0.005, 0.995], pytest.approx([np.log(0.01), -np.log(0.01)])),  # its tails are exponential
        (MASSES, "crps", 0.0, 5.0 - 2.5),  # distances are counted
        (MASSES, "ppf", [0.5, np.nextafter(0.5, 1)], [0.0, 10.0]),  # the lower end of a gap
        (Mixture([Normal(0.0, 1.0)] * 10, [0.1] * 10), "cdf", 100.0, 1.0),  # exactly one
    ],
)
def test_simple_cases_are_known(dist: PredictiveDistribution, read: str, at: Any, expected: Any) -> None:
    assert np.all(np.ravel(getattr(dist, read)(at)) == expected)  # to the last bit but where it says approx


def test_equal_quantiles_have_their_mean_and_no_variance() -> None:
    assert (EQUAL.mean()[0], EQUAL.var()[0]) == (2.0, 0.0)


def test_a_normal_distribution_is_that_of_scipy_and_one_number_serves_all_rows() -> None:
    dist, other = Normal([1.0, -2.0], [0.5, 3.0]), norm([1.0, -2.0], [0.5, 3.0])
    got = [dist.ppf(0.3), dist.cdf(0.3), dist.pdf(0.3), dist.mean(), dist.var(), dist.std()]
    expected = [other.ppf(0.3), other.cdf(0.3), other.pdf(0.3), other.mean(), other.var(), other.std()]
    np.testing.assert_allclose(got, expected, rtol=1e-13)
    assert len(Normal(0.0, np.ones(4))) == 4


@settings(max_examples=200, deadline=None)
@given(st.floats(5e-324, 1 - 2.0**-53), st.floats(-50, 50))
def test_normal_quantiles_and_probabilities_do_not_fall_and_are_those_of_scipy(u: float, x: float) -> None:
    q = monotone_ndtri(np.array([u, min(np.nextafter(u, 1), 1 - 2.0**-53)]))
    p = monotone_ndtr(np.array([x, np.nextafter(x, np.inf)]))
    assert q[0] <= q[1]
    assert p[0] <= p[1]
    np.testing.assert_allclose(q[0], ndtri(u), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(p[0], ndtr(x), rtol=1e-12, atol=1e-300)


def test_mean_absolute_value_agrees_with_draws() -> None:
    draws = np.abs(Normal(0.7, 2.0).sample(100_000, random_state=0))
    standard_error = draws.std() / np.sqrt(100_000)
    assert abs(draws.mean() - mean_absolute_normal(np.array([0.7]), np.array([2.0]))[0]) < 4 * standard_error


@pytest.mark.parametrize("S", [3, 7, 10, 49, 100, 1000])
def test_the_level_j_of_s_gives_the_jth_draw(S: int) -> None:
    j = np.arange(1, S)
    np.testing.assert_array_equal(Empirical(np.arange(1.0, S + 1)[None, :]).ppf(j / S)[0], j)


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, (1, 13), elements=st.integers(-3, 3)), st.floats(1e-9, 1 - 1e-9))
def test_ppf_and_cdf_of_draws_are_one_distribution_to_the_last_bit(draws: FloatArray, u: float) -> None:
    dist, j = Empirical(draws), np.arange(1, 13)
    levels, y = np.unique([u, *(j / 13), *np.nextafter(j / 13, 1)]), np.arange(-4.0, 4.5, 0.5)[None, :]
    q, F = dist.ppf(levels), dist.cdf(y)
    np.testing.assert_array_equal(q[:, :, None] <= y[:, None, :], levels[None, :, None] <= F[:, None, :])


def test_draws_have_their_moments_and_are_drawn_from_with_replacement() -> None:
    draws = np.random.default_rng(0).normal(size=(3, 20))
    dist = Empirical(draws)
    np.testing.assert_allclose([dist.mean(), dist.var()], [draws.mean(axis=1), draws.var(axis=1)])
    assert set(Empirical([[1.0, 2.0]]).sample(100, random_state=0)[0]) == {1.0, 2.0}
    assert repr(Empirical([[1.0, 2.0]])) == "Empirical(n=1, n_draws=2)"


def test_a_table_is_sorted_kept_from_changes_and_survives_pickling() -> None:
    levels, values = np.array([0.2, 0.5, 0.8]), np.array([[3.0, 1.0, 2.0]])
    dist = QuantileFunction(levels, values, support=(0.0, None))
    levels[0], values[0, 0] = 0.7, 9.0
    with pytest.raises(ValueError, match="read-only"):
        dist.values[0, 0] = 5.0
    for same in (dist, pickle.loads(pickle.dumps(dist))):
        assert (same.levels.tolist(), same.values.tolist()) == ([0.2, 0.5, 0.8], [[1.0, 2.0, 3.0]])
        assert same.support == (0.0, np.inf)
        np.testing.assert_array_equal(same.ppf([0.2, 0.9]), dist.ppf([0.2, 0.9]))


N01, TWO_ROWS = Normal(0.0, 1.0), Normal([0.0, 1.0], 1.0)
TAU, ROW = [0.2, 0.8], [[0.0, 1.0]]


@pytest.mark.parametrize(
    ("kind", "arguments", "message"),
    [
        (Normal, (np.nan, 1.0), "loc must be finite"),
        (Normal, (0.0, np.inf), "scale must be finite"),
        (Normal, (0.0, -1.0), "scale must be zero or positive, got -1.0"),
        (Normal, ([0.0, 1.0], [1.0, 1.0, 1.0]), r"loc must have shape \(3,\)"),
        (Normal, ([[0.0]], 1.0), "loc must have shape"),
        (Empirical, ([1.0, 2.0],), r"draws must have shape \(n, S\), got \(2,\)"),
        (Empirical, ([[1.0, np.nan]],), "draws must be finite"),
        (Empirical, (np.empty((2, 0)),), r"draws must have shape \(n, S\), got \(2, 0\)"),
        (Empirical, ([["a", "b"]],), "draws must be numbers"),
        (QuantileFunction, (TAU, [[0, np.nan]]), r"values must be finite, got NaN or infinity in 1 of 1 rows \(row 0"),
        (QuantileFunction, (TAU, [[0.0, np.inf]]), "values must be finite"),
        (QuantileFunction, (TAU, [0.0, 1.0]), r"values must have shape \(n, M\), got \(2,\)"),
        (QuantileFunction, ([0.2, np.nan], ROW), "levels must be finite"),
        (QuantileFunction, ([0.0, 0.8], ROW), "levels must lie strictly between 0 and 1, got 0.0"),
        (QuantileFunction, ([0.2, 1.0], ROW), "levels must lie strictly between 0 and 1, got 1.0"),
        (QuantileFunction, ([0.8, 0.2], ROW), r"levels must increase strictly along a row, got 1 of 1 rows"),
        (QuantileFunction, ([0.2, 0.2], ROW), "levels must increase strictly"),
        (QuantileFunction, ([0.2, 0.5, 0.8], ROW), r"levels must have shape \(2,\) or \(1, 2\)"),
        (QuantileFunction, ([0.5], [[0.0]]), "at least 2 levels"),
        (QuantileFunction, ([TAU] * 2, ROW * 3), r"levels must have shape \(2,\) or \(3, 2\)"),
        (QuantileFunction, ("low", ROW), "levels must"),
        *[(QuantileFunction, (TAU, ROW, ends), "support must") for ends in [(1.0, 0.0), (0.0, 0.0), (np.nan, None)]],
        *[(QuantileFunction, (TAU, ROW, ends), "support must") for ends in [(0.0,), 3.0, ("a", None)]],
        (Mixture, ([],), "components must be one or more PredictiveDistribution .* got none"),
        (Mixture, ([3.0],), "components must be one or more PredictiveDistribution .* got float"),
        (Mixture, ([TWO_ROWS, N01],), "same number of rows, got 2, 1 rows"),
        (Mixture, ([N01], [1.0, 2.0]), r"weights must hold 1 numbers.* got \[1.0, 2.0\]"),
        (Mixture, ([N01], [0.0]), "not all zero"),
        (Mixture, ([N01], [-1.0]), "none negative"),
        (Mixture, ([N01], [np.nan]), "weights must be finite"),
        (Mixture, ([TWO_ROWS], [[1.0]]), "weights must hold 1 numbers for each of 2 rows"),
        (Mixture, ([TWO_ROWS] * 2, [[1.0, 0.0], [0.0, 0.0]]), "not all of a row zero"),
        (Mixture, ([TWO_ROWS] * 2, [[1.0, 1.0], [2.0, -1.0]]), "none negative"),
    ],
)
def test_what_makes_no_distribution_is_refused(kind: type, arguments: tuple, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        kind(*arguments)


@pytest.mark.parametrize("dist", [FOUR, Mixture([N01, FOUR])])
def test_draws_alone_or_among_others_have_no_density(dist: PredictiveDistribution) -> None:
    with pytest.raises(NoDensity, match="pdf must be asked of a distribution with a density, got .*; use cdf"):
        dist.pdf(1.0)
