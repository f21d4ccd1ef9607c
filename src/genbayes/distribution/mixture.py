"""Mixture: the pool of several laws of any kind, F = sum_k w_k F_k.

Ensemble members given by quantile tables pool faster, into one table, with `pool_quantile_functions`.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import BoolArray, FloatArray, IntArray
from genbayes.distribution.base import PredictiveDistribution
from genbayes.distribution.normal import Normal, mean_absolute_normal
from genbayes.distribution.quadrature import crps_on_panels
from genbayes.distribution.rounding import largest_where
from genbayes.distribution.search import row_chunks
from genbayes.errors import InvalidInput
from genbayes.validation import check_array

__all__ = ["Mixture", "check_members"]

Law = TypeVar("Law", bound=PredictiveDistribution)

SECANT_STEPS = 12  # enough to reach rounding error on a smooth cdf; exact stepping finishes the rest


class Mixture(PredictiveDistribution):
    """Mixtures of laws, row by row: with probability w_k the k-th component.

    F(y) = sum_k w_k F_k(y); mean and variance by the laws of total mean and variance; Q by inverting F between the
    smallest and the largest Q_k. The CRPS of normal components is in closed form (Grimit et al. 2006); that of
    other kinds is integrated between the points where F has kinks.

    Args:
        components: Distributions with the same number of rows.
        weights: One weight per component, zero or positive, shared by all rows; equal if left out.

    Example:
        >>> Mixture([Normal(0.0, 1.0), Normal(4.0, 1.0)], weights=[0.25, 0.75]).mean()
        array([3.])
    """

    def __init__(self, components: Sequence[PredictiveDistribution], weights: ArrayLike | None = None) -> None:
        self._components, self._weights = check_members(components, weights, PredictiveDistribution)

    def __len__(self) -> int:
        return len(self._components[0])

    def __repr__(self) -> str:
        return f"Mixture(n={len(self)}, n_components={len(self._components)})"

    def _take(self, rows: IntArray) -> Self:
        part = copy.copy(self)
        part._components = [component._take(rows) for component in self._components]
        return part

    def mean(self) -> FloatArray:
        """Means sum_k w_k mean_k, shape (n,)."""
        return self._average(lambda law: law.mean())

    def var(self) -> FloatArray:
        """Variances sum_k w_k (var_k + (mean_k - mean)^2), shape (n,)."""
        mean = self.mean()
        return self._average(lambda law: law.var() + (law.mean() - mean) ** 2)

    def _average(self, value: Callable[[PredictiveDistribution], FloatArray]) -> FloatArray:
        """Weighted mean of a value of the components; where all agree on 1 it is exactly 1."""
        total = sum(w * value(law) for w, law in zip(self._weights, self._components, strict=True))
        average: FloatArray = total / sum(self._weights)
        return average

    def _cdf(self, Y: FloatArray) -> FloatArray:
        return self._average(lambda law: law._cdf_rough(Y))

    def _mass(self, Y: FloatArray) -> FloatArray:
        return self._average(lambda law: law._mass(Y))

    def _pdf(self, Y: FloatArray) -> FloatArray:
        return self._average(lambda law: law._pdf(Y))

    def _ppf(self, U: FloatArray) -> FloatArray:
        n, j = len(self), U.shape[1]
        q = np.empty((n, j))
        for rows in row_chunks(n, j):
            part = self._take(np.arange(rows.start, rows.stop))
            q[rows] = part._invert(np.broadcast_to(U if len(U) == 1 else U[rows], (len(part), j)))
        return q

    def _invert(self, U: FloatArray) -> FloatArray:
        """Smallest float y with F(y) >= u, within the range of the components' quantiles."""
        Q = [law._ppf(U) for law in self._components]
        low, high = np.minimum.reduce(Q), np.maximum.reduce(Q)
        guess = _secant(lambda Y: self._cdf(Y) - U, low, high)
        u, Y = U.ravel(), guess.copy()

        def falls_short(k: IntArray, y: FloatArray) -> BoolArray:
            Y.ravel()[k] = y
            rows, r = np.unique(k // U.shape[1], return_inverse=True)  # only rows with work left
            F = self._take(rows)._cdf(Y[rows])
            short: BoolArray = F[r, k % U.shape[1]] < u[k]
            return short

        below = np.nextafter(low, -np.inf)
        y = largest_where(falls_short, below.ravel(), high.ravel(), guess.ravel())
        return np.nextafter(y, np.inf).reshape(U.shape)

    def _sample(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        K = len(self._components)
        choice = rng.choice(K, size=(len(self), n_samples), p=np.divide(self._weights, sum(self._weights)))
        draws = np.empty(choice.shape)
        for k, law in enumerate(self._components):
            chosen = choice == k
            count = chosen.sum(axis=1)
            pool = law._sample(int(count.max(initial=1)), rng)  # one width for all rows; each uses its first `count`
            draws[chosen] = pool[np.arange(pool.shape[1]) < count[:, None]]
        return draws

    def _crps(self, y: FloatArray) -> FloatArray:
        if all(isinstance(law, Normal) for law in self._components):
            return self._crps_of_normals(y)
        scores = np.empty(len(y))
        breakpoints = self._breakpoints()
        for rows in row_chunks(len(y), 8 * breakpoints.shape[1]):
            part = self._take(np.arange(rows.start, rows.stop))
            scores[rows] = crps_on_panels(part._cdf, breakpoints[rows], y[rows])
        return scores

    def _crps_of_normals(self, y: FloatArray) -> FloatArray:
        """E|Y - y| - E|Y - Y'| / 2, where differences of normals are normal."""

        def spread(law: PredictiveDistribution) -> FloatArray:
            """E|Y_k - Y'|, Y_k from this component and Y' from the mixture."""
            return self._average(
                lambda other: mean_absolute_normal(law.mean() - other.mean(), np.hypot(law.std(), other.std()))
            )

        return self._average(lambda law: mean_absolute_normal(y - law.mean(), law.std()) - spread(law) / 2)

    def _breakpoints(self) -> FloatArray:
        return np.concatenate([law._breakpoints() for law in self._components], axis=1)


def check_members(members: Sequence[Law], weights: ArrayLike | None, kind: type[Law]) -> tuple[list[Law], list[float]]:
    """Laws of one kind and length with positive weights; those of weight zero are left out."""
    members = list(members)
    if not members or not all(isinstance(law, kind) for law in members):
        got = ", ".join(type(law).__name__ for law in members) or "none"
        raise InvalidInput(f"components must be one or more of {kind.__name__}, got {got}")
    if len({len(law) for law in members}) > 1:
        raise InvalidInput(f"components must have the same number of rows, got {[len(law) for law in members]}")
    w = np.ones(len(members)) if weights is None else check_array(weights, "weights", "(K,)")
    if w.shape != (len(members),) or (w < 0).any() or not w.any():
        raise InvalidInput(
            f"weights must be {len(members)} numbers, none negative and not all zero, got {np.asarray(weights).tolist()}"
        )
    kept = np.flatnonzero(w)
    return [members[k] for k in kept], [float(w[k]) for k in kept]


def _secant(g: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray) -> FloatArray:
    """Root of a non-decreasing g between low and high, elementwise, after a few Illinois steps (Dowell, Jarratt 1971).

    An end that stays twice in a row has its value halved, so that the other end must move too.
    """
    a, b, g_a, g_b = low, high, g(low), g(high)
    last = np.zeros(low.shape)
    c = low
    for _ in range(SECANT_STEPS):
        rise = g_b - g_a
        c = np.clip(b - (b - a) * np.divide(g_b, rise, out=np.full(rise.shape, 0.5), where=rise > 0), a, b)
        g_c = g(c)
        left = g_c < 0
        g_a, g_b = (
            np.where(left, g_c, np.where(last > 0, g_a / 2, g_a)),
            np.where(left, np.where(last < 0, g_b / 2, g_b), g_c),
        )
        a, b, last = np.where(left, c, a), np.where(left, b, c), np.where(left, -1.0, 1.0)
    return c
