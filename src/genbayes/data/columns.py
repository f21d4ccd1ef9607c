"""From a table that came from a file to X and y: which columns are meant, and whether every cell is fit for use.

A message names columns and, through the frame's index, lines of the file. What is handed to an estimator passes
`matrix`, whichever way it came.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from genbayes.arrays import AnyArray, BoolArray, FloatArray
from genbayes.data.matrix import is_category
from genbayes.errors import InvalidInput, RowsDropped
from genbayes.validation import check_choice, describe_rows, list_some, suggest

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.base import BaseEstimator


def split_target(
    frame: pd.DataFrame,
    target: str,
    inputs: Sequence[str] | None = None,
    categorical: Collection[str] | None = None,
    missing: str = "error",
) -> tuple[pd.DataFrame, FloatArray]:
    """Inputs and response of a table.

    Args:
        frame: One run a row, as `read_table` gives it.
        target: The column that holds the response.
        inputs: The columns that hold the inputs; None for all others.
        categorical: The inputs that may be text; None leaves that question to the estimator.
        missing: "error" refuses missing cells; "drop" leaves their rows out, with a warning that counts them.

    Returns:
        X, a frame of d columns without missing or infinite cells, and y, finite, shape (n,).

    Example:
        >>> import pandas as pd
        >>> X, y = split_target(pd.DataFrame({"x": [1, 2], "y": [3, 4]}), "y")
        >>> X.columns.tolist(), y
        (['x'], array([3., 4.]))
    """
    require_column(target, frame, "target")
    names = [name for name in frame.columns if name != target] if inputs is None else list(inputs)
    if target in names:
        raise InvalidInput(f"inputs must not contain the target, got {target!r} among them")
    if not names:
        raise InvalidInput(f"table must have an input beside the target, got the column {target!r} alone")
    if check_choice(missing, "missing", ["error", "drop"]) == "drop":
        frame = drop_missing(frame, [*names, target])
    X = select_inputs(frame, names, categorical)
    return X, _numbers(frame[target], "target must be numbers").to_numpy(np.float64)


def select_inputs(
    frame: pd.DataFrame, names: Sequence[str], categorical: Collection[str] | None = None
) -> pd.DataFrame:
    """The named columns in the order asked for, if all are there and no cell is missing or infinite.

    Args:
        frame: The table.
        names: The columns that hold the inputs.
        categorical: Those that may be text, beside columns of the type `category`; None leaves that question to the
            estimator.

    Example:
        >>> import pandas as pd
        >>> select_inputs(pd.DataFrame({"note": ["a"], "x": [1.5]}), ["x"]).to_dict("list")
        {'x': [1.5]}
    """
    for role, wanted in (("inputs", names), ("categorical", categorical or ())):
        for name in wanted:
            require_column(name, frame, role)
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise InvalidInput(f"inputs must name each column once, got {twice!r} more than once; leave it out")
    X, may_be_text = frame[list(names)], set(categorical or ())
    plain = [
        name
        for name, dtype in zip(names, X.dtypes, strict=True)
        if isinstance(dtype, np.dtype) and dtype.kind in "biuf"
    ]
    finite = np.isfinite(X[plain].to_numpy(dtype=np.float64)).all(axis=0)
    sound = {name for name, is_finite in zip(plain, finite, strict=True) if is_finite}
    for name in (name for name in names if name not in sound):  # one look at all the others was enough
        _check_cells(X[name], "inputs")
        if categorical is not None and name not in may_be_text and not is_category(X[name].dtype):
            cure = "repair them or name the column in categorical="
            _numbers(X[name], "inputs must be numbers unless they are categories", cure)
    return X


def select_numbers(frame: pd.DataFrame, names: Sequence[str], role: str) -> pd.DataFrame:
    """The named columns in the order asked for, if all are there and hold finite numbers only.

    Args:
        frame: The table.
        names: The columns.
        role: What the user knows them as; refusals begin with it.

    Example:
        >>> import pandas as pd
        >>> select_numbers(pd.DataFrame({"a": ["1"], "b": [2], "note": ["x"]}), ["b", "a"], "theta").to_dict("list")
        {'b': [2.0], 'a': [1.0]}
    """
    import pandas as pd

    for name in names:
        require_column(name, frame, role)
    return pd.DataFrame({name: _numbers(frame[name], f"{role} must be numbers").astype(np.float64) for name in names})


def drop_missing(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """The rows without a missing cell in the named columns; a `RowsDropped` warning counts the others.

    Example:
        >>> import pandas as pd, warnings
        >>> with warnings.catch_warnings(record=True) as told:
        ...     warnings.simplefilter("always")
        ...     len(drop_missing(pd.DataFrame({"x": [1.0, None], "note": [None, "a"]}), ["x"]))
        1
        >>> str(told[0].message)
        'dropped 1 of 2 rows (row 1) for missing cells'
    """
    for name in names:
        require_column(name, frame, "inputs")
    marked: BoolArray = np.asarray(frame[list(names)].isna().to_numpy().any(axis=1))
    if marked.all():
        raise InvalidInput(f"table must have a row without missing cells, got none of {len(frame)}")
    if marked.any():
        places = describe_rows(marked, labels=frame.index, word=str(frame.index.name or "row"))
        warnings.warn(f"dropped {places} for missing cells", RowsDropped, stacklevel=2)
    return frame.loc[~marked]


def take_inputs(model: BaseEstimator, table: pd.DataFrame) -> pd.DataFrame | AnyArray:
    """The inputs X of a fitted model in a table, in the form it was fitted to, shape (n, d).

    A model fitted to a table knows its columns by name, so that a new table may hold others and in any order. A model
    fitted to an array knows only how many there were: then the columns of the table are taken in their order.
    """
    names = input_names(model, list(table.columns))
    return _as_fitted(model, select_inputs(table, names, _categorical(model, names)))


def take_inputs_and_target(
    model: BaseEstimator, table: pd.DataFrame, target: str, missing: str = "error"
) -> tuple[pd.DataFrame | AnyArray, FloatArray]:
    """The inputs X as `take_inputs` and the responses y, shape (n,); `missing` as in `split_target`."""
    names = input_names(model, [column for column in table.columns if column != target])
    X, y = split_target(table, target, names, _categorical(model, names), missing)
    return _as_fitted(model, X), y


def input_names(model: BaseEstimator, columns: list[str]) -> list[str]:
    """Which of a table's columns are the inputs of a fitted model."""
    if hasattr(model, "feature_names_in_"):
        return [str(name) for name in model.feature_names_in_]
    if len(columns) != model.n_features_in_:
        raise InvalidInput(
            f"the table must have {model.n_features_in_} input columns, in the order of fit because the model was "
            f"fitted without names, got {len(columns)}; fit it to a table instead"
        )
    return columns


