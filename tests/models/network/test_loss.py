"""The three-term loss: the paper's formula, its bias, and the form without it."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from genbayes.models.network.loss import (
    DEFAULT,
    QUANTILE_DOMINANT,
    LossWeights,
    three_term_loss,
    trained_level,
    unbiased_loss,
)

WEIGHTS = [DEFAULT, QUANTILE_DOMINANT, LossWeights(0.0, 0.5, 0.5), LossWeights(0.2, 0.0, 0.8)]


def minimiser(loss, tau: float, weights: LossWeights) -> float:
    """The constant that minimises the mean loss over 20,001 equally likely responses 0, ..., 1 is the trained level."""
    y = torch.linspace(0, 1, 20_001, dtype=torch.float64)
    grid = torch.linspace(0.0005, 0.9995, 1_000, dtype=torch.float64)
    level = torch.tensor(tau, dtype=torch.float64)
    risk = [float(loss(y, torch.zeros((), dtype=torch.float64), q, level, weights).mean()) for q in grid]
    return float(grid[int(np.argmin(risk))])


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("tau", [0.05, 0.3, 0.5, 0.8, 0.99])
def test_the_unbiased_loss_is_minimised_at_the_level_asked_for(tau: float, weights: LossWeights) -> None:
    assert minimiser(unbiased_loss, tau, weights) == pytest.approx(tau, abs=1e-3)  # one cell of the grid


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("tau", [0.05, 0.3, 0.8, 0.99])
def test_the_papers_loss_is_minimised_at_its_trained_level(tau: float, weights: LossWeights) -> None:
    expected = float(trained_level(torch.tensor(tau, dtype=torch.float64), weights))
    assert minimiser(three_term_loss, tau, weights) == pytest.approx(expected, abs=1e-3)


def test_the_default_weights_turn_a_90_percent_interval_into_one_of_92_5() -> None:
    low, high = trained_level(torch.tensor([0.05, 0.95], dtype=torch.float64), DEFAULT).tolist()
    assert low == pytest.approx(0.4 * 0.05 / (0.4 + 0.3 * 0.45))
    assert high - low == pytest.approx(0.925, abs=5e-4)


def test_the_papers_loss_is_the_printed_formula() -> None:
    # tau = 0.2, e = y - q = -2: w1 |1 - 0.5| + w2 0.3 max(0, 2) + w3 max(0.2 (-2), (-0.8)(-2))
    y, mu, q, tau = (torch.tensor(v, dtype=torch.float64) for v in (1.0, 0.5, 3.0, 0.2))
    assert float(three_term_loss(y, mu, q, tau, DEFAULT)) == pytest.approx(0.3 * 0.5 + 0.3 * 0.3 * 2 + 0.4 * 1.6)


@given(st.floats(0.001, 0.999), st.floats(-5, 5), st.floats(-5, 5), st.sampled_from(WEIGHTS))
def test_the_unbiased_loss_is_the_papers_at_the_level_that_trains_tau(tau: float, y: float, q: float, weights) -> None:
    tail = min(tau, 1 - tau)
    asked = tail * (weights.quantile + weights.order / 2) / (weights.quantile + weights.order * tail)
    asked = asked if tau < 0.5 else 1 - asked
    args = [torch.tensor(v, dtype=torch.float64) for v in (y, 0.0, q)]
    expected = three_term_loss(*args, torch.tensor(asked, dtype=torch.float64), weights)
    found = unbiased_loss(*args, torch.tensor(tau, dtype=torch.float64), weights)
    assert float(found) == pytest.approx(float(expected), rel=1e-9, abs=1e-12)
