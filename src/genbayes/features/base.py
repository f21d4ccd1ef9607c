"""FeatureMap: the interface of z = T(x), paper Definition 1.

A map may look at the responses while it is fitted, so `fit_transform` must return honest features: for a training
row, what the map would have said of it had it not seen that row's response. The first d columns of z are x. A map that
splits the runs into regimes may say more: what a model should learn from, and how its answers under each are to be
mixed (`models.protocols.SplitsRegimes`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from sklearn.base import BaseEstimator

from genbayes.arrays import FloatArray
from genbayes.data.dataset import Dataset
from genbayes.persistence import State

__all__ = ["FeatureMap"]


class FeatureMap(BaseEstimator, ABC):
    """T(x): inputs followed by columns that the map adds."""

    @abstractmethod
    def fit_transform(self, data: Dataset, rng: np.random.Generator) -> FloatArray:
        """Learn from the runs and return their features, shape (n, p), p >= d."""

    @abstractmethod
    def transform(self, X: FloatArray) -> FloatArray:
        """Features of new inputs, (n, d) -> (n, p)."""

    @abstractmethod
    def to_state(self) -> State:
        """What a fitted map keeps."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: State) -> FeatureMap:
        """The map that `to_state` described."""
