"""Quantile functions that are piecewise linear with exponential tails: look-up, inverse, moments and CRPS, all exact.

Between two knots (a, u_a) and (b, u_b) both Q and F are straight lines, so that every integral is a polynomial. Beyond
the outermost knots a tail goes on exponentially, up to a bound.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import gammainc

from genbayes.arrays import BoolArray, FloatArray, IntArray
from genbayes.distribution.rounding import LARGEST_LEVEL, chord, largest_where
from genbayes.distribution.rowwise import chunks, entry, rank, row_of

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


Segment = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


@dataclass(frozen=True)
class Knots:
    """Knots (u_i, z_i) of one distribution per row, neither decreasing along it, and the tails beyond them.

    Two knots of equal value are an atom, two of equal level a gap in the distribution.

    Args:
        levels: Shape (n, M), or (1, M) if all rows share them.
        values: Shape (n, M).
        lower: Tail below the first level.
        upper: Tail above the last level, mirrored.
    """

    levels: FloatArray
    values: FloatArray
    lower: Tail
    upper: Tail

    @classmethod
    def build(
        cls, levels: FloatArray, values: FloatArray, slopes: tuple[FloatArray, FloatArray], bounds: tuple[float, float]
    ) -> "Knots":
        """Knots from a table, the slopes (n,) of both tails and the bounds of the support; the table is frozen."""
        levels.setflags(write=False)
        values.setflags(write=False)
        n = len(values)
        lower = Tail(np.broadcast_to(levels[:, 0], n), values[:, 0], slopes[0], bounds[0])
        upper = Tail(np.broadcast_to(1 - levels[:, -1], n), -values[:, -1], slopes[1], -bounds[1])
        return cls(levels, values, lower, upper)

    def at(self, rows: IntArray | slice) -> "Knots":
        """The knots of these rows."""
        levels = self.levels if len(self.levels) == 1 else self.levels[rows]
        return Knots(levels, self.values[rows], self.lower.at(rows), self.upper.at(rows))

    def values_with_tails(self, shares: FloatArray) -> FloatArray:
        """Values of the knots, with those where these shares of each tail lie further out, (n, k + M + k) in order.

        Args:
            shares: Non-increasing numbers in (0, 1], shape (k,).
        """
        lower, upper = (tail_ppf(tail.v[:, None] * shares, tail.column()) for tail in (self.lower, self.upper))
        return np.concatenate([lower[:, ::-1], self.values, -upper], axis=1)

    def ppf(self, U: FloatArray) -> FloatArray:
        """Quantiles (n, j) at levels U of shape (n, j), or (1, j) where all rows share them."""
        q = np.empty((len(self.values), U.shape[1]))
        for rows in chunks(*q.shape):
            part, V = self.at(rows), U if len(U) == 1 else U[rows]
            q[rows] = part._ppf_shared(V) if len(V) == len(self.levels) == 1 else part._ppf_flat(V)
        return q

    def _ppf_shared(self, U: FloatArray) -> FloatArray:
        """Quantiles at levels U (1, j) of rows with the same knots' levels: one look-up serves all rows."""
        M = self.values.shape[1]
        i = np.searchsorted(self.levels[0], U[0])
        a, b = np.maximum(i - 1, 0), np.minimum(i, M - 1)
        q = chord(
            U, self.levels[:, a], self.levels[:, b], np.take(self.values, a, axis=1), np.take(self.values, b, axis=1)
        )
        low, high = i == 0, i == M
        q[:, low] = tail_ppf(U[:, low], self.lower.column())
        q[:, high] = -tail_ppf(1 - U[:, high], self.upper.column())
        return q

    def _ppf_flat(self, U: FloatArray) -> FloatArray:
        """Quantiles at U of shape (n, j), or (1, j) if the rows have levels of their own."""
        shape = len(self.values), U.shape[1]
        row, u = row_of(shape), np.broadcast_to(U, shape).ravel()
        i = rank(self.levels, row, u, "left")
        q = chord(u, *self.segment(row, i))
        low, high = np.flatnonzero(i == 0), np.flatnonzero(i == self.values.shape[1])
        q[low] = tail_ppf(u[low], self.lower.at(row[low]))
        q[high] = -tail_ppf(1 - u[high], self.upper.at(row[high]))
        return q.reshape(shape)

    def cdf(self, row: IntArray, y: FloatArray) -> FloatArray:
        """F at points y (N,), the largest float u with Q(u) <= y; `level` knows it up to a few last places."""
        i = rank(self.values, row, y, "right")
        p = self.level(row, y, i, before=False)
        e = np.flatnonzero((i > 0) & (i < self.values.shape[1]))
        u_a, u_b, a, b = self.segment(row[e], i[e])
        p[e] = largest_where(lambda k, u: chord(u, u_a[k], u_b[k], a[k], b[k]) <= y[e[k]], u_a, u_b, p[e])
        e = np.flatnonzero((i == 0) & (self.lower.s[row] > 0) & (y >= self.lower.bound))
        p[e] = lower_level(y[e], self.lower.at(row[e]), p[e])
        e = np.flatnonzero((i == self.values.shape[1]) & (self.upper.s[row] > 0) & (-y > self.upper.bound))
        p[e] = upper_level(y[e], self.upper.at(row[e]), p[e])
        return np.where(p >= LARGEST_LEVEL, 1.0, p)

    def level(self, row: IntArray, y: FloatArray, i: IntArray, *, before: bool | BoolArray) -> FloatArray:
        """F at points y (N,) up to rounding; P(Y < y) instead where `before`.

        Args:
            row: Row of each point, shape (N,).
            y: Points, shape (N,).
            i: How many values of the row lie at most at the point, or below it where `before`, shape (N,).
            before: Whether an atom at y itself is left out.
        """
        u_a, u_b, a, b = self.segment(row, i)
        run = b - a
        p = u_a + (u_b - u_a) * ((y - a) / np.where(run > 0, run, 1))
        p = np.where(y < b, np.minimum(p, u_b), u_b)
        low, high = np.flatnonzero(i == 0), np.flatnonzero(i == self.values.shape[1])
        p[low] = tail_cdf(y[low], self.lower.at(row[low]))
        p[high] = 1 - tail_cdf(-y[high], self.upper.at(row[high]))
        bottom, top = self.lower.bound, -self.upper.bound
        if bottom > -np.inf:
            p[np.where(before, y <= bottom, y < bottom)] = 0
        if top < np.inf:
            p[np.where(before, y > top, y >= top)] = 1
        return p

    def mass(self, row: IntArray, y: FloatArray) -> FloatArray:
        """P(Y = y) at points y (N,); exactly zero where there is no atom."""
        up_to = self.level(row, y, rank(self.values, row, y, "right"), before=False)
        below = self.level(row, y, rank(self.values, row, y, "left"), before=True)
        return np.maximum(up_to - below, 0)

    def pdf(self, row: IntArray, y: FloatArray) -> FloatArray:
        """Density at points y (N,): (u_b - u_a) / (b - a), in the tails F / s and (1 - F) / s; infinite at atoms."""
        i = rank(self.values, row, y, "right")
        p = self.level(row, y, i, before=False)
        u_a, u_b, a, b = self.segment(row, i)
        where = [i == 0, i == self.values.shape[1]]
        share = np.select(where, [p, 1 - p], u_b - u_a)
        length = np.select(where, [self.lower.s[row], self.upper.s[row]], b - a)
        with np.errstate(over="ignore"):
            f = np.divide(share, length, out=np.zeros(y.shape), where=length > 0)
        return np.where(self.mass(row, y) > 0, np.inf, f)

    def segment(self, row: IntArray, i: IntArray) -> Segment:
        """Levels and values of the knots before and after position i (N,); the outermost knot twice in the tails."""
        before, after = np.maximum(i - 1, 0), np.minimum(i, self.values.shape[1] - 1)
        return (
            entry(self.levels, row, before),
            entry(self.levels, row, after),
            entry(self.values, row, before),
            entry(self.values, row, after),
        )


