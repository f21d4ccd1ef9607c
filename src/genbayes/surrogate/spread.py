"""How wide the laws should be, learnt from rows that no member had seen: one factor about the median.

A network that has learnt its training rows a little too well states quantiles that are too close together. The
rows kept aside show by how much: q_tau becomes m + s (q_tau - m), m the median, with the s of lowest CRPS there.
Quantile levels keep their meaning, for the factor is 1 where the held-out rows agree with them.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from genbayes.network import PriorIQN, Rows, held_out_quantiles
from genbayes.network.loss import check_loss

__all__ = ["choose_spread", "stretch"]

FACTORS = np.geomspace(1.0, 3.0, 56)  # steps of 2%, finer than the rows can tell; never narrower than was learnt


@torch.no_grad()
def choose_spread(network: PriorIQN, rows: Rows, aside: Tensor) -> float:
    """The factor with the lowest mean CRPS over all members' rows kept aside, shape (K, a)."""
    q, tau = held_out_quantiles(network, rows, aside)
    middle = q[..., q.shape[-1] // 2].unsqueeze(-1)
    y, weight = rows.y[aside].unsqueeze(-1), rows.weight[aside]
    risk = []
    for factor in FACTORS.tolist():
        e = y - (middle + factor * (q - middle))
        risk.append(float((weight * check_loss(e, tau).mean(dim=-1)).sum()))
    return float(FACTORS[int(np.argmin(risk))])


def stretch(q: Tensor, factor: float) -> Tensor:
    """Ordered quantiles at levels symmetric about 1/2, moved away from their median, (..., m) -> (..., m).

    Example:
        >>> stretch(torch.tensor([1.0, 2.0, 3.0]), 2.0)
        tensor([0., 2., 4.])
    """
    if factor == 1:
        return q
    middle = q[..., q.shape[-1] // 2].unsqueeze(-1)
    return middle + factor * (q - middle)
