"""Exponential tails beyond the outermost quantiles of a table, cut off at a bound.

Lower tail, 0 < u <= v: Q(u) = max(z + s log(u / v), bound), so F(y) = v exp((y - z) / s), with z the outermost
quantile and v its level. All functions speak of the lower tail; the upper one is the same tail of -Y, with v the
probability above and z, y and bound negated. Slope s = 0 is an atom at the outermost quantile.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import gammainc

from genbayes.arrays import FloatArray, IntArray
from genbayes.distribution.rounding import largest_where
from genbayes.distribution.search import entry, rank

__all__ = [
    "Tail",
    "lower_level",
    "tail_cdf",
    "tail_crps",
    "tail_moments",
    "tail_ppf",
    "tail_slope",
    "tail_square",
    "upper_level",
]

RATIO = 2.0  # the slope is read between the outermost knot and the first with twice its tail probability:
# near enough to be local, far enough that two knots side by side do not decide it
SHORTEST_RUN = 2.0**-52  # two levels may differ by so little that their distances from 1 are equal


class Tail(NamedTuple):
    """Lower tails, one per row: level v, outermost quantile z and slope s, each (n,); one bound for all."""

    v: FloatArray
    z: FloatArray
    s: FloatArray
    bound: float

    def at(self, rows: IntArray | slice) -> "Tail":
        """The tails of these rows."""
        return Tail(self.v[rows], self.z[rows], self.s[rows], self.bound)

    def column(self) -> "Tail":
        """The same tails as columns (n, 1), to be read at several points each."""
        return Tail(self.v[:, None], self.z[:, None], self.s[:, None], self.bound)


def tail_slope(levels: FloatArray, values: FloatArray) -> FloatArray:
    """Slope s = (z_k - z_1) / log(u_k / u_1), u_k the first level with u_k >= 2 u_1, or the last one there is.

    Args:
        levels: Increasing levels, shape (n, M) or (1, M), M at least 2.
        values: Non-decreasing quantiles, shape (n, M).

    Returns:
        Slopes, zero or positive, shape (n,).

    Example:
        >>> tail_slope(np.array([[0.1, 0.15, 0.2, 0.5]]), np.array([[0.0, 0.5, np.log(2), 9.0]]))
        array([1.])
    """
    row, first = np.arange(len(values)), np.broadcast_to(levels[:, 0], len(values))
    k = np.minimum(rank(levels, row, RATIO * first, "left"), levels.shape[1] - 1)
    rise = entry(values, row, k) - values[:, 0]
    run = np.log(entry(levels, row, k) / first)
    return rise / np.maximum(run, SHORTEST_RUN)


def tail_ppf(u: FloatArray, tail: Tail) -> FloatArray:
    """Q(u) = max(z + s log(u / v), bound) for 0 < u <= v."""
    return np.maximum(tail.z + tail.s * np.log(u / tail.v), tail.bound)


def tail_cdf(y: FloatArray, tail: Tail) -> FloatArray:
    """F(y) = v exp((y - z) / s) for y <= z, without regard to the bound; zero where s = 0."""
    return tail.v * np.exp(-_in_slopes(tail.z - y, tail.s))


def lower_level(y: FloatArray, tail: Tail, guess: FloatArray) -> FloatArray:
    """The largest float u with Q(u) <= y, for bound <= y < z in a lower tail."""
    return largest_where(lambda k, u: tail_ppf(u, tail.at(k)) <= y[k], np.zeros_like(y), tail.v, guess)


def upper_level(y: FloatArray, tail: Tail, guess: FloatArray) -> FloatArray:
    """The largest float u with Q(u) = -tail_ppf(1 - u) <= y, for y at or above the last knot."""
    return largest_where(lambda k, u: -tail_ppf(1 - u, tail.at(k)) <= y[k], 1 - tail.v, np.ones_like(y), guess)


def tail_moments(tail: Tail) -> tuple[FloatArray, FloatArray]:
    """First two moments of z - Y within the tail: s^k E min(T, c)^k = s^k k! P(k, c).

    T is a standard exponential, c how many slopes the bound lies below z, P the regularised incomplete gamma.
    """
    c = _in_slopes(tail.z - tail.bound, tail.s)
    return tail.s * gammainc(1, c), tail.s**2 * 2 * gammainc(2, c)


def tail_square(tail: Tail) -> FloatArray:
    """Integral of F^2 over the tail, from the bound to z: s v^2 (1 - exp(-2 c)) / 2 with c as in `tail_moments`."""
    square: FloatArray = tail.s * tail.v**2 * gammainc(1, 2 * _in_slopes(tail.z - tail.bound, tail.s)) / 2
    return square


def tail_crps(y: FloatArray, tail: Tail) -> FloatArray:
    """Integral of (F - 1{. >= y})^2 up to z for an observation y <= z in the tail, or below the bound.

    int_bound^y F^2 + int_y^z (1 - F)^2, each in closed form since F' = F / s.
    """
    v, z, s, bound = tail
    missed = np.maximum(bound - y, 0)  # from y up to the bound F is zero
    y = np.maximum(y, bound)
    p = tail_cdf(y, tail)
    at_bound = v * np.exp(-_in_slopes(z - bound, s))
    below = s * (p - at_bound) * (p + at_bound) / 2
    above = (z - y) - 2 * s * (v - p) + s * (v - p) * (v + p) / 2
    return missed + below + np.maximum(above, 0)


def _in_slopes(distance: FloatArray, s: FloatArray) -> FloatArray:
    """Distance / s, infinite where s = 0 or so small that the quotient overflows."""
    quotient = np.full(distance.shape, np.inf)
    with np.errstate(over="ignore"):
        np.divide(distance, s, out=quotient, where=s > 0)
    return quotient
