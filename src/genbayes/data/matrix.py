"""What is handed to an estimator as X and y becomes one numeric matrix: tables and arrays, names, categories and text.

`check_fit_data` is the door of `fit`, `check_predict_data` that of `predict`. scikit-learn's own validation does the
work and keeps its sentences; ours add which rows and columns are meant. Tables that came from a file pass `columns`
before.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import AnyArray, FloatArray
from genbayes.data.categories import CategoryCoder
from genbayes.data.scaling import FARTHEST
from genbayes.errors import GenBayesError, InvalidInput
from genbayes.validation import describe_rows, require_no_dates, suggest

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.base import BaseEstimator

MIN_ROWS = 10  # with fewer runs there is nothing to learn a distribution from
LARGEST = 1e304  # of an input or a response; sums and tails of larger ones are no numbers any more


def as_table(X: ArrayLike) -> ArrayLike:
    """X with a polars frame turned into a pandas one, whose column names scikit-learn remembers and checks.

    Masked cells become NaN, for scikit-learn would read what is under the mask.
    """
    if np.ma.isMaskedArray(X):
        return unmasked(X)
    if getattr(getattr(X, "dtype", None), "names", None):
        raise InvalidInput("X must be a table, got an array of records; pass pandas.DataFrame(X)")
    if type(X).__module__.split(".")[0] == "polars":
        frame: ArrayLike = X.to_pandas()  # type: ignore[union-attr]
        return frame
    return X


def unmasked(values: ArrayLike) -> ArrayLike:
    """Masked cells as NaN, which is refused with the rows that have it; any other array as it is.

    Example:
        >>> unmasked(np.ma.array([1, 2], mask=[False, True]))
        array([ 1., nan])
    """
    return np.ma.filled(values.astype(np.float64), np.nan) if isinstance(values, np.ma.MaskedArray) else values


def is_frame(X: object) -> TypeGuard[pd.DataFrame]:
    """Whether X is a pandas frame, or behaves like one."""
    return hasattr(X, "iloc") and hasattr(X, "columns")


def code_values(X: ArrayLike, n: int) -> FloatArray:
    """A table of n rows as numbers that are equal where its values are, (n, d); what cannot be compared all differs.

    Example:
        >>> code_values([["He", 3], ["O2", 3], ["He", 4]], 3)
        array([[0., 0.],
               [1., 0.],
               [0., 1.]])
    """
    if is_frame(X):
        columns = [X.iloc[:, j].to_numpy() for j in range(X.shape[1])]
    else:
        try:
            columns = list(np.asarray(X).reshape(n, -1).T)
        except (TypeError, ValueError):
            columns = []
    return np.column_stack([_coded(column) for column in columns] or [np.arange(n, dtype=np.float64)])


def _coded(column: AnyArray) -> FloatArray:
    """A column as numbers that are equal where its values are, (n,) -> (n,)."""
    if column.dtype.kind in "biuf":
        return np.asarray(column, dtype=np.float64)
    code: dict[object, int] = {}
    try:
        return np.array([code.setdefault(value, len(code)) for value in column.tolist()], dtype=np.float64)
    except TypeError:  # values that cannot be looked up
        return np.arange(len(column), dtype=np.float64)


def learn_categories(X: ArrayLike, categorical: Sequence[str | int] | None) -> tuple[CategoryCoder, ...]:
    """Coders of the columns that are categories; text in any other column is refused.

    Args:
        X: The table as passed, pandas or array.
        categorical: Names or indices of the categorical columns; those of pandas' type `category` are so unnamed.

    Returns:
        One coder per categorical column, in the order of the columns.
    """
    columns = _columns(X)
    if isinstance(categorical, str):
        raise InvalidInput(f"categorical must be a list of columns, got {categorical!r}; pass [{categorical!r}]")
    kinds = _kinds(X, len(columns))
    declared = {j for j, dtype in enumerate(X.dtypes) if is_category(dtype)} if is_frame(X) else set()
    wanted = sorted(declared | {_column_index(which, columns) for which in categorical or ()})
    coders = tuple(CategoryCoder.learn(j, columns[j], _column(X, j)) for j in wanted)
    others = sorted(set(range(len(columns))) - set(wanted))
    text = [repr(columns[j]) for j in others if kinds[j] not in "biufc" and _holds_text(X, j, kinds[j])]
    if text:
        raise InvalidInput(
            f"X must be numeric outside `categorical`, got text in {', '.join(text)}; name them in categorical="
        )
    _require_numeric(X, coders)
    return coders


def _require_numeric(X: ArrayLike, coders: tuple[CategoryCoder, ...]) -> None:
    """Refuse dates, durations and, in frames, other things that are no numbers, outside the categories and text apart.

    Arrays of objects are left to scikit-learn, whose checks want its TypeError.
    """
    columns = _columns(X)
    kinds, coded = _kinds(X, len(columns)), {coder.column for coder in coders}
    others = [j for j in range(len(columns)) if j not in coded]
    dates = [repr(columns[j]) for j in others if kinds[j] in "mM"]
    if dates:
        raise InvalidInput(
            f"X must be numeric, got dates or durations in {', '.join(dates)}; turn them into numbers first"
        )
    for j in (j for j in others if kinds[j] == "O" and is_frame(X)):
        values = _column(X, j)
        try:
            values.astype(np.float64)
        except (TypeError, ValueError):
            strange = [type(value).__name__ for value in values if not _is_number(value)]
            if strange and "str" not in strange:
                got = f"got {strange[0]} in {columns[j]!r}"
                raise InvalidInput(f"X must be numeric, {got}; turn them into numbers first") from None


def _is_number(value: object) -> bool:
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return value is None or type(value).__name__ == "NAType"  # missing, which is said elsewhere
    return True


def check_fit_data(
    estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, coders: tuple[CategoryCoder, ...]
) -> tuple[FloatArray, FloatArray]:
    """Training inputs (n, d) and responses (n,), checked, with categories coded; the estimator remembers columns."""
    from sklearn.utils.validation import validate_data  # the command line reads tables without scikit-learn

    require_no_dates(y)
    y = _as_responses(y)
    try:
        matrix, y = validate_data(
            estimator, _encode(X, coders), y, y_numeric=True, dtype=np.float64, ensure_all_finite=False
        )
    except ValueError as error:
        raise InvalidInput(_with_rows(str(error), "y", y)) from error
    _require_finite(matrix, estimator)
    _require_between(matrix, _reach_of_most(matrix), estimator)
    y = np.asarray(y, dtype=np.float64)
    if (largest := np.abs(y).max(initial=0.0)) > LARGEST:
        raise InvalidInput(f"y must lie within ±{LARGEST:g}, got {largest:g}; use another unit")
    return matrix, y


def _as_responses(y: ArrayLike) -> ArrayLike:
    """Responses whose cells are objects or text as numbers; missing ones are NaN, which is refused with its rows."""
    given = _as_array(unmasked(y))
    if given.dtype.kind not in "OUS" or given.ndim > 2:
        return unmasked(y)
    try:
        return given.astype(np.float64)
    except (TypeError, ValueError) as error:
        strange = next((value for value in given.ravel().tolist() if not _is_number(value)), None)
        raise InvalidInput(f"y must be numbers, got {strange!r}; repair or drop such rows") from error


def require_variation(y: FloatArray, n: int) -> None:
    """Refuse responses, shape (distinct rows,), that are all the same; `n` is the number of rows given."""
    if np.all(y == y[0]):
        raise InvalidInput(
            f"y must vary, got the constant {float(y[0])!r} in all {n} rows; there is nothing to learn from it"
        )


def check_predict_data(
    estimator: BaseEstimator, X: ArrayLike, coders: tuple[CategoryCoder, ...], reach: FloatArray | None = None
) -> FloatArray:
    """New inputs (n, d), checked against the columns of `fit` and their `reach`, (2, d), with categories coded."""
    from sklearn.utils.validation import validate_data

    X = as_table(X)
    _require_numeric(X, coders)
    try:
        if coders:  # names and number of columns, before any is looked up
            validate_data(estimator, X, reset=False, skip_check_array=True)
        matrix = validate_data(estimator, _encode(X, coders), reset=False, dtype=np.float64, ensure_all_finite=False)
    except GenBayesError:
        raise
    except ValueError as error:
        raise InvalidInput(_in_one_sentence(str(error))) from error
    _require_finite(matrix, estimator)
    if reach is not None:
        _require_between(matrix, reach, estimator)
    return np.asarray(matrix)


def _require_between(X: FloatArray, ends: FloatArray, estimator: BaseEstimator) -> None:
    """Refuse inputs, (n, d), beyond the ends of their columns, (2, d), where numbers are too large to compute with."""
    low, high = ends
    bad = (low > X) | (high < X)
    if bad.any():
        j = int(np.flatnonzero(bad.any(axis=0))[0])
        first, rows = X[np.flatnonzero(bad[:, j])[0], j], describe_rows(np.asarray(bad[:, j]))
        raise InvalidInput(
            f"X[{_column_names(estimator, X.shape[1])[j]!r}] must lie between {low[j]:.3g} and {high[j]:.3g}, "
            f"got {first:.3g} in {rows}; repair them, or use another unit"
        )


def _reach_of_most(X: FloatArray) -> FloatArray:
    """Ends of each column that models fitted to most rows, as those of a fold are, can compute with, (n, d) -> (2, d).

    That is the median and 1e24 times the range of the inner 80% of the rows; a column that hardly varies has none.
    """
    with np.errstate(over="ignore"):
        low, middle, high = np.quantile(X, [0.1, 0.5, 0.9], axis=0)
        room = np.where(high > low, FARTHEST / 10 * (high - low), np.inf)
        return np.asarray(np.clip(np.stack([middle - room, middle + room]), -LARGEST, LARGEST))


def _column_names(estimator: BaseEstimator, d: int) -> list[str]:
    return [str(name) for name in getattr(estimator, "feature_names_in_", [f"column {j}" for j in range(d)])]


def _require_finite(X: FloatArray, estimator: BaseEstimator) -> None:
    bad = ~np.isfinite(X)
    if bad.any():
        names = _column_names(estimator, X.shape[1])
        where = ", ".join(repr(names[j]) for j in np.flatnonzero(bad.any(axis=0))[:5])
        what = "NaN" if np.isnan(X).any() else "infinity"
        raise InvalidInput(
            f"Input X contains {what} in {describe_rows(np.asarray(bad.any(axis=1)))} of {where}; drop or repair them"
        )


def _with_rows(sentence: str, name: str, values: ArrayLike) -> str:
    """scikit-learn's sentence about NaN or infinity, with the rows it means."""
    if "could not convert string to float" in sentence:
        return f"{name} must be numbers, got text: {sentence}"
    if f"Input {name} contains" not in sentence:
        return _in_one_sentence(sentence)
    bad = ~np.isfinite(np.asarray(values, dtype=np.float64).ravel())
    return f"{sentence.splitlines()[0]} It is in {describe_rows(bad)}; drop or repair them."


