"""The process of the log noise: smoothing and penalty against dense formulas, prediction, derivatives."""

import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal
from sklearn.gaussian_process.kernels import Matern

from genbayes.arrays import FloatArray
from genbayes.models.gp.likelihood import GPParameters, Replicates
from genbayes.models.gp.noise_process import (
    NOISE_LENGTH_CENTRE,
    JointPosterior,
    NoiseProcess,
    SmoothedNoise,
    climb_jointly,
    constant_noise,
    noise_ratios,
)

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


STATIONARY = GPParameters(np.array([0.9, 1.4]), 0.2, 1.0, 0.0)


def draw_runs() -> Replicates:
    rng = np.random.default_rng(1)
    Z = np.repeat(rng.normal(size=(30, 2)), 3, axis=0)
    y = np.sin(Z[:, 0]) + np.exp(Z[:, 1] - 1) * rng.standard_normal(90)
    return Replicates.collect(Z, y, np.ones(90))


def joint_point(runs: Replicates, variance: float, delta: FloatArray) -> FloatArray:
    lengths = np.log(np.append(STATIONARY.length, [1.1, 2.3]))
    return np.concatenate([lengths, [math.log(variance), math.log(STATIONARY.nugget)], delta])


def test_gradient_of_the_joint_posterior_is_that_of_finite_differences() -> None:
    runs = draw_runs()
    posterior = JointPosterior(runs, runs.count / 2)
    theta = joint_point(runs, 0.8, np.random.default_rng(2).normal(size=len(runs)))
    _, gradient = posterior.value_and_gradient(theta)
    slopes = approx_fprime(theta, lambda point: posterior.value_and_gradient(point)[0], 1e-6)
    np.testing.assert_allclose(gradient, slopes, atol=2e-5)


def test_the_loss_is_the_negative_posterior_in_other_units() -> None:
    runs = draw_runs()
    posterior = JointPosterior(runs, runs.count / 2)
    theta = joint_point(runs, 0.8, np.zeros(len(runs)))
    value, gradient = posterior.value_and_gradient(theta)
    loss, slope = posterior.loss(theta * posterior.units)
    assert loss == pytest.approx(-value)
    np.testing.assert_allclose(slope * posterior.units, -gradient)


def test_the_stationary_gp_is_the_limit_of_a_noise_process_without_variance() -> None:
    runs = draw_runs()
    theta = joint_point(runs, 1e-9, np.zeros(len(runs)))
    theta[2:4] = math.log(NOISE_LENGTH_CENTRE * math.sqrt(2))  # the centre of the prior, which costs nothing
    limit, _ = JointPosterior(runs, runs.count / 2).value_and_gradient(theta)
    assert limit == pytest.approx(constant_noise(runs, STATIONARY).log_posterior, abs=1e-5)


def test_overflow_is_a_disaster_to_turn_back_from_not_an_error() -> None:
    runs = draw_runs()
    posterior = JointPosterior(runs, runs.count / 2)
    loss, _ = posterior.loss(joint_point(runs, 1.0, np.full(len(runs), 1e5)) * posterior.units)
    assert loss >= 1e9


def test_a_climb_gains_and_a_second_one_loses_nothing() -> None:
    runs = draw_runs()
    start = constant_noise(runs, STATIONARY)
    first = climb_jointly(runs, start)
    second = climb_jointly(runs, first)
    assert first.log_posterior > start.log_posterior + 5
    # the working precisions change in between, and with them Laplace's approximation: by tenths, not by units
    assert second.log_posterior > first.log_posterior - 1


def test_climbs_from_different_starts_agree_about_the_noise() -> None:
    runs = draw_runs()
    other = GPParameters(np.array([2.0, 3.0]), 0.05, 1.0, 0.0)
    found = [climb_jointly(runs, climb_jointly(runs, constant_noise(runs, start))) for start in (STATIONARY, other)]
    ratios = [gp.noise.predict(runs.Z)[0] - gp.noise.predict(runs.Z)[0].mean() for gp in found]
    np.testing.assert_allclose(ratios[0], ratios[1], atol=0.2)


def test_a_gp_learnt_from_some_inputs_is_a_start_for_all_of_them() -> None:
    runs = draw_runs()
    some = climb_jointly(runs.take(np.arange(15)), constant_noise(runs, STATIONARY))
    assert len(climb_jointly(runs, some, n_steps=2).noise.Z) == len(runs)


def test_noise_ratios_never_reach_zero() -> None:
    assert noise_ratios(np.array([-1e4]))[0] > 0
