"""Trained on a law that is known, `fast` states its quantile levels without bias, and `paper` with the known one."""

import numpy as np
import pytest
import torch
from scipy.special import ndtr

from genbayes import QuantileSurrogate
from genbayes.models.network import DEFAULT, QUANTILE_DOMINANT, LossWeights, trained_level

TAU = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
N = 6_000
# The share of fresh responses below a quantile learnt from n rows has two errors: that of the learnt quantile,
# sd sqrt(tau (1 - tau) / n), and the network's own. The first is at most 0.0065 for n = 6,000; allow three of it.
TOLERANCE = 3 * 0.5 / np.sqrt(N)


def shares_below(**settings) -> np.ndarray:
    """Share of fresh responses below each stated quantile, for skewed noise whose size changes with x."""
    rng = np.random.default_rng(7)

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.uniform(size=(n, 1))
        return X, (1 + X[:, 0]) * rng.gamma(2.0, size=n)

    model = QuantileSurrogate(random_state=0, **settings).fit(*draw(N))
    X, y = draw(40_000)
    return (y[:, None] < model.predict_quantiles(X, TAU)).mean(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("weights", [DEFAULT, QUANTILE_DOMINANT, LossWeights(0.1, 0.6, 0.3)])
def test_fast_states_its_levels_without_bias(weights: LossWeights) -> None:
    found = shares_below(weights=(weights.location, weights.order, weights.quantile))
    np.testing.assert_allclose(found, TAU, atol=TOLERANCE)


@pytest.mark.slow
def test_paper_states_the_levels_that_its_loss_trains() -> None:
    expected = trained_level(torch.tensor(TAU), DEFAULT).numpy()
    assert abs(expected[0] - 0.0374) < 1e-3
    found = shares_below(recipe="paper", n_epochs=1500)
    np.testing.assert_allclose(found, expected, atol=2 * TOLERANCE)  # one level a step leaves more noise in the weights


def test_fast_is_unbiased_where_the_papers_loss_would_not_be() -> None:
    """Short form for every day: heavy ordering weight, for which the paper's loss would train 0.05 as 0.027."""
    rng = np.random.default_rng(1)
    X, y = rng.uniform(size=(2_000, 1)), rng.standard_normal(2_000)
    model = QuantileSurrogate(weights=(0.1, 0.6, 0.3), n_members=2, n_epochs=40, random_state=0).fit(X, y)
    q = model.predict_quantiles(rng.uniform(size=(500, 1)), [0.05, 0.95])
    # P(y < q) exactly, averaged over x; the learnt quantile of 2,000 rows is off by sqrt(.05 * .95 / 2000) = 0.005
    assert ndtr(q[:, 0]).mean() == pytest.approx(0.05, abs=0.015)
    assert ndtr(q[:, 1]).mean() == pytest.approx(0.95, abs=0.015)
