"""Laws given by draws, as a sampler or a deep Gaussian process returns them."""

import copy
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from genbayes import metrics
from genbayes.arrays import FloatArray, IntArray
from genbayes.distribution.base import PredictiveDistribution
from genbayes.distribution.search import gather, rank
from genbayes.errors import NoDensity
from genbayes.validation import check_array

__all__ = ["Empirical"]


class Empirical(PredictiveDistribution):
    """The law that puts 1/S on each of a row's S draws.

    F(y) = #{draws <= y} / S and Q(u) is the smallest draw with F >= u, so that Q(j / S) is the j-th smallest.

    Args:
        draws: Draws in any order, shape (n, S).

    Example:
        >>> Empirical([[3.0, 1.0, 2.0, 4.0]]).ppf([0.25, 0.26])
        array([[1., 2.]])
    """

    def __init__(self, draws: ArrayLike) -> None:
        self._draws = np.sort(check_array(draws, "draws", "(n, S)"), axis=1)
        self._draws.setflags(write=False)

    def __len__(self) -> int:
        return len(self._draws)

    def __repr__(self) -> str:
        return f"Empirical(n={len(self)}, n_draws={self._draws.shape[1]})"

    def _take(self, rows: IntArray) -> Self:
        part = copy.copy(self)
        part._draws = self._draws[rows]
        return part

    def mean(self) -> FloatArray:
        """Means of the draws, shape (n,)."""
        first = self._draws[:, :1]
        return first[:, 0] + (self._draws - first).mean(axis=1)

    def var(self) -> FloatArray:
        """Variances of the laws, the mean squared deviation of the draws (division by S), shape (n,)."""
        return np.mean((self._draws - self.mean()[:, None]) ** 2, axis=1)

    def _ppf(self, U: FloatArray) -> FloatArray:
        S = self._draws.shape[1]
        j = np.ceil(U * S)  # up to rounding the smallest j with j / S >= u; made exact by the two lines below
        j = np.where((j - 1) / S >= U, j - 1, j)
        j = np.where(j / S < U, j + 1, j)
        return gather(self._draws, j.astype(np.int64) - 1)

    def _cdf(self, Y: FloatArray) -> FloatArray:
        return rank(self._draws, Y, "right") / self._draws.shape[1]

    def _mass(self, Y: FloatArray) -> FloatArray:
        return (rank(self._draws, Y, "right") - rank(self._draws, Y, "left")) / self._draws.shape[1]

    def _pdf(self, Y: FloatArray) -> FloatArray:
        raise NoDensity("pdf must be asked of a law with a density, got draws; use cdf, or fit a QuantileFunction")

    def _sample(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        return gather(self._draws, rng.integers(self._draws.shape[1], size=(len(self), n_samples)))

    def _crps(self, y: FloatArray) -> FloatArray:
        return metrics.crps(self._draws, y)

    def _breakpoints(self) -> FloatArray:
        return self._draws
