"""Elliptical slice sampling against a posterior known in closed form."""

import math

import numpy as np

from genbayes.models.gp.deep.sampling import elliptical_slice

PRIOR = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, 0.6], [0.2, 0.6, 1.0]])
OBSERVED = np.array([1.0, -0.5, 0.8])
NOISE = 0.5  # variance
N_BATCHES = 40


def gaussian_log_likelihood(w: np.ndarray) -> float:
    e = OBSERVED - w
    return float(-0.5 * e @ e / NOISE)


def run_chain(n_steps: int) -> np.ndarray:
    rng, factor = np.random.default_rng(5), np.linalg.cholesky(PRIOR)
    w, value, states = np.zeros(3), gaussian_log_likelihood(np.zeros(3)), []
    for _ in range(n_steps):
        w, value = elliptical_slice(w, factor @ rng.standard_normal(3), gaussian_log_likelihood, value, rng)
        states.append(w)
    return np.array(states[100:])


def worst_z_score(values: np.ndarray, expected: np.ndarray) -> float:
    """Largest deviation of a mean in standard errors, these from the means of batches, which hold the correlation."""
    batches = np.array([part.mean(axis=0) for part in np.array_split(values, N_BATCHES)])
    standard_error = batches.std(axis=0, ddof=1) / math.sqrt(N_BATCHES)
    return float(np.max(np.abs(values.mean(axis=0) - expected) / standard_error))


def test_a_gaussian_likelihood_gives_the_closed_form_posterior() -> None:
    gain = PRIOR @ np.linalg.inv(PRIOR + NOISE * np.eye(3))
    mean, covariance = gain @ OBSERVED, PRIOR - gain @ PRIOR
    states = run_chain(4100)
    deviations = states - mean
    products = np.einsum("ti,tj->tij", deviations, deviations).reshape(-1, 9)
    # t law with 39 degrees of freedom: beyond 4.2 once in 7,000; nine means, so a false alarm once in 800
    assert worst_z_score(states, mean) < 4.2
    assert worst_z_score(products, covariance.ravel()) < 4.2


def test_the_chain_forgets_where_it_was() -> None:
    first = run_chain(2100)[:, 0]
    lag = np.corrcoef(first[:-20], first[20:])[0, 1]
    assert abs(lag) < 4 / math.sqrt(len(first))  # a stub that never moves has no standard deviation at all


def test_a_likelihood_that_allows_one_state_keeps_it() -> None:
    here = np.array([0.3, -1.2])

    def spike(w: np.ndarray) -> float:
        return 0.0 if np.array_equal(w, here) else -math.inf

    w, value = elliptical_slice(here, np.array([1.0, 1.0]), spike, 0.0, np.random.default_rng(0))
    np.testing.assert_array_equal(w, here)
    assert value == 0.0


def test_a_likelihood_that_denies_its_own_value_keeps_the_state() -> None:
    w, value = elliptical_slice(np.ones(2), np.zeros(2), lambda w: -1e9, 0.0, np.random.default_rng(0))
    np.testing.assert_array_equal(w, np.ones(2))
    assert value == 0.0


def test_the_new_state_lies_on_the_ellipse_and_above_the_level() -> None:
    rng = np.random.default_rng(1)
    w, nu = np.array([1.0, 0.0]), np.array([0.0, 1.0])  # here the ellipse is the unit circle
    for _ in range(50):
        w_new, value = elliptical_slice(w, nu, lambda w: 5.0 * float(w[0]), 5.0, rng)
        assert math.isclose(float(w_new @ w_new), 1.0)
        assert value == 5.0 * w_new[0]
