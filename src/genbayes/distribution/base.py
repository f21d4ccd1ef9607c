"""PredictiveDistribution: one distribution per row, read through its quantile function (paper section 3.1).

A kind of distribution writes `_ppf`, `__len__` and `_take`; everything else is derived here, deterministically, and a
kind overrides what it knows in closed form. Public methods check and shape; protected ones compute on tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from genbayes import metrics
from genbayes.arrays import BoolArray, FloatArray, IntArray
from genbayes.distribution import quadrature
from genbayes.distribution.rounding import LARGEST, LARGEST_LEVEL, SMALLEST_LEVEL, largest_where
from genbayes.distribution.rowwise import row_of
from genbayes.errors import InvalidInput
from genbayes.seeding import RandomState, as_generator
from genbayes.validation import check_column, check_count, check_level, check_targets, check_tau

if TYPE_CHECKING:
    from matplotlib.axes import Axes


FARTHEST = LARGEST / 2  # an infinite threshold is read here, where differences do not overflow
STEP = 1e-5  # of the difference quotient behind the derived density: cube root of the rounding error


class PredictiveDistribution(ABC):
    """One distribution per row; what every model's `predict_distribution` returns.

    All methods read the same distribution: `ppf(u) <= y` exactly when `u <= cdf(y)`, to the last bit for tables and
    draws, up to rounding of a smooth cdf for normal distributions and mixtures. A quantile depends neither on the other
    levels asked for nor on the other rows. Everything but `sample` is deterministic. Distributions do not change once
    made.

    Example:
        >>> from genbayes.distribution import Normal
        >>> dist = Normal(loc=[0.0, 10.0], scale=[1.0, 2.0])
        >>> dist.ppf([0.05, 0.5, 0.95]).round(2)  # (n, m)
        array([[-1.64,  0.  ,  1.64],
               [ 6.71, 10.  , 13.29]])
        >>> (1 - dist.cdf([[3.0, 12.0]])).round(3)  # chance of exceeding each of two thresholds, (n, j)
        array([[0.001, 0.   ],
               [1.   , 0.159]])
        >>> dist[1].interval(level=0.9)[1].round(2), dist.crps([0.0, 9.0]).round(3)
        (array([13.29]), array([0.234, 0.663]))
        >>> dist.sample(100, random_state=0).shape
        (2, 100)
    """

    @abstractmethod
    def __len__(self) -> int:
        """Number of rows n."""

    @abstractmethod
    def _ppf(self, U: FloatArray) -> FloatArray:
        """Quantiles (n, j) at levels U of shape (n, j), or (1, j) where all rows share them; non-decreasing in U."""

    @abstractmethod
    def _take(self, rows: IntArray) -> Self:
        """The distributions of these rows, in this order."""

    def __getitem__(self, rows: SupportsIndex | slice | Sequence[int] | IntArray | BoolArray) -> Self:
        """Some rows: a number (one row), a slice, a mask or an index array."""
        if isinstance(rows, Sequence) and not isinstance(rows, tuple):  # a tuple would be several indices
            rows = np.asarray(rows, dtype=None if len(rows) else np.int64)  # an empty list would turn into floats
        index = np.atleast_1d(np.arange(len(self))[rows])
        if index.ndim > 1:
            raise IndexError(f"rows must be given by one index, a mask or a vector of indices, got shape {index.shape}")
        return self._take(index)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={len(self)})"

    def ppf(self, tau: ArrayLike) -> FloatArray:
        """Quantiles inf{y: F(y) >= tau}.

        Args:
            tau: One level strictly between 0 and 1, or m of them in any order.

        Returns:
            Shape (n,) for one level, (n, m) for a vector; never decreasing in tau.
        """
        tau = check_tau(tau)
        q = self._ppf(tau.reshape(1, -1))
        return q if tau.ndim else q[:, 0]

    def cdf(self, y: ArrayLike) -> FloatArray:
        """Probabilities F(y) = P(Y <= y); `1 - cdf` is the chance of exceeding a threshold.

        Args:
            y: A number, one per row (n,), or a table (n, j) or (1, j).

        Returns:
            Shape (n,) for a number or (n,), otherwise (n, j).
        """
        Y, shape = self._points(y)
        return self._cdf(Y).reshape(shape)

    def pdf(self, y: ArrayLike) -> FloatArray:
        """Densities f(y), infinite at an atom; shapes as in `cdf`. `NoDensity` for distributions made of draws."""
        Y, shape = self._points(y)
        return self._pdf(Y).reshape(shape)

    def pit(self, y: ArrayLike) -> FloatArray:
        """Probability integral transform F(y) - P(Y = y) / 2 of observations (n,): F(y) wherever there is no atom.

        The middle of the jump keeps the transform deterministic with mean 1/2 under the true distribution, see
        `metrics.pit`.
        """
        Y = check_targets(y, len(self))[:, None]
        return (self._cdf(Y) - 0.5 * self._mass(Y))[:, 0]

    def mean(self) -> FloatArray:
        """Means, integral of Q(u) du, shape (n,)."""
        return quadrature.mean(self._ppf)

    def median(self) -> FloatArray:
        """Medians Q(1/2), shape (n,)."""
        return self.ppf(0.5)

    def var(self) -> FloatArray:
        """Variances, integral of (Q(u) - mean)^2 du, shape (n,)."""
        return quadrature.variance(self._ppf, self.mean())

    def std(self) -> FloatArray:
        """Standard deviations, shape (n,)."""
        return np.sqrt(self.var())

    def interval(self, level: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Central prediction intervals: lower and upper ends Q((1 -+ level) / 2), each (n,)."""
        tail = (1 - check_level(level)) / 2
        lower, upper = self.ppf(np.array([tail, 1 - tail])).T
        return lower.copy(), upper.copy()

    def sample(self, n_samples: int, random_state: RandomState = None) -> FloatArray:
        """Independent draws from each row's distribution, (n, n_samples); the same `random_state`, the same draws."""
        return self._sample(check_count(n_samples, "n_samples"), as_generator(random_state))

    def crps(self, y: ArrayLike) -> FloatArray:
        """Continuous ranked probability scores, integral of (F(z) - 1{z >= y})^2 dz, of observations (n,)."""
        return self._crps(check_targets(y, len(self)))

    def pinball(self, y: ArrayLike, tau: ArrayLike) -> FloatArray:
        """Pinball losses of the quantiles at tau: (n,) for one level, (n, m) for a vector."""
        return metrics.pinball(self.ppf(tau), y, tau)

    def interval_score(self, y: ArrayLike, level: float = 0.9) -> FloatArray:
        """Interval scores of the central intervals at this level, shape (n,)."""
        return metrics.interval_score(*self.interval(level), y, level)

    def plot(
        self,
        x: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        levels: Sequence[float] = (0.5, 0.9),
        ax: Axes | None = None,
        xlabel: str = "row",
        ylabel: str = "y",
    ) -> Axes:
        """Fan chart: the median and central bands of each row along x.

        Args:
            x: Where to draw each row, shape (n,); the row number if left out.
            y: Observations to draw on top, shape (n,).
            levels: Nominal coverages of the bands.
            ax: Matplotlib axis to draw on; a new one if left out.
            xlabel: Text at the horizontal axis.
            ylabel: Text at the vertical axis.

        Returns:
            The Matplotlib axis.
        """
        from genbayes.plotting import plot_fan  # Matplotlib loads only when a picture is asked for

        n = len(self)
        x = np.arange(n, dtype=np.float64) if x is None else check_column(x, "x", n)
        bands = [(level, *self.interval(level)) for level in levels]
        return plot_fan(
            x,
            self.median(),
            bands,
            x_observed=None if y is None else x,
            y_observed=None if y is None else check_targets(y, n),
            ax=ax,
            xlabel=xlabel,
            ylabel=ylabel,
        )

    def _points(self, y: ArrayLike) -> tuple[FloatArray, tuple[int, ...]]:
        """Points where to read cdf or pdf as a table (n, j), and the shape of the answer."""
        n = len(self)
        try:
            Y = np.asarray(y, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"y must be numbers, got {type(y).__name__}") from error
        if not (Y.ndim == 0 or Y.shape == (n,) or (Y.ndim == 2 and Y.shape[0] in (1, n))):
            raise InvalidInput(f"y must be a number or have shape ({n},), ({n}, j) or (1, j), got {Y.shape}")
        if np.isnan(Y).any():
            raise InvalidInput("y must not be NaN; drop those rows")
        table = np.clip(Y, -FARTHEST, FARTHEST)
        table = table.reshape(-1, 1) if Y.ndim < 2 else table
        table = np.broadcast_to(table, (n, table.shape[1]))
        return table, table.shape if Y.ndim == 2 else (n,)

    def _cdf(self, Y: FloatArray) -> FloatArray:
        """F at Y of shape (n, j): the largest float u with Q(u) <= y; 0 if there is none, 1 if all are."""
        row, y = row_of(Y.shape), Y.ravel()

        def reached(k: IntArray, u: FloatArray) -> BoolArray:
            return self._take(row[k])._ppf(u[:, None])[:, 0] <= y[k]

        u = largest_where(reached, np.zeros(y.shape), np.ones(y.shape), guess=np.full(y.shape, 0.5))
        return np.where(u >= LARGEST_LEVEL, 1.0, u).reshape(Y.shape)

    def _mass(self, Y: FloatArray) -> FloatArray:
        """P(Y = y) at Y of shape (n, j)."""
        return self._cdf(Y) - self._cdf(np.nextafter(Y, -np.inf))

    def _pdf(self, Y: FloatArray) -> FloatArray:
        """Density at Y of shape (n, j): du / dQ over a short step of levels around F(y)."""
        u = self._cdf(Y)
        below = np.clip(u - STEP, SMALLEST_LEVEL, LARGEST_LEVEL)
        above = np.clip(u + STEP, SMALLEST_LEVEL, LARGEST_LEVEL)
        rise = self._ppf(above) - self._ppf(below)
        outside = (u <= 0) | (u >= 1)
        slope = np.divide(above - below, rise, out=np.full_like(rise, np.inf), where=rise > 0)
        return np.where(outside & (self._mass(Y) == 0), 0.0, slope)

    def _sample(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """Inverse transform: Q(U) with U uniform on (0, 1)."""
        return self._ppf(np.maximum(rng.random((len(self), n_samples)), SMALLEST_LEVEL))

    def _crps(self, y: FloatArray) -> FloatArray:
        return quadrature.crps(self._ppf, y, self._cdf(y[:, None])[:, 0])

    def _breakpoints(self) -> FloatArray:
        """Points (n, j), from far tail to far tail, between which F is smooth: where quadrature cuts."""
        return self._ppf(quadrature.PANEL_LEVELS[None, :])

    def _cdf_at(self, rows: IntArray, y: FloatArray) -> FloatArray:
        """F of some rows (N,), repeated or not, at one point each; up to rounding where the last bit has its price."""
        return self._take(rows)._cdf(y[:, None])[:, 0]
