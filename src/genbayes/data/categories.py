"""Categorical inputs: values of a column become codes 0, 1, 2, ... in a fixed order.

Text and numbers both may name categories. The order is sorted, so that it depends on the set of values seen and
not on their sequence in the table. What a code becomes later, one-hot or embedded, is `scaling`'s concern.
"""

from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import BoolArray, FloatArray
from genbayes.errors import InvalidInput
from genbayes.validation import describe_rows, list_some


@dataclass(frozen=True)
class CategoryCoder:
    """The categories of one input column, in the order of their codes.

    Attributes:
        column: Index of the column in X.
        name: Its name, or `column 3` where the table has none.
        levels: The categories, all text or all numbers.
    """

    column: int
    name: str
    levels: tuple[str, ...] | tuple[float, ...]

    @classmethod
    def learn(cls, column: int, name: str, values: ArrayLike) -> "CategoryCoder":
        """The coder of a column's values, shape (n,).

        Example:
            >>> CategoryCoder.learn(0, "gas", ["O2", "He", "O2"]).levels
            ('He', 'O2')
        """
        seen = _as_labels(values, name)
        return cls(column, name, tuple(sorted(set(seen))))

    def encode(self, values: ArrayLike) -> FloatArray:
        """Codes of a column's values, (n,) -> (n,).

        Example:
            >>> CategoryCoder(0, "gas", ("He", "O2")).encode(["O2", "He"])
            array([1., 0.])
        """
        code_of: dict[Any, int] = {level: code for code, level in enumerate(self.levels)}
        asked = _as_labels(values, self.name, text=isinstance(self.levels[0], str))
        asked = [
            _as_named(label, value, code_of) for label, value in zip(asked, np.asarray(values, object), strict=True)
        ]
        codes = np.array([code_of.get(label, -1) for label in asked], dtype=np.float64)
        unknown = codes < 0
        if unknown.any():
            first = asked[int(np.flatnonzero(unknown)[0])]
            raise InvalidInput(
                f"X[{self.name!r}] must hold categories seen in fit ({list_some(self.levels)}), "
                f"got {first!r} in {_places(values, unknown)}"
            )
        return codes


def _as_named(label: str | float, value: object, known: Container[Any]) -> str | float:
    """The label of a cell; 1.0, as a gap in its column makes of the number 1, is the text '1'."""
    if isinstance(label, str) and label not in known and isinstance(value, float) and value.is_integer():
        return str(int(value))
    return label


def _places(values: ArrayLike, marked: BoolArray) -> str:
    """How many rows are marked and which; in a column that came from a file, on which lines they stand.

    Example:
        >>> import pandas as pd
        >>> _places(pd.Series(["He", "Xe"], index=pd.Index([2, 3], name="line")), np.array([False, True]))
        '1 of 2 rows (line 3)'
    """
    index = getattr(values, "index", None)
    if getattr(index, "name", None) == "line":
        return describe_rows(marked, labels=index, word="line")
    return describe_rows(marked)


def _as_labels(values: ArrayLike, name: str, text: bool | None = None) -> list[Any]:
    """Categories as a list of text or of numbers; a missing one is refused."""
    raw = np.asarray(values, dtype=object)
    missing = np.array([_is_missing(value) for value in raw])
    if missing.any():
        raise InvalidInput(f"X[{name!r}] must not have missing categories, got {describe_rows(missing)}; name them")
    if text is None:
        text = any(isinstance(value, str) for value in raw)
    if text:
        return [str(value) for value in raw]
    try:
        return [float(value) for value in raw]
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"X[{name!r}] must hold numbers as in fit, got {raw[0]!r}") from error


def _is_missing(value: object) -> bool:
    """None, NaN, NaT or pandas' NA, of which the last answers no comparison."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)
