"""The part of a model's file that all models share: constructor arguments, columns, scales, coverage, fingerprint."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from genbayes.categories import CategoryCoder
from genbayes.errors import UnreadableFile
from genbayes.persistence import State
from genbayes.scaling import InputScaler, ResponseScaler
from genbayes.tabular.coverage import InputCoverage

if TYPE_CHECKING:
    from genbayes.tabular.regressor import TabularRegressor

__all__ = ["known_parameters", "plain_parameters", "restore_table", "state_of_table"]

PAIRS = ("y_bounds",)  # arguments that are tuples; JSON turns them into lists

E = TypeVar("E", bound=BaseEstimator)


def plain_parameters(model: BaseEstimator, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """Constructor arguments that JSON can hold; parts kept elsewhere are left out, a generator cannot be kept."""
    plain = {name: value for name, value in model.get_params(deep=False).items() if name not in leave_out}
    for name, value in plain.items():
        if isinstance(value, (np.generic, np.ndarray)):
            plain[name] = value.tolist()
        elif isinstance(value, tuple):
            plain[name] = list(value)
    if not isinstance(plain.get("random_state"), (int, type(None))):
        plain["random_state"] = None
    return plain


def known_parameters(cls: type[E], parameters: dict[str, Any]) -> dict[str, Any]:
    """The constructor arguments a file names, if this version knows all of them."""
    unknown = sorted(set(parameters) - set(cls._get_param_names()))
    if unknown:
        raise UnreadableFile(f"the model file must hold known settings, got {unknown}; load it with a newer genbayes")
    return {name: tuple(value) if name in PAIRS and value is not None else value for name, value in parameters.items()}


def state_of_table(model: TabularRegressor) -> State:
    """The shared part of a fitted model's state."""
    values: dict[str, Any] = {
        "parameters": plain_parameters(model, leave_out=("features",)),
        "n_features_in": model.n_features_in_,
        "feature_names_in": [str(name) for name in getattr(model, "feature_names_in_", [])],
        "categories": [[c.column, c.name, list(c.levels)] for c in model.coders_],
        "numeric": list(model.input_scaler_.numeric),
        "categorical": [list(pair) for pair in model.input_scaler_.categorical],
        "response_scaler": asdict(model.response_scaler_),
        "radius": model.coverage_.radius,
        "n_rows": model.n_rows_,
        "data_sha256": model.fingerprint_,
    }
    arrays: dict[str, np.ndarray[Any, Any]] = {
        "center": model.input_scaler_.center,
        "scale": model.input_scaler_.scale,
        "coverage": np.asarray(model.coverage_.inputs, dtype=np.float32),
    }
    return State(type(model).__name__, values, arrays)


def restore_table(model: TabularRegressor, state: State) -> None:
    """Give a new model the shared part of a state; every piece is checked against the others."""
    model.n_features_in_ = int(state.value("n_features_in"))
    names = state.value("feature_names_in")
    if names:
        model.feature_names_in_ = np.array([str(name) for name in names], dtype=object)
    model.coders_ = tuple(
        CategoryCoder(int(j), str(name), tuple(levels)) for j, name, levels in state.value("categories")
    )
    numeric = tuple(int(j) for j in state.value("numeric"))
    coded = tuple((int(j), int(size)) for j, size in state.value("categorical"))
    center, scale = (state.array(name, (len(numeric),)) for name in ("center", "scale"))
    model.input_scaler_ = InputScaler(center, scale, numeric, coded)
    response = dict(state.value("response_scaler"))
    response["bounds"] = tuple(response["bounds"])
    model.response_scaler_ = ResponseScaler(**response)
    inputs = state.array("coverage", (None, model.input_scaler_.n_outputs)).astype(np.float64)
    model.coverage_ = InputCoverage(inputs, float(state.value("radius")))
    model.n_rows_, model.fingerprint_ = int(state.value("n_rows")), str(state.value("data_sha256"))
