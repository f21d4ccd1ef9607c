"""The joint posterior of mean and noise: its derivatives, its relation to the stationary GP, its climbs."""

import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from genbayes.arrays import FloatArray
from genbayes.models.gp.likelihood import GPParameters, Replicates
from genbayes.models.gp.noise_process import (
    NOISE_LENGTH_CENTRE,
    JointPosterior,
    climb_jointly,
    constant_noise,
    noise_ratios,
)

STATIONARY = GPParameters(np.array([0.9, 1.4]), 0.2, 1.0, 0.0)


def draw_runs() -> Replicates:
    rng = np.random.default_rng(1)
    Z = np.repeat(rng.normal(size=(30, 2)), 3, axis=0)
    y = np.sin(Z[:, 0]) + np.exp(Z[:, 1] - 1) * rng.standard_normal(90)
    return Replicates.collect(Z, y, np.ones(90))


def joint_point(runs: Replicates, variance: float, delta: FloatArray) -> FloatArray:
    lengths = np.log(np.append(STATIONARY.length, [1.1, 2.3]))
    return np.concatenate([lengths, [math.log(variance), math.log(STATIONARY.nugget)], delta])


def test_gradient_is_that_of_finite_differences() -> None:
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
