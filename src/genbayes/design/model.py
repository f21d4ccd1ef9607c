"""DesignModel: what choosing the next runs needs of a model beyond its predictions.

It is told more runs again and again and must be quick about it; it knows how inputs hang together, so that a run here
says something of there; and it can imagine runs that are still out. Inputs are points of a cube, categories as
columns of zeros and ones (`proposer` sees to that). A Gaussian process and ensembles of networks implement it.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Literal, Self

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.distribution import PredictiveDistribution, Predictor

__all__ = ["DesignModel", "Of"]

Of = Literal["run", "mean"]


class DesignModel(Predictor):
    """A model that runs are chosen by."""

    @abstractmethod
    def fit(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Self:
        """Learn from runs, (n, p) and (n,), from scratch."""

    @abstractmethod
    def update(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Self:
        """Learn from all runs so far, those of the last call first, from where that call ended; cheap."""

    @abstractmethod
    def predict_distribution(self, X: Any, of: Of = "run") -> PredictiveDistribution:
        """The law of a new run at each row of X, shape (n, p); with "mean" what is known of E[y | x]."""

    @abstractmethod
    def variance_reduction(self, X: FloatArray, reference: FloatArray) -> FloatArray:
        """How much a run at each row of X lowers the mean variance over reference inputs, (n, p), (r, p) -> (n,)."""

    @abstractmethod
    def draw_path(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One function that the model holds possible, at all rows jointly, (n, p) -> (n,)."""

    @abstractmethod
    def imagine(self, X: FloatArray) -> DesignModel:
        """A copy that takes runs at X, shape (q, p), for done, with the responses it expects of them."""

    @abstractmethod
    def score_unseen(self) -> FloatArray:
        """CRPS of each run as predicted without having seen it, NaN where the model cannot tell, shape (n,)."""
