"""The door for X: tables and arrays with names, categories and text become one numeric matrix.

scikit-learn's own validation does the work and keeps its sentences; ours add which rows and columns are meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from genbayes.arrays import FloatArray
from genbayes.categories import CategoryCoder
from genbayes.errors import GenBayesError, InvalidInput
from genbayes.validation import describe_rows, suggest

__all__ = ["as_table", "check_fit_data", "check_predict_data", "learn_categories", "require_variation"]

MIN_ROWS = 10  # with fewer runs there is nothing to learn a distribution from


def as_table(X: Any) -> Any:
    """X with a polars frame turned into a pandas one, whose column names scikit-learn remembers and checks."""
    if type(X).__module__.split(".")[0] == "polars":
        return X.to_pandas()
    return X


def learn_categories(X: Any, categorical: Sequence[str | int] | None) -> tuple[CategoryCoder, ...]:
    """Coders of the columns that the user called categorical; text in any other column is refused.

    Args:
        X: The table as passed, pandas or array.
        categorical: Names or indices of the categorical columns.

    Returns:
        One coder per categorical column, in the order of the columns.
    """
    columns = _columns(X)
    if isinstance(categorical, str):
        raise InvalidInput(f"categorical must be a list of columns, got {categorical!r}; pass [{categorical!r}]")
    wanted = sorted({_column_index(which, columns) for which in categorical or ()})
    coders = tuple(CategoryCoder.learn(j, columns[j], _column(X, j)) for j in wanted)
    text = [columns[j] for j in range(len(columns)) if j not in wanted and _holds_text(X, j)]
    if text:
        listed = ", ".join(repr(name) for name in text)
        raise InvalidInput(f"X must be numeric outside `categorical`, got text in {listed}; name them in categorical=")
    dates = [columns[j] for j in range(len(columns)) if j not in wanted and _holds_dates(X, j)]
    if dates:
        listed = ", ".join(repr(name) for name in dates)
        raise InvalidInput(f"X must be numeric, got dates or durations in {listed}; turn them into numbers first")
    return coders


def check_fit_data(estimator: Any, X: Any, y: Any, coders: tuple[CategoryCoder, ...]) -> tuple[FloatArray, FloatArray]:
    """Training inputs (n, d) and responses (n,), checked, with categories coded."""
    try:
        X, y = validate_data(
            estimator, _encode(X, coders), y, y_numeric=True, dtype=np.float64, ensure_all_finite=False,
            ensure_min_samples=MIN_ROWS,
        )  # fmt: skip
    except ValueError as error:
        raise InvalidInput(_with_rows(str(error), "y", y)) from error
    _require_finite(X, estimator)
    return X, np.asarray(y, dtype=np.float64)


def require_variation(y: FloatArray, n: int) -> None:
    """Refuse responses, shape (distinct rows,), that are all the same; `n` is the number of rows given."""
    if np.all(y == y[0]):
        raise InvalidInput(
            f"y must vary, got the constant {float(y[0])!r} in all {n} rows; nothing is to be learnt from it"
        )


def check_predict_data(estimator: Any, X: Any, coders: tuple[CategoryCoder, ...]) -> FloatArray:
    """New inputs (n, d), checked against the columns of `fit`, with categories coded."""
    X = as_table(X)
    try:
        if coders:  # names and number of columns, before any is looked up
            validate_data(estimator, X, reset=False, skip_check_array=True)
        X = validate_data(estimator, _encode(X, coders), reset=False, dtype=np.float64, ensure_all_finite=False)
    except GenBayesError:
        raise
    except ValueError as error:
        raise InvalidInput(str(error)) from error
    _require_finite(X, estimator)
    return np.asarray(X)


def _require_finite(X: FloatArray, estimator: Any) -> None:
    bad = ~np.isfinite(X)
    if bad.any():
        names = getattr(estimator, "feature_names_in_", [f"column {j}" for j in range(X.shape[1])])
        where = ", ".join(repr(str(names[j])) for j in np.flatnonzero(bad.any(axis=0))[:5])
        what = "NaN" if np.isnan(X).any() else "infinity"
        raise InvalidInput(
            f"Input X contains {what} in {describe_rows(np.asarray(bad.any(axis=1)))} of {where}; drop or repair them"
        )


def _with_rows(sentence: str, name: str, values: Any) -> str:
    """scikit-learn's sentence about NaN or infinity, with the rows it means."""
    if "could not convert string to float" in sentence:
        return f"{name} must be numbers, got text: {sentence}"
    if f"Input {name} contains" not in sentence:
        return sentence
    bad = ~np.isfinite(np.asarray(values, dtype=np.float64).ravel())
    return f"{sentence.splitlines()[0]} It is in {describe_rows(bad)}; drop or repair them."


def _columns(X: Any) -> list[str]:
    if hasattr(X, "columns"):
        return [str(name) for name in X.columns]
    array = _as_array(X)
    return [f"column {j}" for j in range(array.shape[1])] if array.ndim == 2 else []


def _as_array(X: Any) -> Any:
    """X as an array where it can be one; the rest is left to scikit-learn to refuse."""
    if isinstance(X, np.ndarray):
        return X
    try:
        return np.asarray(X)
    except (TypeError, ValueError):
        return np.empty(0)


def _column(X: Any, j: int) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:, j].to_numpy(dtype=object)
    return np.asarray(X, dtype=object)[:, j]


def _column_index(which: str | int, columns: list[str]) -> int:
    if isinstance(which, str):
        if which not in columns:
            raise InvalidInput(f"categorical must name columns of X, got {which!r}{suggest(which, columns)}")
        return columns.index(which)
    if isinstance(which, bool) or not isinstance(which, Integral) or not -len(columns) <= which < len(columns):
        raise InvalidInput(f"categorical must hold column numbers below {len(columns)}, got {which!r}")
    return int(which) % len(columns)


def _holds_text(X: Any, j: int) -> bool:
    if hasattr(X, "iloc"):
        kind = X.dtypes.iloc[j]
        return getattr(kind, "kind", "O") not in "biufc" and any(isinstance(v, str) for v in _column(X, j))
    array = _as_array(X)
    if array.dtype.kind in "US":
        return not _all_numbers(array[:, j])
    return bool(array.dtype.kind == "O") and any(isinstance(v, str) for v in array[:, j])


def _holds_dates(X: Any, j: int) -> bool:
    kind = X.dtypes.iloc[j] if hasattr(X, "iloc") else _as_array(X).dtype
    return getattr(kind, "kind", "O") in "mM"


def _all_numbers(values: Any) -> bool:
    try:
        np.asarray(values, dtype=np.float64)
    except ValueError:
        return False
    return True


def _encode(X: Any, coders: tuple[CategoryCoder, ...]) -> Any:
    """X with categorical columns replaced by their codes; the rest is left to scikit-learn's checks."""
    if not coders:
        return X
    if hasattr(X, "iloc"):
        coded = {X.columns[c.column]: c.encode(_column(X, c.column)) for c in coders}
        return X.assign(**coded) if all(isinstance(name, str) for name in coded) else _assign(X, coders)
    matrix = np.array(X, dtype=object)
    for coder in coders:
        matrix[:, coder.column] = coder.encode(matrix[:, coder.column])
    return matrix


def _assign(X: Any, coders: tuple[CategoryCoder, ...]) -> Any:
    """As `assign`, for tables whose columns are not named by text."""
    copy = X.copy()
    for coder in coders:
        copy.isetitem(coder.column, coder.encode(_column(X, coder.column)))
    return copy
