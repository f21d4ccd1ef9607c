"""A piecewise linear quantile function with exponential tails: look-up, exact inverse, density.

The table behind `QuantileFunction`, and what pooling works on. `tails` has the formulas beyond the outermost levels,
`integrals` those of moments and CRPS.
"""

from dataclasses import dataclass

import numpy as np

from genbayes.arrays import BoolArray, FloatArray, IntArray
from genbayes.distribution.rounding import LARGEST_LEVEL, largest_where
from genbayes.distribution.search import gather, rank, row_chunks
from genbayes.distribution.tails import Tail, lower_level, tail_cdf, tail_ppf, upper_level

__all__ = ["Knots", "chord"]


@dataclass(frozen=True)
class Knots:
    """Knots (u_i, z_i) of one law per row, neither decreasing along it, and the tails beyond them.

    Two knots of equal value are an atom, two of equal level a gap in the law.

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

    def ppf(self, U: FloatArray) -> FloatArray:
        """Quantiles (n, j) at levels U of shape (n, j), or (1, j) where all rows share them."""
        q = np.empty((len(self.values), U.shape[1]))
        for rows in row_chunks(*q.shape):
            q[rows] = self.at(rows)._ppf(U if len(U) == 1 else U[rows])
        return q

    def _ppf(self, U: FloatArray) -> FloatArray:
        n, M = self.values.shape
        shared = len(U) == len(self.levels) == 1  # then one look-up serves all rows
        i = rank(self.levels, U if shared else np.broadcast_to(U, (n, U.shape[1])), "left")
        q = chord(U, *self.segment(i))
        for tail, beyond, sign, V in ((self.lower, i == 0, 1, U), (self.upper, i == M, -1, 1 - U)):
            if beyond.any():
                r, c = np.nonzero(np.broadcast_to(beyond, q.shape))
                q[r, c] = sign * tail_ppf(np.broadcast_to(V, q.shape)[r, c], tail.at(r))
        return q

    def cdf(self, Y: FloatArray) -> FloatArray:
        """F at Y (n, j), the largest float u with Q(u) <= y; `level` knows it up to a few units in the last place."""
        M = self.values.shape[1]
        i = rank(self.values, Y, "right")
        p = self.level(Y, i, before=False)
        inside = (i > 0) & (i < M)
        y = Y[inside]
        u_a, u_b, a, b = (x[inside] for x in self.segment(i))
        p[inside] = largest_where(lambda k, u: chord(u, u_a[k], u_b[k], a[k], b[k]) <= y[k], u_a, u_b, p[inside])
        for tail, beyond, sign in ((self.lower, i == 0, 1), (self.upper, i == M, -1)):
            r, c = np.nonzero(beyond & (tail.s > 0)[:, None] & (sign * Y >= tail.bound))
            exact = lower_level if sign == 1 else upper_level
            p[r, c] = exact(Y[r, c], tail.at(r), p[r, c])
        return np.where(p >= LARGEST_LEVEL, 1.0, p)

    def level(self, Y: FloatArray, i: IntArray, *, before: bool | BoolArray) -> FloatArray:
        """F at Y (n, j) up to rounding; P(Y < y) instead where `before`.

        Args:
            Y: Points, shape (n, j).
            i: How many values lie at most at each point, or below it where `before`, shape (n, j).
            before: Whether an atom at y itself is left out.
        """
        u_a, u_b, a, b = self.segment(i)
        run = b - a
        p = np.minimum(u_a + (u_b - u_a) * ((Y - a) / np.where(run > 0, run, 1)), u_b)
        p = np.where(Y < b, p, u_b)
        low, high = i == 0, i == self.values.shape[1]
        r = np.nonzero(low)[0]
        p[low] = tail_cdf(Y[low], self.lower.at(r))
        r = np.nonzero(high)[0]
        p[high] = 1 - tail_cdf(-Y[high], self.upper.at(r))
        bottom, top = self.lower.bound, -self.upper.bound
        p[(Y < bottom) | (before & (Y == bottom))] = 0
        p[(Y > top) | (~np.asarray(before) & (Y == top))] = 1
        return p

    def mass(self, Y: FloatArray) -> FloatArray:
        """P(Y = y) at Y of shape (n, j); exactly zero where there is no atom."""
        up_to = self.level(Y, rank(self.values, Y, "right"), before=False)
        return np.maximum(up_to - self.level(Y, rank(self.values, Y, "left"), before=True), 0)

    def pdf(self, Y: FloatArray) -> FloatArray:
        """Density at Y (n, j): (u_b - u_a) / (b - a) between knots, F / s and (1 - F) / s in the tails, inf at atoms."""
        i = rank(self.values, Y, "right")
        p = self.level(Y, i, before=False)
        u_a, u_b, a, b = self.segment(i)
        share = np.select([i == 0, i == self.values.shape[1]], [p, 1 - p], u_b - u_a)
        length = np.select([i == 0, i == self.values.shape[1]], [self.lower.s[:, None], self.upper.s[:, None]], b - a)
        with np.errstate(over="ignore"):
            f = np.divide(share, length, out=np.zeros(Y.shape), where=length > 0)
        return np.where(self.mass(Y) > 0, np.inf, f)

    def segment(self, i: IntArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Levels and values of the knots before and after position i; the outermost knot twice in the tails."""
        before, after = np.maximum(i - 1, 0), np.minimum(i, self.values.shape[1] - 1)
        return (
            gather(self.levels, before),
            gather(self.levels, after),
            gather(self.values, before),
            gather(self.values, after),
        )


def chord(u: FloatArray, u_a: FloatArray, u_b: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """Height at u of the line from (u_a, a) to (u_b, b): exactly a and b at its ends, never falling in between.

    Example:
        >>> chord(np.array([0.3]), np.array([0.2]), np.array([0.4]), np.array([1.0]), np.array([2.0]))
        array([1.5])
    """
    run = u_b - u_a
    t = (u - u_a) / np.where(run > 0, run, 1)
    return np.where(u < u_b, np.minimum(a + (b - a) * t, b), b)
