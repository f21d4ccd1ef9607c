"""Truncated rounds: proposals are prior draws in the region of the posterior, and the posterior gets sharper."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from genbayes import Box, InvalidInput, PosteriorEstimator
from genbayes.inference.prior import as_prior
from genbayes.inference.rounds import Region, draw_within, fit_in_rounds

PRIOR = Box({"a": (-3.0, 3.0), "b": (-3.0, 3.0)})
SD = 0.05


class Recorder:
    """A simulator y = theta + noise that remembers where it was asked."""

    def __init__(self) -> None:
        self.asked: list[np.ndarray[Any, Any]] = []

    def __call__(self, theta: np.ndarray[Any, Any], rng: np.random.Generator) -> tuple[Any, Any]:
        self.asked.append(theta)
        return theta, theta + SD * rng.standard_normal(theta.shape)


@pytest.fixture(scope="module")
def fitted() -> tuple[PosteriorEstimator, Recorder]:
    run = Recorder()
    estimator = PosteriorEstimator(PRIOR, n_rounds=3, n_members=1, random_state=0)
    fit_in_rounds(estimator, run, 600, [0.5, -1.0], np.random.default_rng(0))
    return estimator, run


def test_later_rounds_simulate_only_near_the_posterior(fitted: tuple[PosteriorEstimator, Recorder]) -> None:
    _, run = fitted
    assert [len(theta) for theta in run.asked] == [200, 200, 200]
    spread = [theta.std(axis=0).max() for theta in run.asked]
    assert max(spread[1:]) < spread[0] / 3  # the second may already be as narrow as the third
    assert np.abs(run.asked[2] - [0.5, -1.0]).max() < 1


def test_the_posterior_is_that_of_the_whole_prior(fitted: tuple[PosteriorEstimator, Recorder]) -> None:
    posterior = fitted[0].condition([0.5, -1.0])
    np.testing.assert_allclose(posterior.mean(), [0.5, -1.0], atol=SD / 2)
    np.testing.assert_allclose(posterior.std(), SD, rtol=0.3)
    assert np.isneginf(posterior.log_prob([2.9, 2.9]))


def test_draws_of_a_region_are_draws_of_the_prior_in_it() -> None:
    prior = as_prior([stats.norm(0, 1), stats.gamma(2.0)])
    region = Region(np.array([0.5, 1.0]), np.array([np.inf, 2.0]))
    drawn = region.sample(prior, 2_000, np.random.default_rng(0))
    assert drawn is not None
    assert region.contains(drawn).all()
    for column, margin, (low, high) in zip(drawn.T, prior.margins, [(0.5, np.inf), (1.0, 2.0)], strict=True):
        ends = margin.cdf([low, high])
        assert stats.kstest((margin.cdf(column) - ends[0]) / (ends[1] - ends[0]), "uniform").pvalue > 0.001


def test_draws_of_a_joint_prior_fall_in_the_box() -> None:
    prior = as_prior(stats.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]]))
    drawn = draw_within(prior, np.array([0.0, 0.0]), np.array([1.0, 1.0]), 500, np.random.default_rng(0))
    assert 50 < len(drawn) < 250
    assert ((drawn >= 0) & (drawn <= 1)).all()


def test_rounds_are_for_one_observation() -> None:
    estimator = PosteriorEstimator(PRIOR, n_rounds=2, n_members=1, random_state=0)
    with pytest.raises(InvalidInput, match="y_observed must be one observation for rounds, got several"):
        fit_in_rounds(estimator, Recorder(), 200, [[0.5, -1.0], [0.0, 0.0]], np.random.default_rng(0))
