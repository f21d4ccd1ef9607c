"""InputTable: a table of inputs whose columns can be held at chosen values, whatever kind of table it is.

Analyses ask a model about inputs that nobody ran. New values of a number lie within its range; a category, a
yes/no or a whole number only takes values that were observed, so no model is asked about what it cannot know.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import AnyArray, FloatArray, IntArray
from genbayes.data.matrix import as_table, is_frame
from genbayes.errors import InvalidInput
from genbayes.plotting.style import spans_decades

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class InputTable:
    """Inputs of n rows and d columns, with the names and kinds of the columns.

    Attributes:
        X: A pandas frame or an array, shape (n, d); handed to models in the same form.
        names: One name a column.
        categorical: For each column, whether its values are categories.
    """

    X: pd.DataFrame | AnyArray
    names: tuple[str, ...]
    categorical: tuple[bool, ...]

    @classmethod
    def of(cls, X: ArrayLike, model: object = None) -> InputTable:
        """The table of X; a model adds column names and says which numbers are categories.

        Args:
            X: A pandas or polars frame or anything like an array, shape (n, d).
            model: Its `feature_names_in_` and `categorical` are read where it has them.

        Example:
            >>> table = InputTable.of(np.array([[1.0, 2.0]]))
            >>> table.names, table.categorical
            (('x1', 'x2'), (False, False))
        """
        X = as_table(X)
        X = X if is_frame(X) else np.asarray(X)
        if X.ndim != 2 or 0 in X.shape:
            raise InvalidInput(f"X must have shape (n, d) with at least one row and one column, got {X.shape}")
        names = _names(X, model)
        categorical = getattr(model, "categorical", None)
        declared = {_index(which, names) for which in (() if categorical is None else categorical)}
        kinds = tuple(j in declared or not _holds_numbers(X, j) for j in range(X.shape[1]))
        return cls(X, names, kinds)

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """Number of columns."""
        return int(self.X.shape[1])

    def column(self, j: int) -> AnyArray:
        """Values of column j, shape (n,): float64, or objects where they are categories."""
        kind = object if self.categorical[j] else np.float64
        return np.asarray(self.X.iloc[:, j] if is_frame(self.X) else self.X[:, j], dtype=kind)

    def take(self, rows: IntArray) -> InputTable:
        """The table of some rows."""
        X = self.X.iloc[rows] if is_frame(self.X) else self.X[rows]
        return InputTable(X, self.names, self.categorical)

    def replace(self, j: int, values: AnyArray) -> InputTable:
        """The same rows with column j set to `values`, shape (n,), in the column's own type."""
        X = self.X.copy()
        if is_frame(X):
            import pandas as pd

            X.isetitem(j, pd.Series(values, dtype=X.dtypes.iloc[j]).array)
        else:
            X[:, j] = values
        return InputTable(X, self.names, self.categorical)

    def grid(self, j: int, n_grid: int) -> AnyArray:
        """At most `n_grid` values of column j to try: the commonest categories, or numbers across the range."""
        values = self.column(j)
        if not self.categorical[j]:
            return spread_values(values, n_grid)
        labels, counts = _count_labels(values)
        commonest = np.sort(np.argsort(-counts, kind="stable")[:n_grid])
        return labels[commonest]

    def typical_row(self) -> InputTable:
        """One row: the median of each number (an observed value), the commonest of each category."""
        row = self.take(np.array([0]))
        for j in range(self.d):
            row = row.replace(j, np.array([self._typical(j)]))
        return row

    def _typical(self, j: int) -> object:
        if not self.categorical[j]:
            return float(np.quantile(self.column(j), 0.5, method="inverted_cdf"))
        labels, counts = _count_labels(self.column(j))
        return labels[int(np.argmax(counts))]


def spread_values(values: FloatArray, n_grid: int) -> FloatArray:
    """At most `n_grid` distinct values that cover a column of numbers.

    Whole numbers and columns that often repeat themselves keep to observed values. Of the others, half the
    points spread evenly over the range (evenly in the logarithm where it spans decades), half follow the
    column's own quantiles: long tails are crossed and the bulk is resolved.

    Args:
        values: The column, shape (n,).
        n_grid: Number of points.

    Returns:
        Increasing values from the smallest to the largest observed, at most (n_grid,).

    Example:
        >>> spread_values(np.array([3.0, 1.0, 3.0, 2.0]), 10)
        array([1., 2., 3.])
    """
    observed: FloatArray = np.unique(values)
    if len(observed) <= len(values) / 2 or (observed == np.round(observed)).all():
        chosen = np.linspace(0, len(observed) - 1, min(n_grid, len(observed))).round().astype(int)
        return np.asarray(observed[chosen])
    n_even = n_grid // 2
    low, high = float(observed[0]), float(observed[-1])
    even = np.geomspace(low, high, n_even) if spans_decades(values) else np.linspace(low, high, n_even)
    by_rank = np.quantile(values, np.linspace(0, 1, n_grid - n_even))
    points: FloatArray = np.unique(np.r_[even, by_rank].clip(low, high))  # geomspace may miss an end by rounding
    return points


def _names(X: pd.DataFrame | AnyArray, model: object) -> tuple[str, ...]:
    if is_frame(X):
        return tuple(str(name) for name in X.columns)
    known = getattr(model, "feature_names_in_", None)
    if known is not None and len(known) == X.shape[1]:
        return tuple(str(name) for name in known)
    return tuple(f"x{j + 1}" for j in range(X.shape[1]))


def _index(which: object, names: tuple[str, ...]) -> int:
    """The number of a column given by name or by number, negative ones from the end."""
    if isinstance(which, Integral):
        return int(which) % len(names)
    return names.index(str(which)) if str(which) in names else -1


def _holds_numbers(X: pd.DataFrame | AnyArray, j: int) -> bool:
    kind = X.dtypes.iloc[j] if is_frame(X) else X.dtype
    if getattr(kind, "kind", "O") != "O":
        return kind.kind in "iuf"  # not yes/no, text or dates
    values = X.iloc[:, j] if is_frame(X) else X[:, j]
    return all(isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) for value in values)


def _count_labels(values: AnyArray) -> tuple[AnyArray, IntArray]:
    """Distinct categories, sorted as text, and how often each occurs."""
    by_text = {str(value): value for value in values}
    text, counts = np.unique([str(value) for value in values], return_counts=True)
    labels = np.empty(len(text), dtype=object)
    labels[:] = [by_text[word] for word in text]
    return labels, counts.astype(np.int64)
