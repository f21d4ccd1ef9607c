"""The three-term training loss of paper section 3.3, and its unbiased form.

The ordering term penalises the same side of the residual as the check loss does, so it moves the minimiser: with
weights (w1, w2, w3), asking for tau < 1/2 trains the level w3 tau / (w3 + w2 (1/2 - tau)), mirrored above.
`recipe="paper"` keeps that; `recipe="fast"` evaluates the loss at the level whose minimiser is the wanted one.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class LossWeights:
    """Weights (w1, w2, w3) of the location anchor, the ordering term and the quantile loss."""

    location: float
    order: float
    quantile: float


DEFAULT = LossWeights(0.3, 0.3, 0.4)
QUANTILE_DOMINANT = LossWeights(0.1, 0.2, 0.7)


def trained_level(tau: Tensor, weights: LossWeights) -> Tensor:
    """The quantile level that minimises `three_term_loss` when level tau is asked for, any shape.

    Below 1/2 the slopes of the loss in q are w3 (1 - tau) + w2 (1/2 - tau) where q > y and -w3 tau where q < y;
    they balance at the level w3 tau / (w3 + w2 (1/2 - tau)). Above 1/2 by symmetry.

    Example:
        >>> trained_level(torch.tensor([0.05, 0.5, 0.95]), DEFAULT)
        tensor([0.0374, 0.5000, 0.9626])
    """
    tail = torch.minimum(tau, 1 - tau)
    trained = weights.quantile * tail / (weights.quantile + weights.order * (0.5 - tail))
    return torch.where(tau < 0.5, trained, 1 - trained)


def three_term_loss(y: Tensor, mu: Tensor, q: Tensor, tau: Tensor, weights: LossWeights) -> Tensor:
    """Training loss of each residual, the numbered equation of paper section 3.3; tensors that broadcast together.

    w1 |y - mu| + w2 |tau - 1/2| m_tau + w3 max(tau e, (tau - 1) e), with e = y - q and m_tau the part of q on the
    wrong side of y: max(0, q - y) for tau < 1/2, max(0, y - q) otherwise.

    Example:
        >>> three_term_loss(torch.tensor(1.0), torch.tensor(0.0), torch.tensor(0.0), torch.tensor(0.5), DEFAULT)
        tensor(0.5000)
    """
    e = y - q
    location = (y - mu).abs()  # ties mu to the conditional median
    order = (tau - 0.5).abs() * torch.where(tau < 0.5, -e, e).clamp(min=0)  # |tau - 1/2| m_tau
    quantile = check_loss(e, tau)
    return weights.location * location + weights.order * order + weights.quantile * quantile


def unbiased_loss(
    y: Tensor, mu: Tensor, q: Tensor, tau: Tensor, weights: LossWeights, of_level: Tensor | None = None
) -> Tensor:
    """The three-term loss at the level tau' whose trained level is tau; tensors that broadcast together.

    With t = min(tau, 1 - tau), tau' = t (w3 + w2/2) / (w3 + w2 t), and order and quantile term together are exactly
    (w3 + w2 (1/2 - tau')) rho_tau(e): the check loss at the wanted level, with more weight on the tails. `of_level`
    is that weight where it is already known.

    Example:
        >>> unbiased_loss(torch.tensor(1.0), torch.tensor(1.0), torch.tensor(0.0), torch.tensor(0.5), DEFAULT)
        tensor(0.2000)
    """
    of_level = level_weight(tau, weights) if of_level is None else of_level
    return weights.location * (y - mu).abs() + of_level * check_loss(y - q, tau)


def level_weight(tau: Tensor, weights: LossWeights) -> Tensor:
    """w3 + w2 (1/2 - tau'), the weight of the check loss in `unbiased_loss`, any shape.

    Example:
        >>> level_weight(torch.tensor([0.5, 0.05]), DEFAULT)
        tensor([0.4000, 0.5301])
    """
    tail = torch.minimum(tau, 1 - tau)
    asked = tail * (weights.quantile + weights.order / 2) / (weights.quantile + weights.order * tail)  # tau'
    return weights.quantile + weights.order * (0.5 - asked)


def check_loss(e: Tensor, tau: Tensor) -> Tensor:
    """rho_tau(e) = max(tau e, (tau - 1) e); tensors that broadcast together.

    Example:
        >>> check_loss(torch.tensor([-1.0, 2.0]), torch.tensor(0.25))
        tensor([0.7500, 0.5000])
    """
    return torch.maximum(tau * e, (tau - 1) * e)
