"""Models that are instant to fit, and right, wrong, slow or broken as a test likes."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from genbayes import Normal
from genbayes.deadline import require_time
from genbayes.models.base import Surrogate


class Hands:
    """A clock that moves only when it is told to, so that no test depends on how busy the machine is."""

    def __init__(self) -> None:
        self.time = 0.0

    def turn(self, seconds: float) -> None:
        self.time += seconds

    def read(self) -> float:
        return self.time


HANDS = Hands()


class Bell(BaseEstimator, Surrogate):
    """Says N(slope x + shift, scale^2) everywhere; remembers what it was given, in order."""

    knows_mean = True

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


class Itself(Bell):
    """Tells what it would have said of its own runs."""

    knows_out_of_fold = True

    def predict_out_of_fold(self, X: Any, y: Any) -> tuple[np.ndarray, Normal]:
        return np.arange(len(y)), self.predict_distribution(X)


class Finder(Itself):
    """Has found regimes, as many as it is told."""

    input_scaler_, fingerprint_ = None, ""

    def __init__(self, n_regimes: int = 2, shift: float = 0.0, random_state: Any = None) -> None:
        super().__init__(shift)
        self.n_regimes = n_regimes
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Finder":
        self.regimes_ = Found(self.n_regimes)
        return super().fit(X, y, sample_weight)


class Found:
    """So many regimes."""

    def __init__(self, n: int) -> None:
        self.n, self.is_plain = n, n == 1

    def __len__(self) -> int:
        return self.n


class Builder(Itself):
    """Remembers what it was given to build on."""

    def fit_on(self, base: Any, X: Any, y: Any, sample_weight: Any = None) -> "Builder":
        self.base_ = base
        return self.fit(X, y, sample_weight)


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
    """Takes its time by the hands of the clock, asking now and then whether there is any left."""

    def __init__(self, seconds: float = 60.0, shift: float = 0.0, random_state: Any = None) -> None:
        super().__init__(shift)
        self.seconds = seconds
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Slow":
        end = HANDS.read() + self.seconds
        while HANDS.read() < end:
            HANDS.turn(0.002)
            require_time()
        return super().fit(X, y, sample_weight)


@pytest.fixture(scope="session")
def fakes() -> SimpleNamespace:
    return SimpleNamespace(
        Bell=Bell, Itself=Itself, Finder=Finder, Builder=Builder, Mean=Mean, Broken=Broken, Endless=Endless, Slow=Slow
    )


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Hands:
    """The clock of every deadline and time limit, in the hands of the test."""
    monkeypatch.setattr("genbayes.deadline.now", HANDS.read)
    monkeypatch.setattr("genbayes.auto.candidates.now", HANDS.read)
    monkeypatch.setattr("genbayes.auto.jobs.now", HANDS.read)
    return HANDS
