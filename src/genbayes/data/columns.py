"""Which columns of a table are inputs and which is the response, and whether every cell is fit for use.

The last door before a model for tables that came from a file: a message names columns and, through the frame's
index, lines of the file. Text inputs pass; the estimator accepts those that are named as categories.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from genbayes.arrays import BoolArray, FloatArray, IntArray
from genbayes.errors import InvalidInput
from genbayes.seeding import RandomState, as_generator
from genbayes.validation import SHOWN_ROWS, check_level, suggest

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["hold_out", "select_inputs", "split_target"]

SHOWN_COLUMNS = 8  # a message lists this many column names


def split_target(
    frame: pd.DataFrame, target: str, inputs: Sequence[str] | None = None, categorical: Collection[str] | None = None
) -> tuple[pd.DataFrame, FloatArray]:
    """Inputs and response of a table.

    Args:
        frame: One run a row, as `read_table` gives it.
        target: The column that holds the response.
        inputs: The columns that hold the inputs; None for all others.
        categorical: The inputs that may be text; None leaves that question to the estimator.

    Returns:
        X, a frame of d columns without missing or infinite cells, and y, finite, shape (n,).

    Example:
        >>> import pandas as pd
        >>> X, y = split_target(pd.DataFrame({"x": [1, 2], "y": [3, 4]}), "y")
        >>> X.columns.tolist(), y
        (['x'], array([3., 4.]))
    """
    _check_name(target, frame, "target")
    names = [name for name in frame.columns if name != target] if inputs is None else list(inputs)
    if target in names:
        raise InvalidInput(f"inputs must not contain the target, got {target!r} among them")
    if not names:
        raise InvalidInput(f"table must have an input beside the target, got the column {target!r} alone")
    return select_inputs(frame, names, categorical), _numbers(frame[target], "target must be numbers").to_numpy(
        np.float64
    )


def select_inputs(
    frame: pd.DataFrame, names: Sequence[str], categorical: Collection[str] | None = None
) -> pd.DataFrame:
    """The named columns in the order asked for, if all are there and no cell is missing or infinite.

    Args:
        frame: The table.
        names: The columns that hold the inputs.
        categorical: Those that may be text; None leaves that question to the estimator.

    Example:
        >>> import pandas as pd
        >>> select_inputs(pd.DataFrame({"note": ["a"], "x": [1.5]}), ["x"]).to_dict("list")
        {'x': [1.5]}
    """
    for name in [*names, *(categorical or ())]:
        _check_name(name, frame, "inputs")
    X = frame[list(names)]
    for name in names:
        _check_cells(X[name], "inputs")
        if categorical is not None and name not in categorical:
            _numbers(
                X[name],
                "inputs must be numbers unless they are categories",
                "repair them or name the column in categorical",
            )
    return X


def hold_out(n: int, share: float, random_state: RandomState) -> tuple[IntArray, IntArray]:
    """Row numbers of a random split: (1 - share) of n rows to learn from, `share` to score on, each sorted.

    Example:
        >>> [len(part) for part in hold_out(10, 0.2, 0)]
        [8, 2]
    """
    order = as_generator(random_state).permutation(n)
    n_held = max(1, round(check_level(share) * n))
    return np.sort(order[n_held:]), np.sort(order[:n_held])


def _check_name(name: str, frame: pd.DataFrame, role: str) -> None:
    if name in frame.columns:
        return
    listed = ", ".join(repr(column) for column in frame.columns[:SHOWN_COLUMNS])
    more = ", ..." if len(frame.columns) > SHOWN_COLUMNS else ""
    hint = suggest(name, frame.columns) or f"; the columns are {listed}{more}"
    rule = "must be a column of the table" if role == "target" else "must be columns of the table"
    raise InvalidInput(f"{role} {rule}, got {name!r}{hint}")


def _numbers(column: pd.Series, rule: str, cure: str = "repair them") -> pd.Series:
    """A column as finite numbers; text is refused with the first places where it stands."""
    import pandas as pd

    _check_cells(column, rule.split()[0])
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
    if column.dtype.kind != "f":
        return
    infinite = ~np.isfinite(column.to_numpy(dtype=np.float64))
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
    labels = column.index[marked]
    word = str(column.index.name or "row") + ("s" if len(labels) > 1 else "")
    shown = ", ".join(str(label) for label in labels[:SHOWN_ROWS])
    more = ", ..." if len(labels) > SHOWN_ROWS else ""
    return f"{len(labels)} of {len(column)} rows ({word} {shown}{more})"
