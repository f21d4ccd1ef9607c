"""DesignModel: what choosing the next runs needs of a model beyond its predictions.

It is told more runs again and again and must be quick about it; it knows how inputs hang together, so that a run here
says something of there; and it can imagine runs that are still out. Inputs are points of a cube, categories as
columns of zeros and ones (`data.box.encode` sees to that). A Gaussian process and ensembles of networks implement it.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.distribution import PredictiveDistribution
from genbayes.models.base import Surrogate
from genbayes.models.protocols import Of


class DesignModel(Surrogate):
    """A model that runs are chosen by.

    The contract of every method stands here, once: implementations say only how they go about it. It is learnt again
    from the runs of a campaign whenever one is opened, and not saved.
    """

    knows_mean = True

    @abstractmethod
    def fit(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Self:
        """Learn from runs, from scratch.

        Args:
            X: Inputs, shape (n, p).
            y: Their responses, shape (n,).
            rng: The source of all randomness.

        Returns:
            Itself.
        """

    @abstractmethod
    def update(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Self:
        """Learn from all runs so far, from where the last call ended; cheap.

        Args:
            X: Inputs, those of the last call first, shape (n, p).
            y: Their responses, shape (n,).
            rng: The source of all randomness.

        Returns:
            Itself.
        """

    @abstractmethod
    def predict_distribution(self, X: ArrayLike, of: Of = "run") -> PredictiveDistribution:
        """What is predicted at each row of X.

        Args:
            X: Inputs, shape (n, p).
            of: "run" for the distribution of a new run, its noise included; "mean" for what is known of E[y | x].

        Returns:
            n distributions, in units of y.
        """

    @abstractmethod
    def variance_reduction(self, X: FloatArray, reference: FloatArray) -> FloatArray:
        """How much a run at each row of X would lower the mean variance over reference inputs.

        Args:
            X: Inputs of the runs, each alone, shape (n, p).
            reference: Inputs at which predictions matter, shape (r, p).

        Returns:
            Shape (n,), in units of y squared.
        """

    @abstractmethod
    def draw_path(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One function that the model holds possible, at all rows jointly, (n, p) -> (n,)."""

    @abstractmethod
    def imagine(self, X: FloatArray) -> DesignModel:
        """A copy that takes runs at X, shape (q, p), for done, with the responses it expects of them."""

    @abstractmethod
    def score_unseen(self) -> FloatArray:
        """CRPS of each run as predicted without having seen it, NaN where the model cannot tell, shape (n,)."""
