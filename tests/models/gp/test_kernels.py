import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist

from genbayes.arrays import FloatArray
from genbayes.models.gp.kernels import CORRELATIONS, slices, squared_distances


def test_distances_are_those_of_all_pairs_and_never_negative() -> None:
    rng = np.random.default_rng(1)
    A, B = 1e3 + rng.normal(size=(4, 2)), 1e3 + rng.normal(size=(5, 2))
    np.testing.assert_allclose(squared_distances(A, B), cdist(A, B, "sqeuclidean"), atol=1e-8)
    assert squared_distances(A, A).min() >= 0


@pytest.mark.parametrize("name", CORRELATIONS)
def test_correlations_equal_those_of_scikit_learn(name: str, dense_correlation: Callable[..., FloatArray]) -> None:
    rng = np.random.default_rng(0)
    A, B, length = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), np.array([0.5, 1.0, 7.0])
    ours, _ = CORRELATIONS[name].between(A / length, B / length)
    np.testing.assert_allclose(ours, dense_correlation(A, B, length, name), rtol=1e-12)


@pytest.mark.parametrize("name", CORRELATIONS)
@given(s=st.floats(1e-3, 30.0))
def test_slopes_are_derivatives_of_the_correlation(name: str, s: float) -> None:
    at, step = np.array([[math.sqrt(s)]]), 1e-5
    wide, narrow = (CORRELATIONS[name].between(np.zeros((1, 1)), at * math.exp(-sign * step))[0] for sign in (1, -1))
    correlation = CORRELATIONS[name]
    slope = correlation.by_log_length(np.ones((1, 1)), correlation.between(np.zeros((1, 1)), at)[1], 0 * at, at)
    assert np.isclose(slope[0], (wide - narrow)[0, 0] / (2 * step), rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("name", CORRELATIONS)
def test_derivatives_of_many_pairs_and_inputs_agree_with_differences(name: str) -> None:
    rng = np.random.default_rng(2)
    A, B, G = rng.normal(size=(6, 3)), rng.normal(size=(4, 3)), rng.normal(size=(6, 4))

    def total(log_length: FloatArray) -> float:
        return float((G * CORRELATIONS[name].between(A / np.exp(log_length), B / np.exp(log_length))[0]).sum())

    known = CORRELATIONS[name].between(A, B)[1]
    ours = CORRELATIONS[name].by_log_length(G.copy(), known, A, B)
    np.testing.assert_allclose(ours, approx_fprime(np.zeros(3), total, 1e-6), atol=1e-5)


@pytest.mark.parametrize("name", CORRELATIONS)
def test_correlations_are_one_at_no_distance_and_fall_and_leave_their_arguments_alone(name: str) -> None:
    there = np.array([[0.0], [0.7], [1.4], [3.0]])
    correlation, _ = CORRELATIONS[name].between(np.zeros((1, 1)), there)
    assert correlation[0, 0] == 1
    assert (np.diff(correlation[0]) < 0).all()
    np.testing.assert_array_equal(there[:, 0], [0.0, 0.7, 1.4, 3.0])


def test_rougher_correlations_fall_faster_at_short_distances() -> None:
    near = np.zeros((1, 1)), np.array([[0.1]])
    order = ("squared-exponential", "matern72", "matern52", "matern32")
    falling = [CORRELATIONS[name].between(*near)[0][0, 0] for name in order]
    assert falling == sorted(falling, reverse=True)


def test_of_one_input_the_separable_kernel_is_the_radial_one() -> None:
    A = np.random.default_rng(0).normal(size=(7, 1))
    both = [CORRELATIONS[name].between(A, A)[0] for name in ("matern52", "matern52-separable")]
    np.testing.assert_allclose(*both, rtol=1e-7)


@pytest.mark.parametrize(("n", "entries"), [(10_000, 100**2), (3, 10**9), (0, 5)])
def test_slices_cover_every_row_once_in_bounded_memory(n: int, entries: int) -> None:
    parts = list(slices(n, entries))
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(n))
    assert all((part.stop - part.start) * entries <= 1_000_000 or part.stop - part.start == 1 for part in parts)
