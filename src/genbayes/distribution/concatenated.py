"""Concatenated: distributions of many rows from those of pieces of them, which stay as they are.

A model asked about a million rows answers piece by piece, so that what it computes on the way stays small; here the
pieces become one distribution again, of whatever kind they are. Every question goes to the pieces.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from genbayes.arrays import FloatArray, IntArray
from genbayes.distribution.base import PredictiveDistribution


class Concatenated(PredictiveDistribution):
    """The rows of several distributions, one after another.

    Args:
        parts: One or more distributions.

    Example:
        >>> from genbayes.distribution import Normal
        >>> both = Concatenated([Normal([0.0, 1.0], 1.0), Normal([2.0], 3.0)])
        >>> len(both), both.mean(), both[[2, 0]].std()
        (3, array([0., 1., 2.]), array([3., 1.]))
    """

    def __init__(self, parts: Sequence[PredictiveDistribution]) -> None:
        self.parts = tuple(parts)
        sizes = [len(part) for part in self.parts]
        self._part = np.repeat(np.arange(len(sizes)), sizes)  # of each row
        self._row = np.concatenate([np.arange(size) for size in sizes])  # its number there

    def __len__(self) -> int:
        return len(self._row)

    def _take(self, rows: IntArray) -> Self:
        some = copy.copy(self)
        some._part, some._row = self._part[rows], self._row[rows]
        return some

    def mean(self) -> FloatArray:
        """Means, shape (n,)."""
        return self._by_part(lambda part, rows: part.mean())

    def var(self) -> FloatArray:
        """Variances, shape (n,)."""
        return self._by_part(lambda part, rows: part.var())

    def std(self) -> FloatArray:
        """Standard deviations, shape (n,)."""
        return self._by_part(lambda part, rows: part.std())

    def _ppf(self, U: FloatArray) -> FloatArray:
        return self._by_part(lambda part, rows: part._ppf(U if len(U) == 1 else U[rows]))

    def _cdf(self, Y: FloatArray) -> FloatArray:
        return self._by_part(lambda part, rows: part._cdf(Y[rows]))

    def _mass(self, Y: FloatArray) -> FloatArray:
        return self._by_part(lambda part, rows: part._mass(Y[rows]))

    def _pdf(self, Y: FloatArray) -> FloatArray:
        return self._by_part(lambda part, rows: part._pdf(Y[rows]))

    def _crps(self, y: FloatArray) -> FloatArray:
        return self._by_part(lambda part, rows: part._crps(y[rows]))

    def _sample(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        return self._by_part(lambda part, rows: part._sample(n_samples, rng))

    def _by_part(self, ask: Callable[[PredictiveDistribution, IntArray], FloatArray]) -> FloatArray:
        """What each part answers for its rows, put in their places, (n,) or (n, j)."""
        answer: FloatArray | None = None
        for k, part in enumerate(self.parts):
            rows = np.flatnonzero(self._part == k)
            if len(rows) or k == 0:
                values = ask(part._take(self._row[rows]), rows)
                answer = np.empty((len(self), *values.shape[1:])) if answer is None else answer
                answer[rows] = values
        assert answer is not None
        return answer
