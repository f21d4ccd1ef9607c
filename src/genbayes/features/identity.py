"""T(x) = x, the plain GBC of the paper."""

from __future__ import annotations

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.data.dataset import Dataset
from genbayes.features.base import FeatureMap
from genbayes.persistence import State

__all__ = ["Identity"]


class Identity(FeatureMap):
    """Features are the inputs.

    Example:
        >>> Identity().transform(np.array([[1.0, 2.0]]))
        array([[1., 2.]])
    """

    def fit_transform(self, data: Dataset, rng: np.random.Generator) -> FloatArray:
        """The inputs of the runs, (n, d)."""
        return data.X

    def transform(self, X: FloatArray) -> FloatArray:
        """The inputs themselves."""
        return X

    def to_state(self) -> State:
        """Nothing but its name."""
        return State("Identity")

    @classmethod
    def from_state(cls, state: State) -> Identity:
        """A new one."""
        return cls()
