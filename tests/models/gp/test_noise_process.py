"""The process of the log noise: smoothing and penalty against dense formulas, prediction, derivatives."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal
from sklearn.gaussian_process.kernels import Matern

from genbayes.arrays import FloatArray
from genbayes.models.gp.noise_process import NoiseProcess, SmoothedNoise

RNG = np.random.default_rng(4)
Z, DELTA, INFORMATION = RNG.normal(size=(9, 2)), RNG.normal(size=9), RNG.uniform(0.2, 3.0, size=9)
LENGTH, VARIANCE = np.array([0.7, 2.0]), 1.7


def covariance(A: FloatArray, B: FloatArray) -> FloatArray:
    return np.asarray(VARIANCE * Matern(LENGTH, nu=2.5)(A, B))


def process() -> NoiseProcess:
    weights = SmoothedNoise(Z, LENGTH, VARIANCE, DELTA, INFORMATION).weights
    return NoiseProcess(-1.0, VARIANCE, LENGTH, Z, INFORMATION, weights)


def test_eta_is_the_posterior_mean_given_the_working_values() -> None:
    K = covariance(Z, Z)
    expected = K @ np.linalg.solve(K + np.diag(1 / INFORMATION), DELTA)
    np.testing.assert_allclose(SmoothedNoise(Z, LENGTH, VARIANCE, DELTA, INFORMATION).eta, expected)


def test_penalty_makes_the_evidence_of_gaussian_working_values_exact() -> None:
    # Laplace's method is exact here: log N(delta; eta, H^{-1}) + penalty = log N(delta; 0, K + H^{-1})
    smoothed = SmoothedNoise(Z, LENGTH, VARIANCE, DELTA, INFORMATION)
    noise = np.diag(1 / INFORMATION)
    likelihood = multivariate_normal.logpdf(DELTA, smoothed.eta, noise)
    evidence = multivariate_normal.logpdf(DELTA, np.zeros(9), covariance(Z, Z) + noise)
    assert likelihood + smoothed.penalty == pytest.approx(evidence)


def test_penalty_vanishes_as_the_noise_turns_constant() -> None:
    assert SmoothedNoise(Z, LENGTH, 1e-9, DELTA, INFORMATION).penalty == pytest.approx(0.0, abs=1e-6)


def test_gradient_is_that_of_finite_differences() -> None:
    slope = np.linspace(-1, 1, 9)

    def value(point: FloatArray) -> float:
        smoothed = SmoothedNoise(Z, np.exp(point[:2]), float(np.exp(point[2])), point[3:], INFORMATION)
        return float(slope @ smoothed.eta) + smoothed.penalty

    by_length, by_variance, by_delta = SmoothedNoise(Z, LENGTH, VARIANCE, DELTA, INFORMATION).gradient(slope)
    point = np.concatenate([np.log(LENGTH), [np.log(VARIANCE)], DELTA])
    found = np.concatenate([by_length, [by_variance], by_delta])
    np.testing.assert_allclose(found, approx_fprime(point, value, 1e-6), atol=1e-5)


def test_prediction_is_ordinary_gp_regression_on_the_working_values() -> None:
    new = RNG.uniform(-0.5, 0.5, size=(5, 2))
    K, k = covariance(Z, Z) + np.diag(1 / INFORMATION), covariance(new, Z)
    mean, variance = process().predict(new)
    np.testing.assert_allclose(mean, -1.0 + k @ np.linalg.solve(K, DELTA))
    np.testing.assert_allclose(variance, VARIANCE - (k * np.linalg.solve(K, k.T).T).sum(axis=1))


def test_far_away_the_process_returns_to_its_level_and_variance() -> None:
    mean, variance = process().predict(np.full((1, 2), 1e4))
    np.testing.assert_allclose([mean[0], variance[0]], [-1.0, VARIANCE])


def test_the_mean_never_leaves_what_was_found_at_training_inputs() -> None:
    # two inputs with a steep trend between them, which the process would carry on beyond both
    weights = SmoothedNoise(Z[:2], LENGTH, 25.0, np.array([-8.0, 8.0]), np.full(2, 50.0)).weights
    steep = NoiseProcess(0.0, 25.0, LENGTH, Z[:2], np.full(2, 50.0), weights)
    known, _ = steep.predict(Z[:2])
    beyond, _ = steep.predict(Z[:1] + np.linspace(-2, 3, 50)[:, None] * (Z[1] - Z[0]))
    assert beyond.max() <= known.max() + 1e-9
    assert beyond.min() >= known.min() - 1e-9


def test_prediction_of_many_rows_equals_that_of_each() -> None:
    new = RNG.normal(size=(7, 2))
    together = process().predict(new)
    single = [process().predict(new[i : i + 1]) for i in range(7)]
    for place in range(2):
        np.testing.assert_allclose(together[place], np.concatenate([part[place] for part in single]))


def test_no_rows_give_no_predictions() -> None:
    mean, variance = process().predict(np.zeros((0, 2)))
    assert mean.shape == variance.shape == (0,)
