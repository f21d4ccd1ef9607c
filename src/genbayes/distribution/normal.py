"""Normal distributions, what Gaussian processes predict; everything in closed form."""

import copy
import math
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from genbayes import metrics
from genbayes.arrays import FloatArray, IntArray
from genbayes.distribution.base import PredictiveDistribution
from genbayes.distribution.rounding import chord
from genbayes.errors import InvalidInput
from genbayes.validation import check_column


class Normal(PredictiveDistribution):
    """Normal distributions N(loc, scale^2), one per row; scale 0 is a point mass, as at a noise-free design point.

    Q(u) = loc + scale Phi^-1(u) and F(y) = Phi((y - loc) / scale), inverse to each other up to rounding.

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
        return self._loc[:, None] + self._scale[:, None] * monotone_ndtri(U)

    def _cdf(self, Y: FloatArray) -> FloatArray:
        return monotone_ndtr(self._standardise(Y))

    def _pdf(self, Y: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            phi = np.exp(-0.5 * self._standardise(Y) ** 2) / math.sqrt(2 * math.pi)
            atom = np.where(self._loc[:, None] == Y, np.inf, 0.0)  # the density of a point mass
            return np.divide(phi, self._scale[:, None], out=atom, where=self._scale[:, None] > 0)

    def _mass(self, Y: FloatArray) -> FloatArray:
        return np.where((self._scale[:, None] == 0) & (self._loc[:, None] == Y), 1.0, 0.0)

    def _crps(self, y: FloatArray) -> FloatArray:
        return metrics.crps_normal(self._loc, self._scale, y)

    def _standardise(self, Y: FloatArray) -> FloatArray:
        """(y - loc) / scale; minus or plus infinity below and from a point mass on."""
        e, scale = Y - self._loc[:, None], self._scale[:, None]
        with np.errstate(over="ignore"):
            return np.divide(e, scale, out=np.where(e < 0, -np.inf, np.inf), where=scale > 0)


def monotone_ndtri(u: FloatArray) -> FloatArray:
    """Phi^-1(u), never falling from one float to the next, as SciPy's does by its last bit.

    Chords between levels so far apart (26 bits) that rounding cannot swap them, and so near that the chord itself is
    right to the last bit. Upper levels are mirrored, where 1 - u is exact.

    Example:
        >>> monotone_ndtri(np.array([0.025, 0.5, 0.975])).round(6)
        array([-1.959964,  0.      ,  1.959964])
    """
    v = np.minimum(u, 1 - u)
    digits, exponent = np.frexp(v)
    v_a, v_b = (np.ldexp(np.floor(digits * 2**26 + k) / 2**26, exponent) for k in (0, 1))
    x = chord(v, v_a, v_b, ndtri(v_a), ndtri(v_b))
    return np.where(u <= 0.5, x, -x)


def monotone_ndtr(x: FloatArray) -> FloatArray:
    """Phi(x), never falling from one float to the next; chords as in `monotone_ndtri`, 2^-27 apart.

    Example:
        >>> monotone_ndtr(np.array([-np.inf, 0.0, 1.96])).round(4)
        array([0.   , 0.5  , 0.975])
    """
    x = np.clip(x, -40, 40)  # beyond which Phi is 0 or 1 in floating point
    x_a = np.floor(x * 2**27) / 2**27
    x_b = x_a + 2.0**-27
    return chord(x, x_a, x_b, ndtr(x_a), ndtr(x_b))


def mean_absolute_normal(mu: FloatArray, sigma: FloatArray) -> FloatArray:
    """E|N(mu, sigma^2)| = mu (2 Phi(mu / sigma) - 1) + 2 sigma phi(mu / sigma); A(mu, sigma^2) in Grimit et al. 2006.

    Example:
        >>> mean_absolute_normal(np.array([0.0, 3.0]), np.array([1.0, 0.0])).round(4)
        array([0.7979, 3.    ])
    """
    return metrics.crps_normal(np.zeros_like(mu), sigma, mu) + sigma / math.sqrt(math.pi)
