"""Which columns of a table a fitted model wants, and which of them are categories.

A model fitted to a table knows its columns by name, so that a new table may hold others and in any order. A model
fitted to an array knows only how many there were: then the columns of the table are taken in their order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from genbayes.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from genbayes.arrays import FloatArray

__all__ = ["take_inputs", "take_inputs_and_target"]


def take_inputs(model: Any, table: pd.DataFrame) -> Any:
    """The inputs X in a table, in the form the model was fitted to, shape (n, d)."""
    from genbayes.data import select_inputs

    names = _names(model, list(table.columns))
    return _as_fitted(model, select_inputs(table, names, _categorical(model, names)))


def take_inputs_and_target(model: Any, table: pd.DataFrame, target: str) -> tuple[Any, FloatArray]:
    """The inputs X as above and the responses y, shape (n,)."""
    from genbayes.data import split_target

    names = _names(model, [column for column in table.columns if column != target])
    X, y = split_target(table, target, names, _categorical(model, names))
    return _as_fitted(model, X), y


def _names(model: Any, columns: list[str]) -> list[str]:
    if hasattr(model, "feature_names_in_"):
        return [str(name) for name in model.feature_names_in_]
    if len(columns) != model.n_features_in_:
        raise InvalidInput(
            f"the table must have {model.n_features_in_} input columns, in the order of fit because the model was "
            f"fitted without names, got {len(columns)}; fit it to a table instead"
        )
    return columns


def _categorical(model: Any, names: list[str]) -> list[str]:
    """Names of the categories, whether they were given by name or by number."""
    return [which if isinstance(which, str) else names[which] for which in getattr(model, "categorical", None) or ()]


def _as_fitted(model: Any, X: pd.DataFrame) -> Any:
    return X if hasattr(model, "feature_names_in_") else X.to_numpy()
