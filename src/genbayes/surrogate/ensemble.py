"""From the members' raw quantiles to laws: pooled as a mixture for a new run, their disagreement for E[y | x].

Members are pooled as a mixture (paper section 5.2), F = mean_k F_k, which is wider than any average of quantiles
where members disagree. What they disagree on is what the ensemble does not know of the mean: epistemic only.
"""

from __future__ import annotations

import numpy as np
import torch

from genbayes.arrays import FloatArray
from genbayes.distribution import Normal, QuantileFunction, pool_quantile_functions
from genbayes.network import PriorIQN
from genbayes.scaling import ResponseScaler
from genbayes.surrogate.spread import stretch

__all__ = ["GRID", "law_of_mean", "law_of_run", "member_laws"]

# Levels at which the network defines the law: every percent, and a few in the tails. Between them the quantile
# function is linear, beyond them its tails are exponential, so a quantile never depends on what else was asked.
TAIL_LEVELS = (0.001, 0.0025, 0.005)
GRID: FloatArray = np.concatenate([TAIL_LEVELS, np.arange(1, 100) / 100, 1 - np.array(TAIL_LEVELS[::-1])])


def member_laws(
    network: PriorIQN, Z: FloatArray, scaler: ResponseScaler, spread: float = 1.0
) -> list[QuantileFunction]:
    """The law of a new run according to each member, for scaled inputs Z, shape (n, p)."""
    device = next(network.parameters()).device
    inputs = torch.as_tensor(Z, dtype=torch.float32, device=device)
    tau = torch.as_tensor(GRID, dtype=torch.float32, device=device)
    q = network.quantiles(inputs, tau).cpu().numpy()
    if spread != 1:
        q = stretch(q, spread)
    return [QuantileFunction(GRID, scaler.inverse(member.astype(np.float64)), support=scaler.bounds) for member in q]


def law_of_run(members: list[QuantileFunction]) -> QuantileFunction:
    """The ensemble's law of a new run: the mixture of the members."""
    return members[0] if len(members) == 1 else pool_quantile_functions(members)


def law_of_mean(members: list[QuantileFunction]) -> Normal:
    """What the ensemble knows of E[y | x]: a Gaussian with mean and standard deviation of the members' means."""
    means = np.stack([member.mean() for member in members])
    return Normal(loc=means.mean(axis=0), scale=means.std(axis=0, ddof=1))
