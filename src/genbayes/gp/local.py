"""Small GPs on the neighbours of each row, in batches: the building block of Vecchia's likelihood and of prediction.

Each row i has its own conditioning set c(i) of m rows. Given K_cc = C_cc + noise, everything follows from the weights
b = K_cc^{-1} k: the conditional mean b'y, and the conditional variance 1 - k'b in units of the process variance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from genbayes.arrays import FloatArray, IntArray
from genbayes.gp.cholesky import least_jitter
from genbayes.gp.correlation import matern52_with_slope

__all__ = ["LocalSystems", "chunks", "solve_locally"]

ENTRIES_AT_ONCE = 1_000_000  # of a batch of matrices: 8 MB, which a processor's cache holds


@dataclass(frozen=True)
class LocalSystems:
    """Solved systems of b rows with m neighbours each; the row itself stands last, at place m.

    Attributes:
        W: Inputs over length scales, relative to the row itself, shape (b, m + 1, p).
        covariance: Of the latent values over the process variance, shape (b, m + 1, m + 1); no noise.
        slope: Derivative of the correlation with respect to squared distance, same shape.
        solution: K_cc^{-1} [k, right], shape (b, m, 1 + r); zero at missing neighbours.
    """

    W: Tensor
    covariance: Tensor
    slope: Tensor
    solution: Tensor

    @property
    def weights(self) -> Tensor:
        """Kriging weights b = K_cc^{-1} k, shape (b, m)."""
        return self.solution[:, :, 0]

    @property
    def variance(self) -> Tensor:
        """Conditional variance of the latent value at each row over the process variance, shape (b,)."""
        m = self.weights.shape[1]
        return (self.covariance[:, m, m] - (self.covariance[:, :m, m] * self.weights).sum(1)).clamp(min=0)


def solve_locally(
    W: FloatArray,
    W_own: FloatArray,
    neighbours: IntArray,
    noise: FloatArray,
    right: FloatArray,
    explained: Tensor | None = None,
) -> LocalSystems:
    """Solve K_cc x = [k, right_c] for each row's conditioning set.

    Args:
        W: Training inputs over length scales, shape (n, p).
        W_own: The rows' own inputs over length scales, shape (b, p).
        neighbours: Row numbers of the conditioning sets, -1 where one is missing, shape (b, m).
        noise: Noise variance of each training row over the process variance, shape (n,).
        right: Further right-hand sides by training row, shape (n, r).
        explained: What something else already explains, subtracted from the correlations, shape (b, m + 1, m + 1).

    Returns:
        The systems, solved.

    Example:
        >>> W, near, noise = np.array([[0.0], [9.0]]), np.array([[0, 1]]), np.ones(2)
        >>> systems = solve_locally(W, np.array([[0.0]]), near, noise, np.zeros((2, 0)))
        >>> systems.weights.numpy().round(6), systems.variance.numpy().round(6)
        (array([[0.5, 0. ]]), array([0.5]))
    """
    m = neighbours.shape[1]
    is_there = torch.from_numpy(neighbours >= 0)
    own = np.zeros((len(W_own), 1, W.shape[1]))
    places = torch.from_numpy(np.concatenate([W[neighbours] - W_own[:, None], own], axis=1))
    norms = (places * places).sum(-1)
    s = torch.baddbmm(norms.unsqueeze(-1) + norms.unsqueeze(-2), places, places.transpose(1, 2), alpha=-2).clamp_(min=0)
    covariance, slope = (torch.from_numpy(part) for part in matern52_with_slope(s.numpy()))
    if explained is not None:
        covariance -= explained
    _forget_missing(is_there, covariance, slope)
    sides = torch.cat([covariance[:, :m, m:], torch.from_numpy(right[neighbours]) * is_there.unsqueeze(-1)], dim=2)
    diagonal = torch.where(is_there, torch.from_numpy(noise[neighbours]), 1.0)
    solution = torch.cholesky_solve(sides, _factors(covariance[:, :m, :m], diagonal))
    return LocalSystems(places, covariance, slope, solution)


def chunks(n: int, m: int) -> Iterator[slice]:
    """Slices of n rows, each with a matrix of m + 1 columns, that fit into bounded memory.

    Example:
        >>> [part.stop for part in chunks(2500, 30)]
        [1040, 2080, 2500]
    """
    size = max(1, ENTRIES_AT_ONCE // (m + 1) ** 2)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def _forget_missing(is_there: Tensor, *matrices: Tensor) -> None:
    if not bool(is_there.all()):
        exists = torch.cat([is_there, torch.ones(len(is_there), 1, dtype=torch.bool)], dim=1)
        pairs = exists.unsqueeze(-1) & exists.unsqueeze(-2)
        for matrix in matrices:
            matrix.mul_(pairs)


def _factors(covariance: Tensor, noise: Tensor) -> Tensor:
    """Lower Cholesky factors of a batch of covariance matrices with noise on the diagonal."""
    K = covariance.clone()
    diagonal = covariance.diagonal(dim1=1, dim2=2)

    def attempt(jitter: float) -> Tensor | None:
        K.diagonal(dim1=1, dim2=2).copy_(diagonal + noise + jitter)
        factors, failures = torch.linalg.cholesky_ex(K)
        return None if bool(failures.any()) else factors

    return least_jitter(attempt)
