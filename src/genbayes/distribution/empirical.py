"""Distributions given by draws, as a sampler or a deep Gaussian process returns them."""

import copy
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from genbayes import metrics
from genbayes.arrays import FloatArray, IntArray
from genbayes.distribution.base import PredictiveDistribution
from genbayes.distribution.rowwise import rank, row_of
from genbayes.errors import NoDensity
from genbayes.validation import check_array


class Empirical(PredictiveDistribution):
    """The distribution that puts 1/S on each of a row's S draws.

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
        first = self._draws[:, :1]  # differences keep the digits of rows far from zero
        mean: FloatArray = first[:, 0] + (self._draws - first).mean(axis=1)
        return mean

    def var(self) -> FloatArray:
        """Variances of the distributions, the mean squared deviation of the draws (division by S), shape (n,)."""
        variance: FloatArray = np.mean((self._draws - self.mean()[:, None]) ** 2, axis=1)
        return variance

    def _ppf(self, U: FloatArray) -> FloatArray:
        S = self._draws.shape[1]
        j = np.ceil(U * S)  # up to rounding the smallest j with j / S >= u; made exact by the two lines below
        j = np.where((j - 1) / S >= U, j - 1, j)
        j = np.where(j / S < U, j + 1, j)
        return self._draw_number(j.astype(np.int64) - 1)

    def _cdf(self, Y: FloatArray) -> FloatArray:
        return self._cdf_at(row_of(Y.shape), Y.ravel()).reshape(Y.shape)

    def _cdf_at(self, rows: IntArray, y: FloatArray) -> FloatArray:
        F: FloatArray = rank(self._draws, rows, y, "right") / self._draws.shape[1]
        return F

    def _mass(self, Y: FloatArray) -> FloatArray:
        rows, y = row_of(Y.shape), Y.ravel()
        count = rank(self._draws, rows, y, "right") - rank(self._draws, rows, y, "left")
        mass: FloatArray = count / self._draws.shape[1]
        return mass.reshape(Y.shape)

    def _pdf(self, Y: FloatArray) -> FloatArray:
        raise NoDensity(
            "pdf must be asked of a distribution with a density, got draws; use cdf, or fit a QuantileFunction"
        )

    def _sample(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        return self._draw_number(rng.integers(self._draws.shape[1], size=(len(self), n_samples)))

    def _draw_number(self, i: IntArray) -> FloatArray:
        """Draws (n, j) in sorted order number i, of shape (n, j) or (1, j)."""
        return np.take(self._draws, i[0], axis=1) if len(i) == 1 else np.take_along_axis(self._draws, i, axis=1)

    def _crps(self, y: FloatArray) -> FloatArray:
        return metrics.crps(self._draws, y)

    def _breakpoints(self) -> FloatArray:
        return self._draws
