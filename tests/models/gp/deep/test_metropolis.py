"""Sliding-window moves leave their target law invariant."""

import math

import numpy as np
import pytest
from scipy.stats import gamma

from genbayes.models.gp.deep.layers import GammaPrior
from genbayes.models.gp.deep.sampling import accept_slide, propose_slide


@pytest.mark.parametrize("shape", [1.5, 4.0])
def test_a_gamma_law_stays_as_it_is(shape: float) -> None:
    rng, prior = np.random.default_rng(3), GammaPrior(shape, 2.0)
    law = gamma(shape, scale=0.5)
    start = law.rvs(4000, random_state=rng)  # independent starts from the target, so moved values are independent too
    moved = []
    for value in start:
        for _ in range(3):
            proposal = propose_slide(value, rng)
            if accept_slide(value, proposal, prior.log_density(proposal) - prior.log_density(value), rng):
                value = proposal
        moved.append(value)
    distance = np.max(np.abs(np.sort(law.cdf(moved)) - (np.arange(4000) + 0.5) / 4000))
    assert distance < 1.95 / math.sqrt(4000)  # Kolmogorov: exceeded once in 1,000
    assert np.mean(np.array(moved) == start) < 0.5  # most have moved


def test_proposals_fill_the_window_evenly() -> None:
    rng = np.random.default_rng(0)
    share = (np.sort([propose_slide(4.0, rng) for _ in range(4000)]) - 2.0) / 6.0
    assert share[0] >= 0
    assert share[-1] <= 1
    assert np.max(np.abs(share - (np.arange(4000) + 0.5) / 4000)) < 1.95 / math.sqrt(4000)


def test_a_proposal_without_likelihood_is_never_accepted() -> None:
    rng = np.random.default_rng(0)
    assert not any(accept_slide(1.0, 0.6, -math.inf, rng) for _ in range(100))


def test_a_gain_is_weighed_against_the_width_of_the_window() -> None:
    rng = np.random.default_rng(0)
    accepted = np.mean([accept_slide(1.0, 2.0, 0.0, rng) for _ in range(4000)])
    assert abs(accepted - 0.5) < 4 * math.sqrt(0.25 / 4000)  # min(1, v / v*) = 1/2
    assert all(accept_slide(1.0, 0.5, 0.0, rng) for _ in range(100))
