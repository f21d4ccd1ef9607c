"""From the members' raw quantiles to laws: pooled as a mixture for a new run, their disagreement for E[y | x].

Members are pooled as a mixture (paper section 5.2), F = mean_k F_k, which is wider than any average of quantiles
where members disagree. What they disagree on is what the ensemble does not know of the mean: epistemic only.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from genbayes.arrays import FloatArray
from genbayes.data.scaling import ResponseScaler
from genbayes.distribution import Normal, QuantileFunction
from genbayes.distribution.pooling import pool_members
from genbayes.distribution.quantile import GRID, N_TAIL
from genbayes.models.network.fit import stretch
from genbayes.models.network.iqn import PriorIQN


def member_quantiles(network: PriorIQN, Z: FloatArray, spread: float = 1.0) -> Tensor:
    """Each member's quantiles of the scaled response at the levels of `GRID`, in order, (n, p) -> (K, n, m)."""
    device = next(network.parameters()).device
    inputs = torch.as_tensor(Z, dtype=torch.float32, device=device)
    tau = torch.as_tensor(GRID, dtype=torch.float32, device=device)
    return stretch(put_in_order(network.quantiles(inputs, tau)), spread)


def put_in_order(q: Tensor) -> Tensor:
    """Quantiles at the levels of `GRID` without crossings, (..., m) -> (..., m).

    Those at the equally spaced levels are sorted, which brings them no further from the true ones (rearrangement;
    Chernozhukov, Fernandez-Val & Galichon 2010). Those of the tails may not lie further in than their inner neighbour.

    Example:
        >>> q = torch.arange(49.0)
        >>> q[[3, 10, 20]] = torch.tensor([6.0, 20.0, 10.0])
        >>> put_in_order(q)[[3, 4, 10, 20]]
        tensor([ 4.,  4., 10., 20.])
    """
    inner = q[..., N_TAIL:-N_TAIL].sort(dim=-1).values
    lower = torch.cat([inner[..., :1], q[..., :N_TAIL].flip(-1)], dim=-1).cummin(-1).values.flip(-1)
    upper = torch.cat([inner[..., -1:], q[..., -N_TAIL:]], dim=-1).cummax(-1).values
    return torch.cat([lower, inner[..., 1:-1], upper], dim=-1)


def law_of_run(q: Tensor, scaler: ResponseScaler, weight: Tensor | None = None) -> QuantileFunction:
    """The ensemble's law of a new run, the mixture of its members' quantiles.

    Args:
        q: Quantiles at the levels of `GRID`, shape (K, n, m).
        scaler: Brings them to the units of y.
        weight: Weight of each member at each row, shape (K, n); None for equal ones.
    """
    pooled = q[0].double() if len(q) == 1 else pool_members(q, torch.as_tensor(GRID, device=q.device), weight)
    return QuantileFunction(GRID, scaler.inverse(pooled.cpu().numpy()), support=scaler.bounds)


def at_levels(q: Tensor, levels: tuple[FloatArray, FloatArray], scaler: ResponseScaler) -> Tensor:
    """Quantiles of responses that were standardised within each alternative, brought back to one scale for all.

    Args:
        q: Scaled quantiles under each of k alternatives, shape (k, K, n, m).
        levels: Location and scale of y under each alternative, (k,) each; of length 1 for 0 and 1 under all.
        scaler: That of the standardised responses, without bounds unless levels are 0 and 1.
    """
    location, scale = levels
    if len(location) == 1:
        return q
    # scaler.inverse of the result is location + scale scaler.inverse(q)
    shift = (location + (scale - 1) * scaler.center) / scaler.scale
    parts = [torch.as_tensor(part, device=q.device).reshape(-1, 1, 1, 1) for part in (scale, shift)]
    return parts[0] * q.double() + parts[1]


def law_over_alternatives(q: Tensor, probability: FloatArray, scaler: ResponseScaler) -> QuantileFunction:
    """As `law_of_run`, mixed also over alternatives of given probability.

    Args:
        q: Quantiles of K members under each of k alternatives, shape (k, K, n, m).
        probability: Probability of each alternative at each row, shape (n, k).
        scaler: Brings them to the units of y.
    """
    k, members, n, m = q.shape
    if k == 1:
        return law_of_run(q[0], scaler)
    weight = torch.as_tensor(probability.T / members, device=q.device)[:, None].expand(k, members, n)
    return law_of_run(q.reshape(k * members, n, m), scaler, weight.reshape(k * members, n))


def law_of_mean(q: Tensor, probability: FloatArray, scaler: ResponseScaler) -> Normal:
    """What the ensemble knows of E[y | x]: a Gaussian with mean and standard deviation of the members' means.

    Arguments as those of `law_over_alternatives`.
    """
    laws = [law_over_alternatives(q[:, j : j + 1], probability, scaler) for j in range(q.shape[1])]
    means = np.stack([law.mean() for law in laws])
    return Normal(loc=means.mean(axis=0), scale=means.std(axis=0, ddof=1))
