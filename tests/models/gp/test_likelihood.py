"""The exact likelihood, noise equal or different from input to input, against dense normal laws of all single runs."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from genbayes.arrays import FloatArray
from genbayes.models.gp.exact import Kriging
from genbayes.models.gp.kernels import CORRELATIONS
from genbayes.models.gp.likelihood import PANEL, ExactProfile, GPParameters, Replicates, exact_profile, profile_out


def test_a_group_of_weight_two_equals_the_row_given_twice() -> None:
    Z, y = np.array([[0.0], [1.0], [1.0]]), np.array([1.0, 2.0, 5.0])
    weighted = Replicates.collect(Z, y, np.array([2.0, 1.0, 2.0]))
    doubled = Replicates.collect(Z[[0, 0, 1, 2, 2]], y[[0, 0, 1, 2, 2]], np.ones(5))
    for name in ("Z", "mean", "count", "scatter"):
        np.testing.assert_allclose(getattr(weighted, name), getattr(doubled, name), rtol=1e-15)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.floats(-5, 5)), min_size=1, max_size=20))
def test_total_weight_mean_and_sum_of_squares_are_kept(rows: list[tuple[int, int, float]]) -> None:
    Z, y = np.array([row[:2] for row in rows], dtype=float), np.array([row[2] for row in rows])
    groups = Replicates.collect(Z, y, np.ones(len(y)))
    assert groups.n_runs == len(y)
    np.testing.assert_allclose(groups.count @ groups.mean, y.sum(), atol=1e-12)
    np.testing.assert_allclose(groups.scatter.sum() + groups.count @ groups.mean**2, y @ y, atol=1e-10)


def test_inputs_are_distinct() -> None:
    groups = Replicates.collect(np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0]]), np.zeros(3), np.ones(3))
    assert len(groups) == 2


def test_take_keeps_the_order_asked_for() -> None:
    groups = Replicates.collect(np.arange(4.0)[:, None], np.arange(4.0), np.ones(4)).take(np.array([2, 0]))
    np.testing.assert_array_equal(groups.mean, [2.0, 0.0])
    np.testing.assert_array_equal(groups.Z[:, 0], [2.0, 0.0])


def test_noise_is_the_nugget_in_units_of_the_process_variance() -> None:
    assert GPParameters(np.ones(1), nugget=0.1, variance=3.0, mean=0.0).noise == pytest.approx(0.3)


@pytest.mark.parametrize(("weight", "dof"), [(1.0, 3.0), (2.0, 7.0), (0.1, 0.2)])
def test_degrees_of_freedom_stay_positive_for_small_weights(weight: float, dof: float) -> None:
    runs = Replicates.collect(np.arange(4.0)[:, None], np.zeros(4), np.full(4, weight))
    assert profile_out(runs, 0.5, 6.0, 0.0, 1.0)[1] == pytest.approx(6.0 / dof)


LENGTH = np.array([0.8, 1.7])
RNG = np.random.default_rng(0)
# 17 single runs at 7 inputs
PLACES, GROUP = RNG.normal(size=(7, 2)), np.append(np.arange(7), RNG.integers(7, size=10))
Z, Y = PLACES[GROUP], RNG.normal(size=17)
RUNS = Replicates.collect(Z, Y, np.ones(17))
RATIOS = RNG.uniform(0.05, 2.0, size=7)
NOISES = {"equal": np.full(7, 0.15), "by input": RATIOS}

by_noise = pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)


def sorted_noise(noise: FloatArray) -> FloatArray:
    """In the order of the distinct inputs of RUNS."""
    return Replicates.collect(PLACES, noise, np.ones(7)).mean


def profile_and_covariance(noise: FloatArray, dense: Callable[..., FloatArray]) -> tuple[ExactProfile, FloatArray]:
    """The profile, and the covariance of the 17 single runs over the process variance."""
    return exact_profile(RUNS, LENGTH, sorted_noise(noise)), dense(Z, Z, LENGTH) + np.diag(noise[GROUP])


@by_noise
def test_mean_and_variance_are_those_of_generalised_least_squares_on_single_runs(
    noise: FloatArray, dense_correlation: Callable[..., FloatArray]
) -> None:
    profile, K = profile_and_covariance(noise, dense_correlation)
    inverse = np.linalg.inv(K)
    assert profile.mean == pytest.approx((inverse @ Y).sum() / inverse.sum(), rel=1e-10)
    residual = Y - profile.mean
    assert profile.variance == pytest.approx(residual @ inverse @ residual / 16, rel=1e-8)


@by_noise
def test_value_is_the_density_of_all_single_runs_integrated_over_the_mean(
    noise: FloatArray, dense_correlation: Callable[..., FloatArray]
) -> None:
    profile, K = profile_and_covariance(noise, dense_correlation)
    density = multivariate_normal.logpdf(Y, np.full(17, profile.mean), profile.variance * K)
    # Over a flat prior on beta, p(y) = p(y | beta_hat) sqrt(2 pi var(beta_hat)).
    mean_variance = profile.variance / np.linalg.inv(K).sum()
    assert profile.value == pytest.approx(density + 0.5 * np.log(2 * np.pi * mean_variance), abs=1e-8)


@by_noise
def test_process_variance_maximises_the_density(
    noise: FloatArray, dense_correlation: Callable[..., FloatArray]
) -> None:
    profile, K = profile_and_covariance(noise, dense_correlation)
    values = [
        multivariate_normal.logpdf(Y, np.full(17, profile.mean), factor * profile.variance * K) + 0.5 * np.log(factor)
        for factor in (0.97, 1.0, 1.03)
    ]
    assert values[1] > max(values[0], values[2])


@pytest.mark.parametrize("kernel", list(CORRELATIONS))
@pytest.mark.parametrize(("n", "p"), [(12, 1), (30, 3), (PANEL + 20, 2)])
@pytest.mark.parametrize("n_noises", [1, None])
def test_gradient_agrees_with_differences(
    make_runs: Callable[..., Replicates], n: int, p: int, kernel: str, n_noises: int | None
) -> None:
    runs = make_runs(n, p, n_copies=5)
    noise = np.linspace(0.05, 0.3, n if n_noises is None else n_noises)
    theta = np.log(np.append(np.linspace(0.7, 2.0, p), noise))
    tested = np.arange(min(len(theta), p + 8))  # a difference in each of 276 noises would take seconds

    def profile(point: FloatArray, with_gradient: bool) -> ExactProfile:
        at = theta.copy()
        at[tested] = point
        correlation = CORRELATIONS[kernel]
        return exact_profile(runs, np.exp(at[:p]), np.exp(at[p:]), with_gradient=with_gradient, correlation=correlation)

    found = profile(theta[tested], True)
    gradient = found.gradient if n_noises else np.append(found.by_log_length, found.by_log_noise)
    differences = approx_fprime(theta[tested], lambda point: profile(point, False).value, 1e-6)
    np.testing.assert_allclose(gradient[tested], differences, rtol=1e-4, atol=1e-3)


def test_one_number_is_the_same_noise_everywhere_and_no_gradient_changes_nothing_else() -> None:
    one, many = exact_profile(RUNS, LENGTH, 0.3), exact_profile(RUNS, LENGTH, np.full(7, 0.3))
    assert one.value == many.value
    np.testing.assert_array_equal(one.gradient, many.gradient)
    without = exact_profile(RUNS, LENGTH, 0.3, with_gradient=False)
    assert (without.value, without.variance, without.mean) == (one.value, one.variance, one.mean)
    assert np.isnan(without.gradient).all()


def test_leftover_is_the_share_of_noise_in_the_error_of_leave_one_out_prediction() -> None:
    # the variance of ybar_i given the others is that of the latent function plus lambda_i / a_i; counts a_i / lambda_i
    # and a nugget of one give the stationary GP the same noise
    equivalent = Replicates(RUNS.Z, RUNS.mean, RUNS.count / RATIOS, RUNS.scatter)
    _, latent = Kriging(GPParameters(LENGTH, 1.0, 1.0, 0.0), equivalent).leave_one_out()
    own = RATIOS / RUNS.count
    np.testing.assert_allclose(exact_profile(RUNS, LENGTH, RATIOS).leftover, own / (latent + own))


@by_noise
def test_weight_two_equals_the_row_given_twice(noise: FloatArray) -> None:
    doubled = Replicates.collect(np.tile(Z, (2, 1)), np.tile(Y, 2), np.ones(34))
    one, two = (exact_profile(runs, LENGTH, noise) for runs in (Replicates.collect(Z, Y, np.full(17, 2.0)), doubled))
    assert one.value == pytest.approx(two.value, rel=1e-12)
    np.testing.assert_allclose(one.gradient, two.gradient, rtol=1e-9)


def test_constant_responses_have_a_finite_likelihood() -> None:
    runs = Replicates.collect(np.arange(5.0)[:, None], np.zeros(5), np.ones(5))
    profile = exact_profile(runs, np.ones(1), 0.1)
    assert np.isfinite(profile.value)
    assert np.isfinite(profile.gradient).all()


def test_arrays_that_may_not_be_written_to_are_welcome() -> None:
    runs, noise = RUNS.take(np.arange(7)), RATIOS.copy()
    for part in (runs.Z, runs.mean, runs.count, runs.scatter, noise):
        part.flags.writeable = False
    assert np.isfinite(exact_profile(runs, LENGTH, noise).value)
