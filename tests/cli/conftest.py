"""A small stand-in for a surrogate, so that commands are tested without training."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import pytest

import genbayes
from genbayes.distribution import Normal


class Bell:
    """Answers the same Gaussian everywhere; remembers how it was made and fitted."""

    made: ClassVar[list[Bell]] = []

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.made.append(self)

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Self:
        self.feature_names_in_ = np.array(X.columns, dtype=object)
        self.n, self.loc, self.scale = len(y), float(np.mean(y)), float(np.std(y))
        self.largest = float(X.select_dtypes("number").to_numpy().max())
        return self

    def predict_distribution(self, X: pd.DataFrame) -> Normal:
        return Normal(loc=np.full(len(X), self.loc), scale=np.full(len(X), self.scale))

    def predict_quantiles(self, X: pd.DataFrame, tau: list[float]) -> np.ndarray:
        return self.predict_distribution(X).ppf(tau)

    def extrapolates(self, X: pd.DataFrame) -> np.ndarray:
        return (X.select_dtypes("number").to_numpy() > self.largest).any(axis=1)

    def summary(self) -> dict[str, str]:
        return {"members": str(self.settings.get("n_members", 1))}

    def save(self, path: Path) -> None:
        Path(path).write_text("a model")


@pytest.fixture
def bell(monkeypatch: pytest.MonkeyPatch) -> type[Bell]:
    """Every new surrogate is a `Bell`, and every model file holds one fitted to x = 0, 1, ..., 9."""
    monkeypatch.setattr(Bell, "made", [])
    x = np.arange(10.0)
    fitted = Bell().fit(pd.DataFrame({"x": x}), x)
    Bell.made.clear()
    monkeypatch.setitem(vars(genbayes), "QuantileSurrogate", Bell)  # found before the lazy import of the real one
    monkeypatch.setitem(vars(genbayes), "load", lambda path: fitted)
    return Bell


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Twenty runs with two inputs."""
    path = tmp_path / "runs.csv"
    x = np.linspace(0, 9, 20)
    pd.DataFrame({"x": x, "gas": ["O2", "He"] * 10, "y": x**2}).to_csv(path, index=False)
    return path
