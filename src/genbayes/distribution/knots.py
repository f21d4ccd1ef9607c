"""A piecewise linear quantile function with exponential tails: look-up, exact inverse, density.

The table behind `QuantileFunction`, and what pooling works on. `tails` has the formulas beyond the outermost levels,
`integrals` those of moments and CRPS. Elements are flat: element e belongs to row `row[e]`.
"""

from dataclasses import dataclass

import numpy as np

from genbayes.arrays import BoolArray, FloatArray, IntArray
from genbayes.distribution.rounding import LARGEST_LEVEL, chord, largest_where
from genbayes.distribution.search import chunks, entry, rank, row_of
from genbayes.distribution.tails import Tail, lower_level, tail_cdf, tail_ppf, upper_level

__all__ = ["Knots"]

Segment = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


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
