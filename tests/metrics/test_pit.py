import math

import numpy as np
import pytest
from scipy.stats import kstest, poisson

from genbayes.errors import InvalidInput
from genbayes.metrics import count_bins, pit, pit_shares


@pytest.mark.parametrize(("y", "share"), [(0.0, 0.0), (2.5, 0.5), (3.0, 0.625), (9.0, 1.0)])
def test_it_is_the_share_of_draws_below_and_half_of_those_that_tie(y: float, share: float) -> None:
    np.testing.assert_array_equal(pit([[4.0, 1.0, 3.0, 2.0]] * 3, [y] * 3), share)


def test_it_is_uniform_under_the_true_distribution_and_its_mean_one_half_for_whole_numbers_too() -> None:
    rng = np.random.default_rng(0)
    draws, y = rng.normal(size=(1000, 999)), rng.normal(size=1000)
    assert kstest(pit(draws, y), "uniform").pvalue > 1e-4  # false alarm 1 in 10,000
    draws, y = rng.poisson(1.0, size=(2000, 200)), rng.poisson(1.0, size=2000)
    assert abs(pit(draws, y).mean() - 0.5) < 4 * math.sqrt(1 / 12 / 2000)  # at most this variance; 1 in 16,000


NO_PROBABILITY = "lower and upper must be probabilities with lower <= upper"


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        (pit, ([1.0, 2.0], [1.0]), r"q must have shape \(n, m\)"),
        (pit, ([[np.nan, 1.0]], [1.0]), "q must be finite"),
        (pit, ([[1.0, 2.0]], [np.nan]), "y must be finite"),
        (pit, ([[1.0, 2.0]], [1.0, 2.0]), r"y must have shape \(1,\)"),
        (pit_shares, ([0.5], [0.4], [0.5]), NO_PROBABILITY),
        (pit_shares, ([-0.1], [0.2], [0.5]), NO_PROBABILITY),
        (pit_shares, ([0.9], [1.1], [0.5]), NO_PROBABILITY),
        (pit_shares, ([], [], [0.5]), NO_PROBABILITY),
    ],
)
def test_bad_draws_and_what_is_no_probability_are_refused(call, arguments: tuple, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        call(*arguments)


def test_shares_are_those_of_the_values_below_and_an_observation_at_an_atom_is_spread_over_the_jump() -> None:
    u = np.random.default_rng(0).uniform(size=50)
    np.testing.assert_allclose(pit_shares(u, u, [0.2, 0.5, 0.9]), [(u <= t).mean() for t in (0.2, 0.5, 0.9)])
    np.testing.assert_allclose(pit_shares([0.2], [0.6], [0.1, 0.2, 0.3, 0.5, 0.6, 0.7]), [0, 0, 0.25, 0.75, 1, 1])


def test_shares_of_a_true_distribution_of_whole_numbers_are_the_levels() -> None:
    y = np.random.default_rng(1).poisson(1.0, size=20_000)
    tau = np.array([0.05, 0.3, 0.5, 0.9])
    share = pit_shares(poisson.cdf(y - 1, 1.0), poisson.cdf(y, 1.0), tau)
    np.testing.assert_allclose(share, tau, atol=4 * 0.5 / math.sqrt(20_000))  # spread shares vary less than counts


def test_a_weight_of_two_counts_as_two_rows() -> None:
    lower, upper, tau = np.array([0.1, 0.4, 0.7]), np.array([0.1, 0.6, 0.7]), [0.2, 0.5, 0.65]
    twice = [0, 1, 1, 2]
    np.testing.assert_allclose(pit_shares(lower, upper, tau, [1, 2, 1]), pit_shares(lower[twice], upper[twice], tau))


@pytest.mark.parametrize(("n", "n_bins"), [(1, 4), (10, 4), (100, 9), (20_000, 20)])
def test_the_number_of_bins_suits_n(n: int, n_bins: int) -> None:
    assert count_bins(n) == n_bins
