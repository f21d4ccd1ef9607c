"""Values that carry names, such as a row of a data frame, in the order of the names that an estimator knows.

What has no names is taken by position. Names that are none of ours are refused rather than read by position, for two
parameters that change places give a wrong posterior without a word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from genbayes.errors import InvalidInput


def in_order(values: Any, names: Sequence[str], role: str) -> Any:
    """Values (...) of these names: a frame by its columns, a series by its index, a dictionary by its keys.

    Args:
        values: What a user passed; what has no names, as an array or columns that are only numbered, comes back as it
            is.
        names: In the order wanted; if they are only numbered (theta1, theta2, ...), other names are read by position.
        role: "theta" or "y", for the message, and what numbered names begin with.

    Example:
        >>> in_order({"b": 2.0, "a": 1.0}, ["a", "b"], "theta")
        array([1., 2.])
        >>> in_order({"b": 2.0, "c": 1.0}, ["a", "b"], "theta")
        Traceback (most recent call last):
        genbayes.errors.InvalidInput: theta must have the values a, b, got b, c; rename or drop some, or pass an array
    """
    is_frame, is_mapping = hasattr(values, "columns"), isinstance(values, Mapping)
    labels = list(
        values if is_mapping else values.columns if is_frame else values.index if hasattr(values, "iloc") else ()
    )
    place = {str(label): label for label in labels}
    if len(labels) == len(names) and set(place) == set(names):
        ours = [place[name] for name in names]
        return _side_by_side([values[label] for label in ours], role) if is_mapping else values[ours]
    is_numbered = list(names) == [f"{role}{j + 1}" for j in range(len(names))]
    may_name = is_frame or len(names) > 1  # with a single name, the index of a series may name its rows
    has_names = may_name and any(isinstance(label, str) for label in labels)
    if not is_mapping and not set(place) & set(names) and (is_numbered or not has_names):
        return values
    raise InvalidInput(
        f"{role} must have the {'columns' if is_frame else 'values'} {', '.join(names)}, "
        f"got {', '.join(map(str, labels)) or 'none'}; rename or drop some, or pass an array"
    )


def names_of(values: Any) -> list[str]:
    """What the columns of a frame or the keys of a dictionary are called; none where they are only numbered or repeat.

    Example:
        >>> import pandas as pd
        >>> names_of(pd.DataFrame({"a": [1.0], "b": [2.0]})), names_of(pd.DataFrame([[1.0, 2.0]]))
        (['a', 'b'], [])
    """
    labels = list(values if isinstance(values, Mapping) else getattr(values, "columns", ()))
    names = [str(label) for label in labels]
    return names if any(isinstance(label, str) for label in labels) and len(set(names)) == len(names) else []


def _side_by_side(values: Sequence[Any], role: str) -> Any:
    """Values of each name, all () or all (n,), as (k,) or (n, k)."""
    shapes = {np.shape(value) for value in values}
    if len(shapes) > 1:
        shown = " and ".join(map(str, sorted(shapes, key=str)[:2]))
        raise InvalidInput(f"{role} must have as many values for each name, got shapes {shown}")
    return np.stack([np.asarray(value) for value in values], axis=-1)