def _in_one_sentence(sentence: str) -> str:
    """scikit-learn's sentence about complex numbers without the whole table that it prints, NumPy's about text."""
    if sentence.startswith("Complex data not supported"):
        return "Complex data not supported; pass real and imaginary parts as two columns"
    if sentence.startswith("could not convert string to float"):
        return f"X must be numeric outside `categorical`, got text: {sentence}"
    return sentence


def _columns(X: ArrayLike) -> list[str]:
    if is_frame(X):
        return [str(name) for name in X.columns]
    array = _as_array(X)
    return [f"column {j}" for j in range(array.shape[1])] if array.ndim == 2 else []


def _as_array(X: ArrayLike) -> AnyArray:
    """X as an array where it can be one; the rest is left to scikit-learn to refuse."""
    try:
        return np.asarray(X)
    except (TypeError, ValueError):
        return np.empty(0)


def _column(X: ArrayLike, j: int) -> AnyArray:
    values = X.iloc[:, j].to_numpy(dtype=object) if is_frame(X) else np.asarray(X, dtype=object)[:, j]
    return np.asarray(values)


def _column_index(which: str | int, columns: list[str]) -> int:
    if isinstance(which, str):
        if which not in columns:
            raise InvalidInput(f"categorical must name columns of X, got {which!r}{suggest(which, columns)}")
        return columns.index(which)
    if isinstance(which, bool) or not isinstance(which, Integral) or not -len(columns) <= which < len(columns):
        raise InvalidInput(f"categorical must hold column numbers below {len(columns)}, got {which!r}")
    return int(which) % len(columns)


