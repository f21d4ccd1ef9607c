"""Mixture: the pool of several laws of any kind, F = sum_k w_k F_k.

Ensemble members given by quantile tables pool faster, into one table, with `pool_quantile_functions`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray, IntArray
from genbayes.distribution.base import PredictiveDistribution
from genbayes.distribution.normal import Normal, mean_absolute_normal
from genbayes.distribution.quadrature import crps_on_panels
from genbayes.distribution.rounding import largest_where, secant
from genbayes.distribution.rowwise import chunks, row_of
from genbayes.errors import InvalidInput
from genbayes.validation import check_array

Law = TypeVar("Law", bound=PredictiveDistribution)


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
        self._components, self._weights = check_members("components", components, weights, PredictiveDistribution)

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
        first, *others = (w * value(law) for w, law in zip(self._weights, self._components, strict=True))
        total: FloatArray = sum(others, start=first)
        return total / sum(self._weights)

    def _cdf(self, Y: FloatArray) -> FloatArray:
        return self._cdf_at(row_of(Y.shape), Y.ravel()).reshape(Y.shape)

    def _cdf_at(self, rows: IntArray, y: FloatArray) -> FloatArray:
        return self._average(lambda law: law._cdf_at(rows, y))

    def _mass(self, Y: FloatArray) -> FloatArray:
        return self._average(lambda law: law._mass(Y))

    def _pdf(self, Y: FloatArray) -> FloatArray:
        return self._average(lambda law: law._pdf(Y))

    def _ppf(self, U: FloatArray) -> FloatArray:
        Q = [law._ppf(U) for law in self._components]
        low, high = np.minimum.reduce(Q).ravel(), np.maximum.reduce(Q).ravel()
        row, u = row_of(Q[0].shape), np.broadcast_to(U, Q[0].shape).ravel()
        q = np.empty(u.shape)
        for some in chunks(len(q)):
            q[some] = self._invert(row[some], u[some], low[some], high[some])
        return q.reshape(Q[0].shape)

    def _invert(self, row: IntArray, u: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
        """Smallest float y in [low, high] with F(y) >= u, all flat: the float after the largest with F(y) < u."""
        guess = secant(lambda k, y: self._cdf_at(row[k], y) - u[k], low, high)
        below = np.nextafter(low, -np.inf)
        short = largest_where(lambda k, y: self._cdf_at(row[k], y) < u[k], below, high, guess)
        return np.nextafter(short, np.inf)

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
        for rows in chunks(len(y), 8 * breakpoints.shape[1]):
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


def check_members(
    name: str, members: Sequence[Law], weights: ArrayLike | None, kind: type[object]
) -> tuple[list[Law], list[float]]:
    """Laws of one kind and length with positive weights; those of weight zero are left out."""
    laws, rule = list(members), f"one or more {kind.__name__} with the same number of rows"
    if not laws or not all(isinstance(law, kind) for law in laws):
        got = ", ".join(type(law).__name__ for law in laws) or "none"
        raise InvalidInput(f"{name} must be {rule}, got {got}")
    if len({len(law) for law in laws}) > 1:
        raise InvalidInput(f"{name} must be {rule}, got {', '.join(str(len(law)) for law in laws)} rows")
    w = np.ones(len(laws)) if weights is None else check_array(weights, "weights", "(K,)")
    if w.shape != (len(laws),) or (w < 0).any() or not w.any():
        rule = f"hold {len(laws)} numbers, one for each of the {name}, none negative and not all zero"
        raise InvalidInput(f"weights must {rule}, got {w.tolist()}")
    kept = np.flatnonzero(w)
    return [laws[k] for k in kept], [float(w[k]) for k in kept]


class SwitchingNormal(Mixture):
    """Mixtures of k normal laws, each row with weights of its own: F_i(y) = sum_k w_ik Phi((y - loc_ik) / scale_ik).

    Args:
        weight: Probabilities of the components, rows of sum 1, shape (n, k).
        loc: Means, shape (n, k).
        scale: Standard deviations, zero or positive, shape (n, k).

    Example:
        >>> law = SwitchingNormal(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([[0.0, 8.0]] * 2), np.ones((2, 2)))
        >>> law.mean(), law.std().round(2)
        (array([4., 0.]), array([4.12, 1.  ]))
    """

    def __init__(self, weight: FloatArray, loc: FloatArray, scale: FloatArray) -> None:
        components = [Normal(m, s) for m, s in zip(loc.T, scale.T, strict=True)]
        super().__init__(components)
        self._row_weights = weight

    def _take(self, rows: IntArray) -> Self:
        part = super()._take(rows)
        part._row_weights = self._row_weights[rows]
        return part

    def _average(self, value: Callable[[PredictiveDistribution], FloatArray]) -> FloatArray:
        values = [value(law) for law in self._components]
        W = self._row_weights.reshape(*self._row_weights.shape, *[1] * (values[0].ndim - 1))
        first, *others = (W[:, k] * each for k, each in enumerate(values))
        total: FloatArray = sum(others, start=first)
        return total / sum(W[:, k] for k in range(W.shape[1]))  # where all agree on 1 it is exactly 1

    def _cdf_at(self, rows: IntArray, y: FloatArray) -> FloatArray:
        part = self._take(rows)
        return part._average(lambda law: law._cdf(y[:, None])[:, 0])

    def _sample(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        edge = np.cumsum(self._row_weights, axis=1)
        u = rng.random((len(self), n_samples)) * edge[:, -1:]
        choice = (u[:, :, None] >= edge[:, None, :-1]).sum(axis=2)
        draws = np.stack([law._sample(n_samples, rng) for law in self._components], axis=2)
        return np.asarray(np.take_along_axis(draws, choice[:, :, None], axis=2)[:, :, 0])
