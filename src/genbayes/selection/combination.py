"""Combination: fitted models joined with weights, and the law they give together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.distribution import Mixture, Normal, PredictiveDistribution, QuantileFunction
from genbayes.distribution.levels import GRID
from genbayes.errors import InvalidInput
from genbayes.models.protocols import Predicts, gives_mean
from genbayes.scaling import Bounds

__all__ = ["Combination"]


@dataclass(frozen=True)
class Combination:
    """Models and how they are joined.

    Attributes:
        kind: "single", "average" of quantiles, or "pool" of distributions.
        models: The fitted models, K of them.
        weights: Their weights, positive, summing to 1, shape (K,).
        bounds: Bounds that no law leaves.
    """

    kind: Literal["single", "average", "pool"]
    models: tuple[Predicts, ...]
    weights: FloatArray
    bounds: Bounds = (None, None)

    def law(self, X: FloatArray) -> PredictiveDistribution:
        """The law of a new run at each row of X, shape (n, d)."""
        laws: list[PredictiveDistribution] = [model.predict_distribution(X) for model in self.models]
        if len(laws) == 1 and self.bounds == (None, None):
            return laws[0]
        if self.kind == "average":
            return self._table(sum(w * law.ppf(GRID) for w, law in zip(self.weights, laws, strict=True)))
        pooled = laws[0] if len(laws) == 1 else Mixture(laws, self.weights)
        return pooled if self.bounds == (None, None) else self._table(pooled.ppf(GRID))

    def law_of_mean(self, X: FloatArray) -> PredictiveDistribution:
        """What the models know of E[y | x], those that know it, with their weights."""
        laws, weights = [], []
        for model, weight in zip(self.models, self.weights, strict=True):
            if gives_mean(model):
                laws.append(model.predict_distribution(X, of="mean"))
                weights.append(float(weight))
        if not laws:
            raise InvalidInput("of must be 'run', got 'mean'; no chosen model tells its own ignorance from noise")
        joined = self._join_means(laws, np.array(weights) / sum(weights))
        return joined if self.bounds == (None, None) else self._table(joined.ppf(GRID))

    def _join_means(self, laws: Sequence[PredictiveDistribution], share: FloatArray) -> PredictiveDistribution:
        if self.kind == "average":
            mean = np.tensordot(share, [law.mean() for law in laws], axes=1)
            sd = np.tensordot(share, [law.std() for law in laws], axes=1)
            return Normal(loc=mean, scale=sd)
        return laws[0] if len(laws) == 1 else Mixture(laws, share)

    def _table(self, q: Any) -> QuantileFunction:
        return QuantileFunction(GRID, np.asarray(q), support=self.bounds)
