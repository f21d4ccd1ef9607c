import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from genbayes.arrays import FloatArray, IntArray
from genbayes.models.gp.likelihood import Replicates, exact_profile
from genbayes.models.gp.vecchia import (
    NearestRows,
    nearest_previous,
    solve_locally,
    vecchia_profile,
    with_random_previous,
)


def distances(A: FloatArray, B: FloatArray) -> FloatArray:
    return np.asarray(((A[:, None] - B[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("p", [1, 3, 12])  # 12 inputs: by brute force
def test_found_rows_are_the_nearest(p: int) -> None:
    rng = np.random.default_rng(0)
    W, W_new = rng.normal(size=(200, p)), rng.normal(size=(30, p))
    expected = np.argsort(distances(W_new, W), axis=1)[:, :7]
    np.testing.assert_array_equal(NearestRows(W).find(W_new, 7), expected)


def test_never_more_neighbours_than_rows() -> None:
    assert NearestRows(np.zeros((3, 1))).find(np.zeros((2, 1)), 10).shape == (2, 3)


def test_one_neighbour_still_has_two_axes() -> None:
    assert NearestRows(np.arange(3.0)[:, None]).find(np.array([[2.2]]), 1).tolist() == [[2]]


def test_no_rows_asked_no_rows_found() -> None:
    assert NearestRows(np.ones((20, 12)) * np.arange(20)[:, None]).find(np.zeros((0, 12)), 4).shape == (0, 4)


@pytest.mark.parametrize("p", [2, 12])
def test_previous_neighbours_are_the_nearest_earlier_rows(p: int) -> None:
    W = np.random.default_rng(1).normal(size=(700, p))
    rows = np.array([0, 3, 5, 255, 256, 400, 699])
    found = nearest_previous(W, rows, 5)
    for row, near in zip(rows, found, strict=True):
        expected = np.argsort(distances(W[row : row + 1], W[:row])[0])[:5]
        np.testing.assert_array_equal(near, np.append(expected, np.full(5 - len(expected), -1)))


def test_previous_neighbours_are_found_when_later_rows_crowd_around() -> None:
    W = np.concatenate([np.linspace(5, 6, 300), np.zeros(300)])[:, None]  # row 300 has only copies of itself nearby
    np.testing.assert_array_equal(nearest_previous(W, np.array([300]), 3), [[0, 1, 2]])


def test_more_neighbours_than_rows_are_missing() -> None:
    found = nearest_previous(np.arange(300.0)[:, None], np.array([299]), 310)
    assert (found >= 0).sum() == 299


@pytest.mark.parametrize("rows", [np.array([0, 1, 2, 30, 99])])
def test_random_additions_are_earlier_and_distinct(rows: IntArray) -> None:
    W = np.random.default_rng(2).normal(size=(100, 2))
    sets = with_random_previous(rows, nearest_previous(W, rows, 4), 6, np.random.default_rng(0))
    assert sets.shape == (5, 10)
    for row, chosen in zip(rows, sets, strict=True):
        there = chosen[chosen >= 0]
        assert (there < row).all()
        assert len(np.unique(there)) == len(there)
        assert set(nearest_previous(W, np.array([row]), 4)[0]) - {-1} <= set(there)


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


LENGTH = np.array([0.9, 1.4])


@pytest.mark.parametrize("nugget", [1e-6, 0.3])
def test_conditioning_on_all_predecessors_is_exact(make_runs: Callable[..., Replicates], nugget: float) -> None:
    runs = make_runs(40, 2, n_copies=7)
    rows = np.arange(len(runs))
    exact = exact_profile(runs, LENGTH, nugget)
    vecchia = vecchia_profile(runs, rows, nearest_previous(runs.Z / LENGTH, rows, 39), LENGTH, nugget)
    assert vecchia.value == pytest.approx(exact.value, rel=1e-8)
    np.testing.assert_allclose(vecchia.gradient, exact.gradient, rtol=1e-5, atol=1e-5)
    for name in ("variance", "mean"):
        assert getattr(vecchia, name) == pytest.approx(getattr(exact, name), rel=1e-6)


@pytest.mark.parametrize("n_terms", [60, 20])
def test_gradient_agrees_with_differences(make_runs: Callable[..., Replicates], n_terms: int) -> None:
    runs = make_runs(60, 2, n_copies=10)
    rows = np.random.default_rng(0).permutation(60)[:n_terms]
    neighbours = nearest_previous(runs.Z / LENGTH, rows, 6)

    def value(theta: FloatArray) -> float:
        length, nugget = np.exp(theta[:-1]), math.exp(theta[-1])
        return vecchia_profile(runs, rows, neighbours, length, nugget, with_gradient=False).value

    theta = np.log(np.append(LENGTH, 0.1))
    gradient = vecchia_profile(runs, rows, neighbours, LENGTH, 0.1).gradient
    np.testing.assert_allclose(gradient, approx_fprime(theta, value, 1e-6), rtol=1e-4, atol=1e-3)


def test_more_neighbours_come_closer_to_the_exact_likelihood(make_runs: Callable[..., Replicates]) -> None:
    runs = make_runs(200, 2)
    rows = np.arange(200)
    exact = exact_profile(runs, LENGTH, 0.1).value
    gaps = [
        abs(vecchia_profile(runs, rows, nearest_previous(runs.Z / LENGTH, rows, m), LENGTH, 0.1).value - exact)
        for m in (2, 10, 60)
    ]
    assert gaps[0] > 2 * gaps[1] > 4 * gaps[2]


def test_weight_two_equals_the_row_given_twice() -> None:
    rng = np.random.default_rng(0)
    Z, y, rows = rng.normal(size=(15, 2)), rng.normal(size=15), np.arange(15)
    weighted = Replicates.collect(Z, y, np.full(15, 2.0))
    doubled = Replicates.collect(np.tile(Z, (2, 1)), np.tile(y, 2), np.ones(30))
    neighbours = nearest_previous(weighted.Z / LENGTH, rows, 5)
    one, two = (vecchia_profile(runs, rows, neighbours, LENGTH, 0.2) for runs in (weighted, doubled))
    assert one.value == pytest.approx(two.value, rel=1e-12)
    np.testing.assert_allclose(one.gradient, two.gradient, rtol=1e-9)
