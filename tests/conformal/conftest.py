"""Models that are instant to fit, wrong by as much as a test likes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from genbayes import Normal
from genbayes.models.base import Surrogate


class WrongNormal(BaseEstimator, Surrogate):
    """Claims N(2 x + bias, (scale (1 + x^2))^2) of runs that are N(x, (1 + x)^2); learns nothing from them."""

    def __init__(self, bias: float = 1.0, scale: float = 0.3, random_state: Any = None) -> None:
        self.bias = bias
        self.scale = scale
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> "WrongNormal":
        self.n_learnt_ = len(y)
        return self

    def predict_distribution(self, X: Any) -> Normal:
        x = np.asarray(X)[:, 0]
        return Normal(2 * x + self.bias, self.scale * (1 + x**2))


@pytest.fixture(scope="session")
def wrong() -> type[WrongNormal]:
    return WrongNormal


@pytest.fixture(scope="session")
def draw() -> Callable[[int, np.random.Generator], tuple[np.ndarray, np.ndarray]]:
    def draw_runs(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.uniform(size=(n, 1))
        return X, X[:, 0] + (1 + X[:, 0]) * rng.standard_normal(n)

    return draw_runs
