"""From points of a space's unit cube to what models see: a category becomes one column for each of its values."""

from __future__ import annotations

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.data.space import Box, Choice

__all__ = ["encode"]


def encode(space: Box, U: FloatArray) -> FloatArray:
    """Columns for a model, (n, d) -> (n, p); the same for all points that mean the same inputs.

    Args:
        space: The inputs.
        U: Points of the unit cube.

    Example:
        >>> from genbayes.data.space import Integer
        >>> space = Box({"x": (0.0, 9.0), "n": Integer(1, 2), "gas": Choice("He", "O2")})
        >>> encode(space, np.array([[0.3, 0.2, 0.9]]))
        array([[0.3 , 0.25, 0.  , 1.  ]])
    """
    kinds = list(space.inputs.values())
    if space.is_continuous.all():
        return U
    U = space.snap(U)
    columns = []
    for j, kind in enumerate(kinds):
        if isinstance(kind, Choice):
            step = np.minimum((U[:, j] * len(kind.values)).astype(np.int64), len(kind.values) - 1)
            columns.append(np.eye(len(kind.values))[step])
        else:
            columns.append(U[:, j : j + 1])
    return np.hstack(columns)
