import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from genbayes.arrays import FloatArray
from genbayes.models.gp.likelihood import Replicates, exact_profile
from genbayes.models.gp.vecchia import nearest_previous, vecchia_profile

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
