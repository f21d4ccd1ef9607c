"""What a simulator gives as the one number that counts, or why it is none."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from genbayes.errors import InvalidInput

__all__ = ["as_response", "read_number"]

LONGEST_SHOWN = 60  # characters of a response that is none


def as_response(y: Any) -> float:
    """One finite number: a number, or an array that holds one.

    Example:
        >>> as_response([2])
        2.0
        >>> as_response("diverged")
        Traceback (most recent call last):
        genbayes.errors.InvalidInput: y must be a finite number, got 'diverged'
    """
    if isinstance(y, (list, tuple, np.ndarray)) or (hasattr(y, "shape") and hasattr(y, "__array__")):
        values = np.asarray(y)
        if values.size != 1:
            raise InvalidInput(f"y must be one number, got {values.size} values")
        y = values.reshape(-1)[0]
        y = y.item() if isinstance(y, np.generic) else y
    if isinstance(y, bool) or not isinstance(y, Real) or not math.isfinite(y):
        shown = repr(y) if len(repr(y)) <= LONGEST_SHOWN else repr(y)[:LONGEST_SHOWN] + "..."
        raise InvalidInput(f"y must be a finite number, got {shown}")
    return float(y)


def read_number(text: str) -> float | str:
    """A number that somebody typed, or the text itself if it is none.

    Example:
        >>> read_number("1e-3"), read_number("diverged")
        (0.001, 'diverged')
    """
    try:
        return float(text)
    except ValueError:
        return text
