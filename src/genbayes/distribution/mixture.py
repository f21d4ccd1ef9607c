"""Mixture: several distributions of any kind as one, F = sum_k w_k F_k, the weights shared by all rows or not."""

import copy
from collections.abc import Callable, Sequence
from typing import Self

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


class Mixture(PredictiveDistribution):
    """Mixtures of distributions, row by row: with probability w_k the k-th component.

    F(y) = sum_k w_k F_k(y); mean and variance by the laws of total mean and variance; Q by inverting F between the
    smallest and the largest Q_k. The CRPS of normal components is in closed form (Grimit et al. 2006); that of
    other kinds is integrated between the points where F has kinks.

    Args:
        components: Distributions with the same number of rows.
        weights: Zero or positive; one per component, shared by all rows, shape (K,), or one per row and component,
            shape (n, K), as for a response that jumps between levels; equal if left out.

    Example:
        >>> Mixture([Normal(0.0, 1.0), Normal(4.0, 1.0)], weights=[0.25, 0.75]).mean()
        array([3.])
    """

    def __init__(self, components: Sequence[PredictiveDistribution], weights: ArrayLike | None = None) -> None:
        self._components, self._weights = _check_components(components, weights)

    def __len__(self) -> int:
        return len(self._components[0])

    def __repr__(self) -> str:
        return f"Mixture(n={len(self)}, n_components={len(self._components)})"

    def _take(self, rows: IntArray) -> Self:
        part = copy.copy(self)
        part._components = [component._take(rows) for component in self._components]
        part._weights = [w if isinstance(w, float) else w[rows] for w in self._weights]
        return part

    def mean(self) -> FloatArray:
        """Means sum_k w_k mean_k, shape (n,)."""
        return self._average(lambda part: part.mean())

    def var(self) -> FloatArray:
        """Variances sum_k w_k (var_k + (mean_k - mean)^2), shape (n,)."""
        mean = self.mean()
        with np.errstate(over="ignore", invalid="ignore"):
            variance = self._average(lambda part: part.var() + (part.mean() - mean) ** 2)
        return np.where(np.isnan(variance), np.inf, variance)  # squares of numbers beyond 1e154 overflow

    def _average(
        self, value: Callable[[PredictiveDistribution], FloatArray], rows: IntArray | slice = slice(None)
    ) -> FloatArray:
        """Weighted mean of a value of the components at some rows; where all agree on 1 it is exactly 1."""
        values = [value(component) for component in self._components]
        shape = (-1, *[1] * (values[0].ndim - 1))
        weights = [w if isinstance(w, float) else w[rows].reshape(shape) for w in self._weights]
        first, *others = (w * each for w, each in zip(weights, values, strict=True))
        total: FloatArray = sum(others, start=first)
        return total / sum(weights)

    def _cdf(self, Y: FloatArray) -> FloatArray:
        return self._cdf_at(row_of(Y.shape), Y.ravel()).reshape(Y.shape)

    def _cdf_at(self, rows: IntArray, y: FloatArray) -> FloatArray:
        return self._average(lambda part: part._cdf_at(rows, y), rows)

    def _mass(self, Y: FloatArray) -> FloatArray:
        return self._average(lambda part: part._mass(Y))

    def _pdf(self, Y: FloatArray) -> FloatArray:
        return self._average(lambda part: part._pdf(Y))

    def _ppf(self, U: FloatArray) -> FloatArray:
        Q = [part._ppf(U) for part in self._components]
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
        edge = np.cumsum([np.broadcast_to(w, len(self)) for w in self._weights], axis=0)  # (K, n)
        u = rng.random((len(self), n_samples)) * edge[-1, :, None]
        choice = (u >= edge[:-1, :, None]).sum(axis=0)
        draws = np.empty(choice.shape)
        for k, component in enumerate(self._components):
            chosen = choice == k
            if isinstance(self._weights[k], float):
                count = chosen.sum(axis=1)
                pool = component._sample(
                    int(count.max(initial=1)), rng
                )  # one width for all; each uses its first `count`
                draws[chosen] = pool[np.arange(pool.shape[1]) < count[:, None]]
            else:  # some row is likely to need nearly all
                draws[chosen] = component._sample(n_samples, rng)[chosen]
        return draws

    def _crps(self, y: FloatArray) -> FloatArray:
        if all(isinstance(part, Normal) for part in self._components):
            return self._crps_of_normals(y)
        scores = np.empty(len(y))
        breakpoints = self._breakpoints()
        for rows in chunks(len(y), 8 * breakpoints.shape[1]):
            part = self._take(np.arange(rows.start, rows.stop))
            scores[rows] = crps_on_panels(part._cdf, breakpoints[rows], y[rows])
        return scores

    def _crps_of_normals(self, y: FloatArray) -> FloatArray:
        """E|Y - y| - E|Y - Y'| / 2, where differences of normals are normal."""

        def spread(part: PredictiveDistribution) -> FloatArray:
            """E|Y_k - Y'|, Y_k from this component and Y' from the mixture."""
            return self._average(
                lambda other: mean_absolute_normal(part.mean() - other.mean(), np.hypot(part.std(), other.std()))
            )

        return self._average(lambda part: mean_absolute_normal(y - part.mean(), part.std()) - spread(part) / 2)

    def _breakpoints(self) -> FloatArray:
        return np.concatenate([part._breakpoints() for part in self._components], axis=1)


def _check_components(
    components: Sequence[PredictiveDistribution], weights: ArrayLike | None
) -> tuple[list[PredictiveDistribution], Sequence[float | FloatArray]]:
    """Components of one length and their weights, numbers or (n,) each; those of weight zero are left out."""
    given, rule = list(components), "one or more PredictiveDistribution with the same number of rows"
    if not given or not all(isinstance(each, PredictiveDistribution) for each in given):
        got = ", ".join(type(each).__name__ for each in given) or "none"
        raise InvalidInput(f"components must be {rule}, got {got}")
    if len({len(each) for each in given}) > 1:
        raise InvalidInput(f"components must be {rule}, got {', '.join(str(len(each)) for each in given)} rows")
    n, K = len(given[0]), len(given)
    if weights is not None and np.ndim(weights) == 2:
        W = check_array(weights, "weights", "(n, K)")
        if W.shape != (n, K) or (W < 0).any() or not W.any(axis=1).all():
            rule = f"hold {K} numbers for each of {n} rows, none negative and not all of a row zero"
            raise InvalidInput(f"weights must {rule}, got {W.tolist() if W.size < 20 else W.shape}")
        return given, list(W.T)
    w = np.ones(K) if weights is None else check_array(weights, "weights", "(K,)")
    if w.shape != (K,) or (w < 0).any() or not w.any():
        rule = f"hold {K} numbers, one for each of the components, none negative and not all zero"
        raise InvalidInput(f"weights must {rule}, got {w.tolist()}")
    kept = np.flatnonzero(w)
    return [given[k] for k in kept], [float(w[k]) for k in kept]
