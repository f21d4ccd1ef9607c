"""Correlation functions of Gaussian processes, from squared distances in units of the length scales.

Double precision, on batches of any shape, so that the exact GP, its local approximation and the heteroskedastic GP
share one formula. Derivatives with respect to the squared distance are written out: automatic differentiation of
sqrt(s) fails at s = 0, where every row meets itself. Torch, for those who differentiate; in NumPy: `matern.py`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

__all__ = ["matern52", "matern52_slope", "scaled_distances"]


def scaled_distances(A: Tensor, B: Tensor, length: Tensor) -> Tensor:
    """Squared distances s_ij = sum_k (a_ik - b_jk)^2 / length_k^2.

    Args:
        A: Inputs, shape (..., a, d).
        B: Inputs, shape (..., b, d).
        length: Length scales, shape (d,).

    Returns:
        Shape (..., a, b), never negative.

    Example:
        >>> scaled_distances(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]), torch.tensor([1.0, 2.0]))
        tensor([[13.]])
    """
    A, B = A / length, B / length
    # |a - b|^2 = |a|^2 + |b|^2 - 2 a.b is one matrix product; rounding may leave tiny negative numbers
    norms = (A * A).sum(-1).unsqueeze(-1) + (B * B).sum(-1).unsqueeze(-2)
    return (norms - 2 * A @ B.transpose(-1, -2)).clamp(min=0)


def matern52(s: Tensor) -> Tensor:
    """Matern-5/2 correlation (1 + r + r^2 / 3) exp(-r), r = sqrt(5 s), of squared scaled distances s, any shape.

    Source: Rasmussen & Williams (2006), equation 4.17. Differentiable everywhere, also at s = 0.

    Example:
        >>> matern52(torch.tensor([0.0, 0.2, 5.0]))
        tensor([1.0000, 0.8584, 0.0966])
    """
    return _Matern52.apply(s)  # type: ignore[no-any-return]


def matern52_slope(s: Tensor) -> Tensor:
    """Derivative of `matern52` with respect to s: -(5/6) (1 + r) exp(-r).

    Example:
        >>> matern52_slope(torch.tensor([0.0]))
        tensor([-0.8333])
    """
    r = torch.sqrt(5 * s)
    return (-5 / 6) * (1 + r) * torch.exp(-r)


class _Matern52(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, s: Tensor) -> Tensor:
        ctx.save_for_backward(s)
        r = torch.sqrt(5 * s)
        return (1 + r + r * r / 3) * torch.exp(-r)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (s,) = ctx.saved_tensors
        return gradient * matern52_slope(s)
