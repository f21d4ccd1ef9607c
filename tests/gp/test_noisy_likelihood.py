"""The likelihood with a noise of its own at each input, against dense normal laws of all single runs."""

import numpy as np
import pytest
import torch
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from genbayes.arrays import FloatArray
from genbayes.gp.exact import ExactKriging
from genbayes.gp.kernel import matern52, scaled_distances
from genbayes.gp.likelihood import exact_profile
from genbayes.gp.noisy_likelihood import NoisyProfile, factorise, noisy_profile
from genbayes.gp.profile import GPParameters
from genbayes.gp.replicates import Replicates

LENGTH = np.array([0.8, 1.7])


def draw_runs() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Inputs, responses and noise ratios of 17 single runs at 7 distinct inputs."""
    rng = np.random.default_rng(0)
    places, ratios = rng.normal(size=(7, 2)), rng.uniform(0.05, 2.0, size=7)
    group = np.append(np.arange(7), rng.integers(7, size=10))
    return places[group], rng.normal(size=17), ratios[group]


def collected() -> tuple[Replicates, FloatArray]:
    """The same runs by distinct inputs, and the noise ratios there."""
    Z, y, noise = draw_runs()
    one_each = np.ones(len(y))
    return Replicates.collect(Z, y, one_each), Replicates.collect(Z, noise, one_each).mean


def profile_of_runs() -> NoisyProfile:
    runs, noise = collected()
    return noisy_profile(runs, LENGTH, noise)


def dense_covariance() -> FloatArray:
    Z, _, noise = draw_runs()
    s = scaled_distances(torch.from_numpy(Z), torch.from_numpy(Z), torch.from_numpy(LENGTH))
    return np.asarray(profile_of_runs().variance * (matern52(s).numpy() + np.diag(noise)))


def test_mean_is_that_of_generalised_least_squares_on_single_runs() -> None:
    K, y = dense_covariance(), draw_runs()[1]
    precision = np.linalg.solve(K, np.ones(17)).sum()
    assert profile_of_runs().mean == pytest.approx(np.linalg.solve(K, y).sum() / precision)
    assert profile_of_runs().mean_variance == pytest.approx(1 / precision)


def test_value_is_the_dense_normal_density_of_single_runs_with_the_mean_integrated_out() -> None:
    # int N(y; m 1, K) dm = N(y; beta 1, K) sqrt(2 pi / 1'K^{-1}1)
    K, y = dense_covariance(), draw_runs()[1]
    profile = profile_of_runs()
    dense = multivariate_normal.logpdf(y, np.full(17, profile.mean), K)
    assert profile.value == pytest.approx(dense + 0.5 * np.log(2 * np.pi * profile.mean_variance), abs=1e-8)


def test_process_variance_maximises_the_density() -> None:
    K, y = dense_covariance(), draw_runs()[1]
    mean, precision = profile_of_runs().mean, np.linalg.solve(K, np.ones(17)).sum()
    values = [
        multivariate_normal.logpdf(y, np.full(17, mean), factor * K) + 0.5 * np.log(factor / precision)
        for factor in (0.97, 1.0, 1.03)
    ]
    assert values[1] > max(values[0], values[2])


def test_gradient_is_that_of_finite_differences() -> None:
    runs, noise = collected()
    profile = noisy_profile(runs, LENGTH, noise)
    by_length = approx_fprime(np.log(LENGTH), lambda point: noisy_profile(runs, np.exp(point), noise).value, 1e-6)
    by_noise = approx_fprime(np.log(noise), lambda point: noisy_profile(runs, LENGTH, np.exp(point)).value, 1e-6)
    np.testing.assert_allclose(profile.by_log_length, by_length, atol=1e-5)
    np.testing.assert_allclose(profile.by_log_noise, by_noise, atol=1e-5)


def test_equal_noise_gives_the_stationary_likelihood() -> None:
    runs, _ = collected()
    equal, stationary = noisy_profile(runs, LENGTH, np.full(len(runs), 0.3)), exact_profile(runs, LENGTH, 0.3)
    assert equal.value == pytest.approx(stationary.value)
    np.testing.assert_allclose(np.append(equal.by_log_length, equal.by_log_noise.sum()), stationary.gradient)


def test_leftover_is_the_share_of_noise_in_the_error_of_leave_one_out_prediction() -> None:
    # the variance of ybar_i given the others is that of the latent function plus lambda_i / a_i; counts a_i / lambda_i
    # and a nugget of one give the stationary GP the same noise
    runs, noise = collected()
    equivalent = Replicates(runs.Z, runs.mean, runs.count / noise, runs.scatter)
    _, latent = ExactKriging(GPParameters(LENGTH, 1.0, 1.0, 0.0, 0.0), equivalent).leave_one_out()
    own = noise / runs.count
    np.testing.assert_allclose(noisy_profile(runs, LENGTH, noise).leftover, own / (latent + own))


def test_a_singular_matrix_is_factorised_with_a_jitter() -> None:
    root = factorise(torch.ones(3, 3, dtype=torch.float64), torch.zeros(3, dtype=torch.float64))
    np.testing.assert_allclose((root @ root.T).numpy(), np.ones((3, 3)), atol=1e-5)


def test_a_matrix_that_is_not_finite_is_refused() -> None:
    with pytest.raises(FloatingPointError, match="not finite"):
        factorise(torch.full((2, 2), float("nan")), torch.zeros(2))


def test_arrays_that_may_not_be_written_to_are_welcome() -> None:
    runs, noise = collected()
    for part in (runs.Z, runs.mean, runs.count, runs.scatter, noise):
        part.flags.writeable = False
    assert np.isfinite(noisy_profile(runs, LENGTH, noise).value)
