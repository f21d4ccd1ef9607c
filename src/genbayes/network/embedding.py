"""Cosine embedding of the quantile level, paper section 3.2 (Dabney et al. 2018).

Computing cosines for every row and level costs more than the matrix products they feed, so training looks them up
in a table of N_LEVELS midpoints; prediction computes them at the levels asked for.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

__all__ = ["N_LEVELS", "cosine_embedding", "level_table", "levels_of"]

# Training levels are the midpoints (i + 1/2) / N_LEVELS. 4096 is far finer than any quantile the data can resolve,
# and a power of two, so that any usual number of strata divides it.
N_LEVELS = 4096


def cosine_embedding(tau: Tensor, n_cosines: int = 32) -> Tensor:
    """phi(tau) = [cos(j pi tau)], j = 0, ..., n_cosines - 1; (...) -> (..., n_cosines).

    Example:
        >>> cosine_embedding(torch.tensor([0.0, 1.0]), 3)
        tensor([[ 1.,  1.,  1.],
                [ 1., -1.,  1.]])
    """
    j = torch.arange(n_cosines, dtype=tau.dtype, device=tau.device)
    return torch.cos(math.pi * tau.unsqueeze(-1) * j)


def levels_of(index: Tensor) -> Tensor:
    """The levels that table rows stand for, any shape.

    Example:
        >>> levels_of(torch.tensor([0, N_LEVELS - 1])) * N_LEVELS
        tensor([5.0000e-01, 4.0955e+03])
    """
    return (index + 0.5) / N_LEVELS


def level_table(n_cosines: int, device: torch.device | str = "cpu") -> Tensor:
    """Embeddings of all training levels, shape (N_LEVELS, n_cosines).

    Example:
        >>> level_table(32).shape
        torch.Size([4096, 32])
    """
    return cosine_embedding(levels_of(torch.arange(N_LEVELS, device=device)), n_cosines)
