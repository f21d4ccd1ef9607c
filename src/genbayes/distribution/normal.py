"""Normal laws, for the Gaussian-process baselines; everything in closed form."""

import copy
import math
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from genbayes import metrics
from genbayes.arrays import FloatArray, IntArray
from genbayes.distribution.base import PredictiveDistribution
from genbayes.errors import InvalidInput
from genbayes.validation import check_column

__all__ = ["Normal", "mean_absolute_normal"]


class Normal(PredictiveDistribution):
    """Normal laws N(loc, scale^2), one per row; scale 0 is a point mass, as at a noise-free design point.

    Q(u) = loc + scale Phi^-1(u).

    Args:
        loc: Means, shape (n,) or one for all.
        scale: Standard deviations, zero or positive, shape (n,) or one for all.

    Example:
        >>> Normal([0.0, 10.0], 1.0).ppf([0.5, 0.975]).round(2)
        array([[ 0.  ,  1.96],
               [10.  , 11.96]])
    """

    def __init__(self, loc: ArrayLike, scale: ArrayLike) -> None:
        n = max(np.size(loc), np.size(scale))
        self._loc = check_column(loc, "loc", n)
        self._scale = check_column(scale, "scale", n)
        if (self._scale < 0).any():
            raise InvalidInput(f"scale must be zero or positive, got {float(self._scale.min())!r}")

    def __len__(self) -> int:
        return len(self._loc)

    def _take(self, rows: IntArray) -> Self:
        part = copy.copy(self)
        part._loc, part._scale = self._loc[rows], self._scale[rows]
        return part

    def mean(self) -> FloatArray:
        """Means loc, shape (n,)."""
        return self._loc.copy()

    def var(self) -> FloatArray:
        """Variances scale^2, shape (n,)."""
        return self._scale**2

    def std(self) -> FloatArray:
        """Standard deviations scale, shape (n,)."""
        return self._scale.copy()

    def _ppf(self, U: FloatArray) -> FloatArray:
        q: FloatArray = self._loc[:, None] + self._scale[:, None] * ndtri(U)
        return q

    def _cdf(self, Y: FloatArray) -> FloatArray:
        F: FloatArray = ndtr(self._standardise(Y))
        return F

    def _pdf(self, Y: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            phi = np.exp(-0.5 * self._standardise(Y) ** 2) / math.sqrt(2 * math.pi)
            atom = np.where(Y == self._loc[:, None], np.inf, 0.0)  # the density of a point mass
            return np.divide(phi, self._scale[:, None], out=atom, where=self._scale[:, None] > 0)

    def _mass(self, Y: FloatArray) -> FloatArray:
        return ((self._scale[:, None] == 0) & (Y == self._loc[:, None])).astype(np.float64)

    def _crps(self, y: FloatArray) -> FloatArray:
        return metrics.crps_normal(self._loc, self._scale, y)

    def _standardise(self, Y: FloatArray) -> FloatArray:
        """(y - loc) / scale; minus or plus infinity below and from a point mass on."""
        e, scale = Y - self._loc[:, None], self._scale[:, None]
        with np.errstate(over="ignore"):
            return np.divide(e, scale, out=np.where(e < 0, -np.inf, np.inf), where=scale > 0)


def mean_absolute_normal(mu: FloatArray, sigma: FloatArray) -> FloatArray:
    """E|N(mu, sigma^2)| = mu (2 Phi(mu / sigma) - 1) + 2 sigma phi(mu / sigma); A(mu, sigma^2) in Grimit et al. 2006.

    Example:
        >>> mean_absolute_normal(np.array([0.0, 3.0]), np.array([1.0, 0.0])).round(4)
        array([0.7979, 3.    ])
    """
    return metrics.crps_normal(0.0, sigma, mu) + sigma / math.sqrt(math.pi)
