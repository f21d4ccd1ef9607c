import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import RBF, Matern

from genbayes.models.gp.kernels import CORRELATIONS, slices, squared_distances

THEIRS = {"squared-exponential": RBF, "matern52": lambda length: Matern(length, nu=2.5), "matern32": Matern}


def test_distances_are_those_of_all_pairs_and_never_negative() -> None:
    rng = np.random.default_rng(1)
    A, B = 1e3 + rng.normal(size=(4, 2)), 1e3 + rng.normal(size=(5, 2))
    np.testing.assert_allclose(squared_distances(A, B), cdist(A, B, "sqeuclidean"), atol=1e-8)
    assert squared_distances(A, A).min() >= 0


@pytest.mark.parametrize("name", CORRELATIONS)
def test_correlations_equal_those_of_scikit_learn(name: str) -> None:
    rng = np.random.default_rng(0)
    A, B, length = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), np.array([0.5, 1.0, 7.0])
    ours, _ = CORRELATIONS[name](squared_distances(A / length, B / length))
    np.testing.assert_allclose(ours, THEIRS[name](length)(A, B), rtol=1e-12)


@pytest.mark.parametrize("name", CORRELATIONS)
@given(s=st.floats(1e-3, 30.0))
def test_slopes_are_derivatives_of_the_correlation(name: str, s: float) -> None:
    step = 1e-6 * max(s, 1.0)
    around, _ = CORRELATIONS[name](np.array([s - step, s + step]))
    _, slope = CORRELATIONS[name](np.array([s]))
    assert np.isclose(slope[0], (around[1] - around[0]) / (2 * step), rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("name", CORRELATIONS)
def test_correlations_are_one_at_no_distance_and_fall_and_leave_their_argument_alone(name: str) -> None:
    s = np.array([0.0, 0.5, 2.0, 9.0])
    correlation, slope = CORRELATIONS[name](s)
    assert correlation[0] == 1
    assert (np.diff(correlation) < 0).all()
    assert (slope < 0).all()
    np.testing.assert_array_equal(s, [0.0, 0.5, 2.0, 9.0])


def test_rougher_correlations_fall_faster_at_short_distances() -> None:
    near = np.array([0.01])
    smooth, middle, rough = (CORRELATIONS[n](near)[0][0] for n in ("squared-exponential", "matern52", "matern32"))
    assert smooth > middle > rough


@pytest.mark.parametrize(("n", "entries"), [(10_000, 100**2), (3, 10**9), (0, 5)])
def test_slices_cover_every_row_once_in_bounded_memory(n: int, entries: int) -> None:
    parts = list(slices(n, entries))
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(n))
    assert all((part.stop - part.start) * entries <= 1_000_000 or part.stop - part.start == 1 for part in parts)
