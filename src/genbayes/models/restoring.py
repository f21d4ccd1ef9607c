"""What the files of all models share: columns, categories, scales and arguments, each checked against the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from genbayes.data.categories import CategoryCoder
from genbayes.data.scaling import InputScaler, ResponseScaler, as_bounds
from genbayes.errors import UnreadableFile
from genbayes.persistence import FOREIGN, State


def restore_columns(model: BaseEstimator, state: State) -> None:
    """Number of input columns, and their names if they had any."""
    model.n_features_in_ = state.count("n_features_in", at_least=1)
    names = state.typed("feature_names_in", list[str])
    if names:
        if len(names) != model.n_features_in_ or len(set(names)) < len(names):
            rule = f"the model file must name each of {model.n_features_in_} columns once"
            raise UnreadableFile(f"{rule}, got {len(names)} names; {FOREIGN}")
        model.feature_names_in_ = np.array(names, dtype=object)


def require_inputs(models: Sequence[object], d: int) -> None:
    """Models of a file that see the same rows must take d inputs each."""
    for model in models:
        if (taken := getattr(model, "n_features_in_", d)) != d:
            raise UnreadableFile(f"the models in the file must take {d} inputs each, got {taken}; {FOREIGN}")


def restored_coders(state: State, d: int) -> tuple[CategoryCoder, ...]:
    """Coders of categories among d columns: each column once, its levels all text or all numbers, each once."""
    found = state.typed("categories", list[tuple[int, str, list[str] | list[float]]])
    columns = [column for column, _, _ in found]
    sound = all(levels and len(set(levels)) == len(levels) for _, _, levels in found)
    if not sound or len(set(columns)) < len(columns) or not all(0 <= j < d for j in columns):
        raise UnreadableFile(
            f"the categories in the model file must be of {d} columns and differ, got others; {FOREIGN}"
        )
    return tuple(CategoryCoder(column, name, tuple(levels)) for column, name, levels in found)


def restored_input_scaler(state: State, coders: tuple[CategoryCoder, ...]) -> InputScaler:
    """Scales of numeric columns, and sizes of one-hot blocks that are those of the categories."""
    numeric = state.typed("numeric", tuple[int, ...])
    coded = state.typed("categorical", tuple[tuple[int, int], ...])
    center = state.array("center", (len(numeric),))
    scale = state.array("scale", (len(numeric),), positive=True)
    bend = state.array("bend", (len(numeric),), at_least=0) if "bend" in state.arrays else np.zeros(0)  # older files
    scaler = InputScaler(center, scale, numeric, coded, bend)
    columns = sorted([*numeric, *(column for column, _ in coded)])
    if columns != list(range(len(columns))) or [*coded] != [(c.column, len(c.levels)) for c in coders]:
        raise UnreadableFile(f"the model file must scale or code each column once, got others; {FOREIGN}")
    return scaler


def restored_response_scaler(state: State) -> ResponseScaler:
    """The scale of y, positive throughout."""
    scaler: ResponseScaler = state.typed("response_scaler", ResponseScaler)
    as_bounds(scaler.bounds)
    if not (scaler.scale > 0 and scaler.bend > 0 and scaler.edge >= 0 and scaler.knee >= 0):
        raise UnreadableFile(f"the scale of y in the model file must be positive, got {scaler}; {FOREIGN}")
    return scaler


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


def known_parameters(cls: type[BaseEstimator], state: State) -> dict[str, Any]:
    """The constructor arguments a file names, if this version knows all of them; JSON turns pairs into lists."""
    parameters = state.typed("parameters", dict[str, Any])
    unknown = sorted(set(parameters) - set(cls._get_param_names()))
    if unknown:
        raise UnreadableFile(f"the model file must hold known settings, got {unknown}; load it with a newer genbayes")
    bounds = parameters.get("y_bounds")
    return {**parameters, "y_bounds": tuple(bounds)} if isinstance(bounds, list) else parameters
