"""A small stand-in for a surrogate, so that commands are tested without training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import pytest

import genbayes
from genbayes.auto import Entry, SelectionReport
from genbayes.distribution import Normal
from genbayes.models import registry


class Bell:
    """Answers the same Gaussian everywhere; remembers how it was made and fitted. It takes what a network takes."""

    fitted: ClassVar[list[Bell]] = []
    takes: ClassVar[set[str]] = {"n_members", "recipe", "weights", "n_epochs"}

    def __init__(self, **settings: Any) -> None:
        self.settings = settings

    def get_params(self, deep: bool) -> dict[str, Any]:
        return dict.fromkeys(self.takes | {"categorical", "y_bounds", "random_state", "verbose"}) | self.settings

    def set_params(self, **settings: Any) -> Self:
        self.settings |= {name: value for name, value in settings.items() if value not in (None, (None, None))}
        return self

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> Self:
        self.fitted.append(self)
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


class AutomaticBell(Bell):
    """Takes what the automatic choice takes, and says what it chose."""

    takes: ClassVar[set[str]] = {"time_limit", "candidates", "n_jobs"}
    report_ = SelectionReport(
        entries=(Entry("bell", "bell curve", 2.0, 0.1, 90, 0.0, 0.0, 0.1, 1.0),),
        kind="single",
        crps=2.0,
        crps_se=0.1,
        n_scored=90,
        reason="The bell curve did best.",
        trust="",
        diagnostics={"intervals": {"nominal": [0.5, 0.9], "share": [0.4, 0.88]}},
    )


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every model file holds a `Bell` fitted to x = 0, 1, ..., 9."""
    x = np.arange(10.0)
    model = Bell().fit(pd.DataFrame({"x": x}), x)
    monkeypatch.setattr(Bell, "fitted", [])
    monkeypatch.setitem(vars(genbayes), "load", lambda path: model)  # found before the lazy import of the real one


@pytest.fixture
def bell(loaded: None, monkeypatch: pytest.MonkeyPatch) -> type[Bell]:
    """The network and the automatic choice are `Bell`s too."""
    for name, home in (("network", Bell), ("auto", AutomaticBell)):
        monkeypatch.setitem(registry._models, name, replace(registry._models[name], home=home))
    return Bell


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Twenty runs with two inputs."""
    path = tmp_path / "runs.csv"
    x = np.linspace(0, 9, 20)
    pd.DataFrame({"x": x, "gas": ["O2", "He"] * 10, "y": x**2}).to_csv(path, index=False)
    return path
