"""Distributions given by a table of quantiles, as the network returns them (paper section 3).

Crossings are removed once, in the constructor, and everything afterwards reads the same rearranged function: linear
between the levels, exponential beyond them, cut off at the bounds of the support. Every method is in closed form:
`piecewise` looks up, inverts and integrates.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import BoolArray, FloatArray, IntArray
from genbayes.distribution import piecewise
from genbayes.distribution.base import PredictiveDistribution
from genbayes.distribution.piecewise import Knots, tail_slope
from genbayes.distribution.rowwise import chunks, rank, row_of
from genbayes.errors import InvalidInput
from genbayes.validation import check_array, describe_rows

# Steps of 1/40 are finer than the fastest cosine of a quantile network's embedding of tau, cos(31 pi tau), whose half
# wave is 1/31; beyond the last of them, where quantiles bend, there are a few more. Between the levels a table is
# linear, beyond them its tails are exponential, so a quantile never depends on what else was asked.
TAIL_LEVELS = (0.001, 0.0025, 0.005, 0.01, 0.0175)
N_TAIL = len(TAIL_LEVELS)
GRID: FloatArray = np.concatenate([TAIL_LEVELS, np.arange(1, 40) / 40, 1 - np.array(TAIL_LEVELS[::-1])])


Support = tuple[float | None, float | None]
FAR_TAIL = np.array([0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-7, 1e-9, 1e-12])  # shares of a tail, for quadrature


class QuantileFunction(PredictiveDistribution):
    """Distributions given by quantiles at some levels; linear between them, exponential beyond.

    A row whose quantiles cross is sorted, which brings it no further from the true quantiles (rearrangement;
    Chernozhukov, Fernandez-Val and Galichon 2010). Below the first level u_1 with quantile z_1 the distribution goes on
    as Q(u) = z_1 + s log(u / u_1), above the last one as its mirror image; the slope s is read off the table (see
    `tail_slope`). Equal quantiles are an atom; a row of equal quantiles is a point mass.

    Args:
        levels: Levels, increasing, strictly between 0 and 1, shape (M,), or (n, M) if each row has its own.
        values: Quantiles at these levels, shape (n, M), M at least 2.
        support: Bounds of the response, either may be None. What lies beyond a bound, in the table or in a tail,
            is moved onto it.

    Example:
        >>> dist = QuantileFunction([0.25, 0.5, 0.75], [[1.0, 2.0, 4.0]])
        >>> dist.ppf([0.5, 0.625]), dist.cdf(3.0)
        (array([[2., 3.]]), array([0.625]))
    """

    _knots: Knots

    def __init__(self, levels: ArrayLike, values: ArrayLike, support: Support = (None, None)) -> None:
        values = check_array(values, "values", "(n, M)")
        levels = _check_levels(levels, values.shape)
        bounds = _check_support(support)
        values = np.clip(_rearranged(values), *bounds)
        slopes = tail_slope(levels, values), tail_slope(1 - levels[:, ::-1], -values[:, ::-1])
        self._knots = Knots.build(levels, values, slopes, bounds)

    def __len__(self) -> int:
        return len(self._knots.values)

    def __repr__(self) -> str:
        return f"QuantileFunction(n={len(self)}, n_levels={self._knots.values.shape[1]})"

    @property
    def levels(self) -> FloatArray:
        """Levels of the knots, (M,), or (n, M) if each row has its own; read-only."""
        return self._knots.levels[0] if len(self._knots.levels) == 1 else self._knots.levels

    @property
    def values(self) -> FloatArray:
        """Quantiles at the knots after rearrangement, shape (n, M); read-only."""
        return self._knots.values

    @property
    def support(self) -> tuple[float, float]:
        """Bounds of the response, infinite where there is none."""
        return self._knots.lower.bound, -self._knots.upper.bound

    def mean(self) -> FloatArray:
        """Means, exact, shape (n,)."""
        return self._by_rows(lambda knots, rows: piecewise.moments(knots)[0])

    def var(self) -> FloatArray:
        """Variances, exact, shape (n,)."""
        return self._by_rows(lambda knots, rows: piecewise.moments(knots)[1])

    def _take(self, rows: IntArray) -> Self:
        part = copy.copy(self)
        part._knots = self._knots.at(rows)
        return part

    def _ppf(self, U: FloatArray) -> FloatArray:
        return self._knots.ppf(U)

    def _cdf(self, Y: FloatArray) -> FloatArray:
        return self._by_points(Knots.cdf, Y)

    def _cdf_at(self, rows: IntArray, y: FloatArray) -> FloatArray:
        return self._knots.level(rows, y, rank(self._knots.values, rows, y, "right"), before=False)

    def _pdf(self, Y: FloatArray) -> FloatArray:
        return self._by_points(Knots.pdf, Y)

    def _mass(self, Y: FloatArray) -> FloatArray:
        return self._by_points(Knots.mass, Y)

    def _crps(self, y: FloatArray) -> FloatArray:
        return self._by_rows(lambda knots, rows: piecewise.crps(knots, y[rows]))

    def _by_rows(self, value: Callable[[Knots, slice], FloatArray]) -> FloatArray:
        """One value per row, some rows at a time: tables as large as that of the knots come and go."""
        n, M = self._knots.values.shape
        parts = [value(self._knots.at(rows), rows) for rows in chunks(n, M)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _by_points(self, read: Callable[[Knots, IntArray, FloatArray], FloatArray], Y: FloatArray) -> FloatArray:
        """One value per point of Y (n, j), some rows at a time."""
        values = np.empty(Y.shape)
        for rows in chunks(*Y.shape):
            y = Y[rows]
            values[rows] = read(self._knots.at(rows), row_of(y.shape), y.ravel()).reshape(y.shape)
        return values

    def _breakpoints(self) -> FloatArray:
        return self._knots.values_with_tails(FAR_TAIL)


def _rearranged(values: FloatArray) -> FloatArray:
    """Each row in increasing order; most rows are already, so only those that cross are sorted."""
    crosses = (values[:, 1:] < values[:, :-1]).any(axis=1)
    if crosses.any():
        values = values.copy()
        values[crosses] = np.sort(values[crosses], axis=1)
    return values


def _check_levels(levels: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    """Levels as a table (1, M) or (n, M), strictly increasing within (0, 1), that fits values of this shape."""
    table = np.array(check_array(levels, "levels", "(n, M)" if np.ndim(levels) == 2 else "(M,)"), ndmin=2)
    if table.shape not in ((1, shape[1]), shape) or shape[1] < 2:
        rule = f"have shape ({shape[1]},) or {shape}, as values have, with at least 2 levels"
        raise InvalidInput(f"levels must {rule}, got {np.shape(levels)}")
    if not ((table > 0) & (table < 1)).all():
        outside = table[~((table > 0) & (table < 1))]
        raise InvalidInput(f"levels must lie strictly between 0 and 1, got {float(outside[0])!r}")
    falls: BoolArray = np.any(np.diff(table, axis=1) <= 0, axis=1)
    if falls.any():
        raise InvalidInput(f"levels must increase strictly along a row, got {describe_rows(falls)} that do not")
    return table


def _check_support(support: Support) -> tuple[float, float]:
    """Bounds with infinity for None."""
    try:
        low, high = support
        low = -np.inf if low is None else float(low)
        high = np.inf if high is None else float(high)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"support must be two numbers or None, as in (0, None), got {support!r}") from error
    if not low < high:
        raise InvalidInput(f"support must have its lower bound below its upper one, got {support!r}")
    return low, high
