"""SwitchingNormal: mixtures of normal laws whose weights change from row to row, for responses that jump.

Where the regime of an input is uncertain, its run lies on one level or the other and hardly ever between them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np

from genbayes.arrays import FloatArray, IntArray
from genbayes.distribution import Mixture, Normal, PredictiveDistribution

__all__ = ["SwitchingNormal"]


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
