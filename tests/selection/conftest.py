"""Models that are instant to fit, and right, wrong, slow or broken as a test likes."""

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from genbayes import Normal
from genbayes.deadline import require_time
from genbayes.distribution import Predictor


class Bell(BaseEstimator, Predictor):
    """Says N(slope x + shift, scale^2) everywhere; remembers what it was given, in order."""

    def __init__(self, shift: float = 0.0, scale: float = 1.0, slope: float = 0.0, random_state: Any = None) -> None:
        self.shift = shift
        self.scale = scale
        self.slope = slope
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Bell":
        self.X_, self.y_, self.weight_ = X, y, sample_weight
        return self

    def predict_distribution(self, X: Any, of: str = "run") -> Normal:
        scale = self.scale if of == "run" else self.scale / 2
        return Normal(self.slope * np.asarray(X)[:, 0] + self.shift, scale)


class Mean(Bell):
    """Says N(mean of y, variance of y), so that what it has learnt from shows."""

    def predict_distribution(self, X: Any, of: str = "run") -> Normal:
        loc, scale = np.average(self.y_, weights=self.weight_), np.std(self.y_)
        return Normal(np.full(len(X), loc), scale)


class Broken(Bell):
    """Fails in `fit` from the n-th row on, so that it may pass folds and fail on all rows, or always."""

    def __init__(self, n_rows: int = 0, random_state: Any = None) -> None:
        super().__init__()
        self.n_rows = n_rows
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Broken":
        if len(y) >= self.n_rows:
            raise RuntimeError("the oven is cold\nand dark")
        return super().fit(X, y, sample_weight)


class Endless(Bell):
    """Its predictions are not finite."""

    def predict_distribution(self, X: Any, of: str = "run") -> Any:
        return SimpleNamespace(ppf=lambda tau: np.full((len(X), len(tau)), np.nan))


class Slow(Bell):
    """Takes its time, asking now and then whether there is any left."""

    def __init__(self, seconds: float = 60.0, shift: float = 0.0, random_state: Any = None) -> None:
        super().__init__(shift)
        self.seconds = seconds
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Slow":
        end = time.perf_counter() + self.seconds
        while time.perf_counter() < end:
            require_time()
            time.sleep(0.002)
        return super().fit(X, y, sample_weight)


@pytest.fixture(scope="session")
def fakes() -> SimpleNamespace:
    return SimpleNamespace(Bell=Bell, Mean=Mean, Broken=Broken, Endless=Endless, Slow=Slow)
