from collections.abc import Callable

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.models.gp.vecchia import ENTRIES_AT_ONCE, chunks, solve_locally


def test_weights_and_variance_are_those_of_simple_kriging(dense_correlation: Callable[..., FloatArray]) -> None:
    rng = np.random.default_rng(0)
    W, new, noise = rng.normal(size=(9, 2)), rng.normal(size=(1, 2)), rng.uniform(0.1, 1.0, size=9)
    systems = solve_locally(W, new, np.array([[4, 1, 7]]), noise, rng.normal(size=(9, 2)))
    near, one = W[[4, 1, 7]], np.ones(2)
    K = dense_correlation(near, near, one) + np.diag(noise[[4, 1, 7]])
    k = dense_correlation(near, new, one)[:, 0]
    np.testing.assert_allclose(systems.weights[0], np.linalg.solve(K, k), rtol=1e-10)
    np.testing.assert_allclose(systems.variance[0], 1 - k @ np.linalg.solve(K, k), rtol=1e-10)


def test_missing_neighbours_take_no_part() -> None:
    rng = np.random.default_rng(1)
    W, noise, right = rng.normal(size=(6, 2)), np.full(6, 0.2), rng.normal(size=(6, 1))
    whole = solve_locally(W, W[:1], np.array([[2, 3]]), noise, right)
    gappy = solve_locally(W, W[:1], np.array([[2, -1, 3]]), noise, right)
    np.testing.assert_allclose(gappy.solution[0, [0, 2]], whole.solution[0], rtol=1e-12)
    np.testing.assert_array_equal(gappy.solution[0, 1], [0.0, 0.0])
    np.testing.assert_allclose(gappy.variance, whole.variance, rtol=1e-12)


def test_neighbours_that_coincide_are_survived_without_noise() -> None:
    systems = solve_locally(np.zeros((3, 1)), np.zeros((1, 1)), np.array([[0, 1, 2]]), np.zeros(3), np.zeros((3, 0)))
    np.testing.assert_allclose(systems.weights.sum(), 1.0, atol=1e-5)


def test_chunks_cover_every_row_once_in_bounded_memory() -> None:
    parts = list(chunks(10_000, 99))
    assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
    assert (parts[0].start, parts[-1].stop) == (0, 10_000)
    assert max(part.stop - part.start for part in parts) * 100**2 <= ENTRIES_AT_ONCE
