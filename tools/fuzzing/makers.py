"""Small saved models of every registered class: what the fuzzer damages.

Classes are found by the registry. One that fits with the settings of `SMALL` needs nothing here; one that has several
kinds of files, or wants other runs, has a maker in `MAKERS`: a function from the registry's entry to named models.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from genbayes import Box, load
from genbayes.errors import GenBayesError
from genbayes.models.registry import OUR_ESTIMATORS, RegisteredModel, registered_models
from genbayes.persistence import read_state

SMALL: dict[str, Any] = {
    "n_members": 2,
    "n_hidden": 4,
    "n_layers": 2,
    "n_epochs": 2,
    "n_starts": 1,
    "n_trees": 2,
    "n_leaves": 2,
    "n_samples": 3,
    "n_burn_in": 5,
    "thinning": 1,
    "n_inducing": 5,
    "random_state": 0,
}
Named = Iterator[tuple[str, Any]]


def draw_runs(n: int = 40, jump: float = 0.0) -> tuple[pd.DataFrame, np.ndarray]:
    """Runs of two numeric inputs and a category, with a jump in the response where asked for."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"mach": rng.uniform(size=n), "angle": rng.uniform(size=n), "gas": rng.choice(["He", "O2"], n)})
    y = np.sin(3 * X["mach"]) + (X["gas"] == "He") + jump * (X["angle"] > 0.5) + 0.1 * rng.standard_normal(n)
    return X, y.to_numpy()


def small(cls: type, **settings: Any) -> Any:
    """An unfitted model of a class whose fit takes a moment."""
    known = cls().get_params(deep=False)
    given = {**SMALL, "categorical": ["gas"], **settings}
    return cls(**{name: value for name, value in given.items() if name in known})


def make_plain(entry: RegisteredModel) -> Named:
    """What every class can do: one model of mixed columns."""
    yield "", small(entry.load_class()).fit(*draw_runs())


def make_networks(entry: RegisteredModel) -> Named:
    from genbayes.models.regimes import BoundaryFeatures, classifier

    cls, (X, y), (_, high) = entry.load_class(), draw_runs(), draw_runs(jump=9.0)
    many = X.assign(gas=[f"gas {i % 12}" for i in range(len(X))])
    numeric = X[["mach", "angle"]]
    yield "", small(cls).fit(X, y)
    yield "-bounded", small(cls, y_bounds=(-5.0, None), prior_scale=0.5, n_fourier=3, n_layers=1).fit(X, y)
    yield "-embedded", small(cls, y_bounds=(-5.0, 9.0)).fit(many, y)
    yield "-paper", small(cls, recipe="paper", categorical=None).fit(numeric.to_numpy(), y)
    plain = small(cls, features=BoundaryFeatures(), categorical=None)
    yield "-boundary", plain.fit(numeric, high)
    failed = np.where(X["angle"] > 0.7, np.nan, y)
    with patch.object(classifier, "MANY_ROWS", 10):  # so that perceptrons join the committee
        yield "-failures", small(cls, missing="regime", categorical=None).fit(numeric, failed)


def make_stationary(entry: RegisteredModel) -> Named:
    from genbayes.models.gp.stationary import FittedGP

    yield from make_plain(entry)
    large = small(entry.load_class()).fit(*draw_runs())
    gp = large.gp_
    large.gp_ = FittedGP.at(gp.parameters, gp.runs, np.random.default_rng(0), exact_limit=10)
    yield "-large", large


def make_jumps(entry: RegisteredModel) -> Named:
    yield from make_plain(entry)
    X, y = draw_runs(60, jump=9.0)
    yield "-jump", small(entry.load_class(), categorical=None).fit(X[["mach", "angle"]], y)


def make_noise(entry: RegisteredModel) -> Named:
    yield from make_plain(entry)
    X, y = draw_runs(60)
    wild = y + 3 * X["mach"].to_numpy() ** 3 * np.random.default_rng(1).standard_normal(len(y))
    yield "-uneven", small(entry.load_class()).fit(X, wild)


def make_auto(entry: RegisteredModel) -> Named:
    X, y = draw_runs()
    model = entry.load_class()(candidates=["gp"], categorical=["gas"], random_state=0).fit(X, y)
    yield "", model
    joined = model.combination_
    for kind in ("average", "pool"):
        team = {"kind": kind, "models": joined.models * 2, "weights": np.array([0.5, 0.5]), "spread": 1.2}
        model.combination_ = replace(joined, **team)
        yield f"-{kind}", model


