import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from genbayes.arrays import FloatArray
from genbayes.gp.correlation import CORRELATIONS
from genbayes.gp.likelihood import PANEL, exact_profile, factorise, solve_factored
from genbayes.gp.replicates import Replicates

LENGTH, NUGGET = np.array([0.8, 1.7]), 0.15


def single_runs() -> tuple[FloatArray, FloatArray]:
    """17 runs at 7 inputs."""
    rng = np.random.default_rng(0)
    places = rng.normal(size=(7, 2))
    return places[np.append(np.arange(7), rng.integers(7, size=10))], rng.normal(size=17)


def test_value_is_the_density_of_all_single_runs_integrated_over_the_mean(
    dense_correlation: Callable[..., FloatArray],
) -> None:
    Z, y = single_runs()
    n = len(y)
    profile = exact_profile(Replicates.collect(Z, y, np.ones(n)), LENGTH, NUGGET)
    covariance = profile.variance * (dense_correlation(Z, Z, LENGTH) + NUGGET * np.eye(n))
    density = multivariate_normal(np.full(n, profile.mean), covariance).logpdf(y)
    # Over a flat prior on beta, p(y) = p(y | beta_hat) sqrt(2 pi var(beta_hat)).
    assert profile.value == pytest.approx(density + 0.5 * math.log(2 * math.pi * profile.mean_variance), abs=1e-8)


def test_mean_and_its_variance_are_those_of_generalised_least_squares(
    dense_correlation: Callable[..., FloatArray],
) -> None:
    Z, y = single_runs()
    profile = exact_profile(Replicates.collect(Z, y, np.ones(17)), LENGTH, NUGGET)
    inverse = np.linalg.inv(dense_correlation(Z, Z, LENGTH) + NUGGET * np.eye(17))
    assert profile.mean == pytest.approx((inverse @ y).sum() / inverse.sum(), rel=1e-10)
    residual = y - profile.mean
    assert profile.variance == pytest.approx(residual @ inverse @ residual / 16, rel=1e-8)
    assert profile.mean_variance == pytest.approx(profile.variance / inverse.sum(), rel=1e-8)


@pytest.mark.parametrize("kernel", list(CORRELATIONS))
@pytest.mark.parametrize(("n", "p"), [(12, 1), (30, 3), (PANEL + 20, 2)])
def test_gradient_agrees_with_differences(make_runs: Callable[..., Replicates], n: int, p: int, kernel: str) -> None:
    runs = make_runs(n, p, n_copies=5)
    theta = np.log(np.append(np.linspace(0.7, 2.0, p), 0.05))
    profile = partial(exact_profile, runs, correlation=CORRELATIONS[kernel])

    def value(point: FloatArray) -> float:
        return profile(np.exp(point[:-1]), math.exp(point[-1]), with_gradient=False).value

    gradient = profile(np.exp(theta[:-1]), math.exp(theta[-1])).gradient
    np.testing.assert_allclose(gradient, approx_fprime(theta, value, 1e-6), rtol=1e-4, atol=1e-3)


def test_weight_two_equals_the_row_given_twice() -> None:
    Z, y = single_runs()
    weighted = exact_profile(Replicates.collect(Z, y, np.full(17, 2.0)), LENGTH, NUGGET)
    doubled = exact_profile(Replicates.collect(np.tile(Z, (2, 1)), np.tile(y, 2), np.ones(34)), LENGTH, NUGGET)
    assert weighted.value == pytest.approx(doubled.value, rel=1e-12)
    np.testing.assert_allclose(weighted.gradient, doubled.gradient, rtol=1e-9)


def test_constant_responses_have_a_finite_likelihood() -> None:
    runs = Replicates.collect(np.arange(5.0)[:, None], np.zeros(5), np.ones(5))
    profile = exact_profile(runs, np.ones(1), 0.1)
    assert np.isfinite(profile.value)
    assert np.isfinite(profile.gradient).all()


def test_factor_exists_for_rows_that_coincide_without_noise() -> None:
    factor, _ = factorise(np.zeros((4, 1)), np.zeros(4))
    np.testing.assert_allclose(factor @ factor.T, np.ones((4, 4)), atol=1e-5)


def test_solution_solves_the_system(make_runs: Callable[..., Replicates]) -> None:
    Z = make_runs(20, 2).Z
    factor, _ = factorise(Z, np.full(20, 0.1))
    right = np.arange(20.0)[:, None]
    np.testing.assert_allclose(factor @ factor.T @ solve_factored(factor, right), right, atol=1e-10)