def moments(knots: Knots) -> tuple[FloatArray, FloatArray]:
    """Mean and variance, the integrals of Q and of (Q - mean)^2 over (0, 1), each (n,).

    With weight w = u_b - u_a a segment contributes w (a + b) / 2 and w (a^2 + a b + b^2) / 3; a tail the moments of
    its distance from the outermost knot.
    """
    values, lower, upper = knots.values, knots.lower, knots.upper
    w = np.diff(knots.levels, axis=1)
    centre = values[:, values.shape[1] // 2]  # deviations from it keep the digits of rows far from zero
    z = values - centre[:, None]
    low, low_square = tail_moments(lower)  # of z_1 - Y
    high, high_square = tail_moments(upper)  # of Y - z_M
    shift = (w * (z[:, :-1] + z[:, 1:]) / 2).sum(axis=1) + lower.v * (z[:, 0] - low) + upper.v * (z[:, -1] + high)
    z = z - shift[:, None]
    a, b = z[:, :-1], z[:, 1:]
    variance = (w * (a * a + a * b + b * b) / 3).sum(axis=1)
    variance += lower.v * (z[:, 0] ** 2 - 2 * z[:, 0] * low + low_square)
    variance += upper.v * (z[:, -1] ** 2 + 2 * z[:, -1] * high + high_square)
    variance = np.where(np.isnan(variance), np.inf, variance)  # squares of numbers beyond 1e154 overflow
    return centre + shift, np.maximum(variance, 0)


def crps(knots: Knots, y: FloatArray) -> FloatArray:
    """CRPS of observations y (n,): the integral of F^2 up to y plus that of (1 - F)^2 from y on, shape (n,).

    A piece of length h over which F runs from u_a to u_b contributes h (u_a^2 + u_a u_b + u_b^2) / 3 on the left
    of y, and the same in 1 - u on its right.
    """
    n, M = knots.values.shape
    h = np.diff(knots.values, axis=1)
    v = 1 - knots.levels
    left, right = np.zeros((n, M)), np.zeros((n, M))  # of F^2 up to each knot, of (1 - F)^2 from each knot on
    np.cumsum(_square(h, knots.levels[:, :-1], knots.levels[:, 1:]), axis=1, out=left[:, 1:])
    np.cumsum(_square(h, v[:, :-1], v[:, 1:])[:, ::-1], axis=1, out=right[:, -2::-1])
    left += tail_square(knots.lower)[:, None]
    right += tail_square(knots.upper)[:, None]

    row = np.arange(n)
    i = rank(knots.values, row, y, "right")
    p = knots.level(row, y, i, before=False)
    u_a, u_b, a, b = knots.segment(row, i)
    inside = _square(y - a, u_a, p) + _square(b - y, 1 - p, 1 - u_b)
    inside += entry(left, row, np.maximum(i - 1, 0)) + entry(right, row, np.minimum(i, M - 1))
    below = tail_crps(np.minimum(y, knots.lower.z), knots.lower) + right[:, 0]
    above = tail_crps(np.minimum(-y, knots.upper.z), knots.upper) + left[:, -1]
    return np.select([i == 0, i == M], [below, above], inside)


def _square(h: FloatArray, u_a: FloatArray, u_b: FloatArray) -> FloatArray:
    """Integral of the square of a line from u_a to u_b over a length h."""
    return h * (u_a * u_a + u_a * u_b + u_b * u_b) / 3
