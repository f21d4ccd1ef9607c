"""Values that carry names, such as a row of a data frame, in the order of the names that an estimator knows.

What has no names is taken by position. Names that are none of ours are refused rather than read by position, for two
parameters that change places give a wrong posterior without a word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from genbayes.errors import InvalidInput


def in_order(values: Any, names: Sequence[str], role: str, stem: str | None = None) -> Any:
    """Values (...) of these names: a frame by its columns, a series by its index, a dictionary by its keys.

    Args:
        values: What a user passed; what has no names, as an array or columns that are only numbered, comes back as it
            is.
        names: In the order wanted; if they are only numbered (theta1, theta2, ...), other names are read by position.
        role: What the values are called in the message: "theta", "y" or "truth".
        stem: What numbered names begin with; None for the role.

    Example:
        >>> in_order({"b": 2.0, "a": 1.0}, ["a", "b"], "theta")
        array([1., 2.])
        >>> in_order({"b": 2.0, "c": 1.0}, ["a", "b"], "theta")
        Traceback (most recent call last):
        genbayes.errors.InvalidInput: theta must have the keys a, b, got b, c; rename or drop some, or pass an array
    """
    is_frame, is_mapping = hasattr(values, "columns"), isinstance(values, Mapping)
    labels = _labels(values)
    place = {str(label): label for label in labels}
    if len(labels) == len(names) and set(place) == set(names):
        ours = [place[name] for name in names]
        return _side_by_side([values[label] for label in ours], role) if is_mapping else values[ours]
    is_numbered = list(names) == [f"{stem or role}{j + 1}" for j in range(len(names))]
    may_name = is_frame or len(names) > 1  # with a single name, the index of a series may name its rows
    has_names = may_name and any(isinstance(label, str) for label in labels)
    if not is_mapping and not set(place) & set(names) and (is_numbered or not has_names):
        return values
    raise InvalidInput(
        f"{role} must have the {'columns' if is_frame else 'keys' if is_mapping else 'values'} {', '.join(names)}, "
        f"got {', '.join(map(str, labels)) or 'none'}; rename or drop some, or pass an array"
    )


def one_of(values: Any, name: str, names: Sequence[str], role: str) -> Any:
    """Values (...) of one name, from values with that name alone or with all names; without names as they are.

    Example:
        >>> one_of({"b": [2.0, 3.0], "a": [1.0, 4.0]}, "b", ["a", "b"], "theta")
        array([2., 3.])
    """
    labels = _labels(values)
    for asked in (list(names), [name]):
        if len(labels) == len(asked) and set(map(str, labels)) == set(asked):
            return np.asarray(in_order(values, asked, role))[..., asked.index(name)]
    is_series = hasattr(values, "iloc") and not hasattr(values, "columns")  # whose index names its rows
    return values if is_series else in_order(values, [name], role)


def as_table(values: Any, role: str) -> Any:
    """A dictionary of columns as a frame; anything else as it is.

    Example:
        >>> as_table({"b": [2.0, 3.0], "a": [1.0, 4.0]}, "y").columns.tolist()
        ['b', 'a']
    """
    if not isinstance(values, Mapping):
        return values
    import pandas as pd

    columns = np.atleast_2d(_side_by_side(list(values.values()), role)) if values else np.empty((0, 0))
    if columns.ndim != 2:
        raise InvalidInput(f"{role} must have one column of values for each name, got shape {columns.shape[:-1]}")
    return pd.DataFrame(columns, columns=list(values))


def names_of(values: Any) -> list[str]:
    """What the columns of a frame or the keys of a dictionary are called; none where they are only numbered or repeat.

    Example:
        >>> import pandas as pd
        >>> names_of(pd.DataFrame({"a": [1.0], "b": [2.0]})), names_of(pd.DataFrame([[1.0, 2.0]]))
        (['a', 'b'], [])
    """
    labels = _labels(values) if isinstance(values, Mapping) or hasattr(values, "columns") else []
    names = [str(label) for label in labels]
    return names if any(isinstance(label, str) for label in labels) and len(set(names)) == len(names) else []


def _labels(values: Any) -> list[Any]:
    """Keys of a dictionary, columns of a frame, the index of a series; none of anything else."""
    if isinstance(values, Mapping):
        return list(values)
    return list(values.columns if hasattr(values, "columns") else values.index if hasattr(values, "iloc") else ())


def _side_by_side(values: Sequence[Any], role: str) -> Any:
    """Values of each name, all () or all (n,), as (k,) or (n, k)."""
    try:
        shapes = {np.shape(value) for value in values}
    except ValueError:
        raise InvalidInput(
            f"{role} must have a number or a list of numbers for each name, got lists in a list"
        ) from None
    if len(shapes) > 1:
        shown = " and ".join(map(str, sorted(shapes, key=str)[:2]))
        raise InvalidInput(f"{role} must have the same number of values for each name, got shapes {shown}")
    return np.stack([np.asarray(value) for value in values], axis=-1)
