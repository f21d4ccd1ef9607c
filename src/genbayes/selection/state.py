"""What an AutoSurrogate keeps in its file: report, weights, and its models as parts of any kind that `load` knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.errors import UnreadableFile
from genbayes.models.registry import state_of
from genbayes.persistence import Restore, State
from genbayes.scaling import as_bounds
from genbayes.selection.combination import Combination
from genbayes.selection.report import SelectionReport
from genbayes.tabular.state import known_parameters

if TYPE_CHECKING:
    from genbayes.selection.auto import AutoSurrogate

__all__ = ["restore_selected", "state_of_selected"]

A = TypeVar("A", bound="AutoSurrogate")


def state_of_selected(model: AutoSurrogate) -> State:
    """The state of a fitted AutoSurrogate and, inside it, of the models it joins."""
    table = model._table_state()
    parameters = dict(table.values["parameters"])
    if hasattr(parameters["candidates"], "keys"):  # models of the user's own are kept fitted, by name only here
        parameters["candidates"] = list(parameters["candidates"])
    values: dict[str, Any] = {
        **table.values,
        "parameters": parameters,
        "kind": model.combination_.kind,
        "n_models": len(model.combination_.models),
        "bounds": list(model.combination_.bounds),
        "report": model.report_.to_dict(),
    }
    state = State(table.kind, values, {**table.arrays, "weights": model.combination_.weights})
    for k, part in enumerate(model.combination_.models):
        state = state.with_part(f"model{k}", state_of(part))
    return state


def restore_selected(cls: type[A], state: State, restore: Restore) -> A:
    """The AutoSurrogate that a state describes; `restore` rebuilds the models inside it."""
    model = cls(**known_parameters(cls, state.value("parameters")))
    model._restore_table(state)
    n_models, kind = int(state.value("n_models")), state.value("kind")
    weights = state.array("weights", (n_models,)).astype(np.float64)
    if kind not in ("single", "average", "pool") or n_models < 1 or not _are_shares(weights):
        raise UnreadableFile(f"the models in the file must be joined with positive weights, got {kind!r} and {weights}")
    parts = tuple(restore(state.nested(f"model{k}")) for k in range(n_models))
    model.combination_ = Combination(kind, parts, weights, as_bounds(state.value("bounds")))
    model.report_ = SelectionReport.from_dict(state.value("report"))
    return model


def _are_shares(weights: FloatArray) -> bool:
    return bool(np.isfinite(weights).all() and (weights > 0).all() and abs(weights.sum() - 1) < 1e-6)