def make_conformal(entry: RegisteredModel) -> Named:
    from genbayes.models import StationaryGP

    X, y = draw_runs(60)
    for method in ("split", "cross"):
        model = entry.load_class()(small(StationaryGP), method=method, n_folds=2, level=0.8, random_state=0)
        groups = (X["gas"] if method == "cross" else None,)
        yield f"-{method}", model.fit(X, y, None, *groups)


def make_posteriors(entry: RegisteredModel) -> Named:
    rng = np.random.default_rng(0)
    theta = rng.uniform(-1, 1, (80, 2))
    y = theta + 0.1 * rng.standard_normal((80, 2))
    cls, box = entry.load_class(), Box({"a": (-1, 1), "b": (-1, 1)})
    yield "", cls(box, n_members=1, random_state=0).fit(theta, y)
    yield "-set", cls(box, n_members=1, summary="set", random_state=0).fit(theta, np.stack([y, y + 0.1], axis=1))
    yield "-network", cls(box, n_members=1, summary="network", random_state=0).fit(theta, np.hstack([y] * 8))
    series = theta[:, :1, None] * np.sin(np.arange(12))[:, None] + 0.1 * rng.standard_normal((80, 12, 1))
    yield "-series", cls(box, n_members=1, summary="series", random_state=0).fit(theta, series)
    yield "-paper", cls(Box({"a": (-1, 1)}), recipe="paper", random_state=0).fit(theta[:, :1], y)


MAKERS: dict[str, Callable[[RegisteredModel], Named]] = {
    "QuantileSurrogate": make_networks,
    "StationaryGP": make_stationary,
    "RegimeGP": make_jumps,
    "ModularJumpGP": make_jumps,
    "HeteroskedasticGP": make_noise,
    "AutoSurrogate": make_auto,
    "ConformalSurrogate": make_conformal,
    "PosteriorEstimator": make_posteriors,
}  # by disk name


def all_classes() -> dict[str, RegisteredModel]:
    """One entry for each class that a file may name, by disk name: models, and estimators of other things."""
    others = {name: RegisteredModel(name, name, home, name) for name, home in OUR_ESTIMATORS.items()}
    return {entry.disk_name: entry for entry in registered_models().values()} | others


def make_files(folder: Path, only: str = "") -> list[Path]:
    """Files of every registered class, written unless they are there; those whose names begin with `only`."""
    folder.mkdir(parents=True, exist_ok=True)
    for disk_name, entry in all_classes().items():
        marker = folder / f"{disk_name}.made"
        if not disk_name.startswith(only) or (marker.exists() and _all_load(folder, disk_name)):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for suffix, model in MAKERS.get(disk_name, make_plain)(entry):
                model.save(folder / f"{disk_name}{suffix}.gb")
        marker.touch()
    return sorted(path for path in folder.glob("*.gb") if path.name.startswith(only))


def _all_load(folder: Path, disk_name: str) -> bool:
    """Whether the files of a class are still of today's format."""
    try:
        for path in [*folder.glob(f"{disk_name}.gb"), *folder.glob(f"{disk_name}-*.gb")]:
            load(path)
    except GenBayesError:
        return False
    return True


def inputs_for(model: Any) -> Any:
    """Three rows, the last far away, in the columns that a loaded model says it has."""
    inner = model
    while not hasattr(inner, "coders_"):
        inner = inner.models_[0]
    columns: dict[Any, Any] = {j: np.array([0.2, 0.7, 1e3]) for j in range(inner.n_features_in_)}
    for coder in inner.coders_:
        columns[coder.column] = np.array([coder.levels[0], coder.levels[-1], coder.levels[0]], dtype=object)
    frame = pd.DataFrame(columns)
    names = getattr(model, "feature_names_in_", getattr(inner, "feature_names_in_", None))
    if names is not None:
        frame.columns = list(names)
        return frame
    return frame.to_numpy()


def kept(path: Path) -> tuple[str, dict[str, Any], dict[str, np.ndarray]]:
    """Class, values and arrays of a file."""
    state = read_state(path)
    return state.kind, dict(state.values), dict(state.arrays)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        for path in make_files(Path(place)):
            print(f"{path.stat().st_size:8d} {path.name}")
