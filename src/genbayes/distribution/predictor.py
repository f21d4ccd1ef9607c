"""Predictor: what surrogates, baselines and calibrated models all offer; a new model writes `predict_distribution`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Literal, overload

from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.distribution.base import PredictiveDistribution
from genbayes.seeding import RandomState

__all__ = ["Predictor"]


class Predictor(ABC):
    """A fitted model that answers any question about the response at new inputs with one law per row."""

    @abstractmethod
    def predict_distribution(self, X: Any) -> PredictiveDistribution:
        """The law of a new run at each row of X, shape (n, d)."""

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> FloatArray: ...

    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[FloatArray, FloatArray]: ...

    def predict(self, X: Any, return_std: bool = False) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Predictive mean, shape (n,); with `return_std` also the standard deviation."""
        law = self.predict_distribution(X)
        return (law.mean(), law.std()) if return_std else law.mean()

    def predict_quantiles(self, X: Any, tau: ArrayLike) -> FloatArray:
        """Quantiles at levels tau: a scalar gives (n,), m levels give (n, m)."""
        return self.predict_distribution(X).ppf(tau)

    def predict_interval(self, X: Any, level: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Lower and upper end of the central interval, each (n,)."""
        return self.predict_distribution(X).interval(level)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: RandomState = None) -> FloatArray:
        """Draws of a new run at each row, shape (n, n_samples)."""
        return self.predict_distribution(X).sample(n_samples, random_state=random_state)