def text_categories(model: BaseEstimator, names: Sequence[str]) -> list[str]:
    """Which of the inputs of a fitted model, called `names`, are categories that are text: a file must say them so."""
    return [names[coder.column] for coder in getattr(model, "coders_", ()) if isinstance(coder.levels[0], str)]


def _categorical(model: BaseEstimator, names: list[str]) -> list[str]:
    """Names of the categories, whether they were given by name, by number, or by the type of their column."""
    named = [which if isinstance(which, str) else names[which] for which in getattr(model, "categorical", None) or ()]
    return [*named, *(names[coder.column] for coder in getattr(model, "coders_", ()))]


def _as_fitted(model: BaseEstimator, X: pd.DataFrame) -> pd.DataFrame | AnyArray:
    return X if hasattr(model, "feature_names_in_") else X.to_numpy()


def require_column(name: str, frame: pd.DataFrame, role: str) -> None:
    """Refuse a name that no column has; `role` is what the user knows it as."""
    if name in frame.columns:
        return
    hint = suggest(name, frame.columns) or f"; the columns are {list_some(list(frame.columns))}"
    rule = "must be a column of the table" if role == "target" else "must be columns of the table"
    raise InvalidInput(f"{role} {rule}, got {name!r}{hint}")


def _numbers(column: pd.Series, rule: str, cure: str = "repair them") -> pd.Series:
    """A column as finite numbers; text is refused with the first places where it stands."""
    import pandas as pd

    _check_cells(column, rule.partition(" must ")[0])
    if column.dtype.kind in "mMc":  # times, dates, complex numbers
        raise InvalidInput(f"{rule}, got {column.dtype} in column {column.name!r}")
    values = pd.to_numeric(column, errors="coerce")
    text = values.isna().to_numpy()
    if text.any():
        first = column[text].iloc[0]
        raise InvalidInput(f"{rule}, got {first!r} in column {column.name!r}, {_places(column, text)}; {cure}")
    return values


def _check_cells(column: pd.Series, role: str) -> None:
    missing = column.isna().to_numpy()
    if missing.any():
        raise InvalidInput(
            f"{role} must not be missing, got no value in column {column.name!r}, "
            f"{_places(column, missing)}; drop or repair them"
        )
    infinite = ~np.isfinite(column.to_numpy(dtype=np.float64)) if column.dtype.kind == "f" else np.zeros(1, dtype=bool)
    if infinite.any():
        raise InvalidInput(
            f"{role} must be finite, got infinity in column {column.name!r}, "
            f"{_places(column, infinite)}; drop or repair them"
        )


def _places(column: pd.Series, marked: BoolArray) -> str:
    """How many rows are marked and where the first stand in the file.

    Example:
        >>> import pandas as pd
        >>> _places(pd.Series([1, 2, 3], index=pd.Index([2, 3, 4], name="line")), np.array([False, True, True]))
        '2 of 3 rows (lines 3, 4)'
    """
    return describe_rows(marked, labels=column.index, word=str(column.index.name or "row"))