def _kinds(X: ArrayLike, d: int) -> list[str]:
    """Letter of the kind of each column's type, "O" for one that is not NumPy's."""
    if is_frame(X):
        return [str(getattr(dtype, "kind", "O")) for dtype in X.dtypes]
    return [_as_array(X).dtype.kind] * d


def _holds_text(X: ArrayLike, j: int, kind: str) -> bool:
    if not is_frame(X) and kind in "US":  # an array of text, in which a column may be numbers
        try:
            np.asarray(_as_array(X)[:, j], dtype=np.float64)
        except ValueError:
            return True
        return False
    return any(isinstance(value, str) for value in _column(X, j))


def is_category(dtype: object) -> bool:
    """Whether a column's type is pandas' `category`, which says by itself that its values name kinds."""
    return str(dtype) == "category"


def _encode(X: ArrayLike, coders: tuple[CategoryCoder, ...]) -> ArrayLike:
    """X with categorical columns replaced by their codes; the rest is left to scikit-learn's checks."""
    if not coders:
        return X
    if is_frame(X):
        frame = X.copy()
        for coder in coders:
            frame.isetitem(coder.column, coder.encode(X.iloc[:, coder.column]))
        return frame
    matrix = np.array(X, dtype=object)
    for coder in coders:
        matrix[:, coder.column] = coder.encode(matrix[:, coder.column])
    return matrix
