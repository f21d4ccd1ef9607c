"""Dataset: the runs a model learns from, immutable, in a canonical order.

`merged` makes a row of weight 2 and the same row given twice one and the same data set, to the bit: equal rows
become one, weights add up, rows are sorted. Whatever is computed from it cannot tell the two apart.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from genbayes.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class Dataset:
    """Inputs, responses and weights of n runs.

    Attributes:
        X: Inputs, shape (n, d).
        y: Responses, shape (n,).
        weight: Positive weights, shape (n,).
    """

    X: FloatArray
    y: FloatArray
    weight: FloatArray

    def __post_init__(self) -> None:
        assert self.X.ndim == 2
        assert self.y.shape == self.weight.shape == (len(self.X),)

    def __len__(self) -> int:
        return len(self.y)

    @classmethod
    def merged(cls, X: FloatArray, y: FloatArray, weight: FloatArray | None = None) -> Dataset:
        """The canonical data set: zero weights dropped, equal rows merged, sorted by inputs, then response.

        Args:
            X: Inputs, shape (n, d).
            y: Responses, shape (n,).
            weight: Non-negative weights, shape (n,); None for 1 each.

        Example:
            >>> data = Dataset.merged(np.array([[2.0], [1.0], [2.0]]), np.array([5.0, 4.0, 5.0]))
            >>> data.X.ravel(), data.weight
            (array([1., 2.]), array([1., 2.]))
        """
        weight = np.ones(len(y)) if weight is None else weight
        kept = weight > 0
        rows, order, is_new = _in_order(X[kept], y[kept])
        first = np.flatnonzero(is_new)
        return cls(rows[first, :-1], rows[first, -1], np.add.reduceat(weight[kept][order], first))

    def take(self, rows: IntArray) -> Dataset:
        """The data set of some rows.

        Example:
            >>> len(Dataset(np.zeros((3, 1)), np.zeros(3), np.ones(3)).take(np.array([0, 2])))
            2
        """
        return Dataset(self.X[rows], self.y[rows], self.weight[rows])

    def fingerprint(self) -> str:
        """SHA-256 over the numbers, to tell whether a model was fitted to these data.

        Example:
            >>> len(Dataset(np.zeros((1, 1)), np.zeros(1), np.ones(1)).fingerprint())
            64
        """
        digest = hashlib.sha256(repr(self.X.shape).encode())
        for part in (self.X, self.y, self.weight):
            digest.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
        return digest.hexdigest()


def merged_numbers(X: FloatArray, y: FloatArray) -> IntArray:
    """The row of `Dataset.merged` that each run becomes, (n, d) and (n,) -> (n,).

    Example:
        >>> merged_numbers(np.array([[2.0], [1.0], [2.0]]), np.array([5.0, 4.0, 5.0]))
        array([1, 0, 1])
    """
    _, order, is_new = _in_order(X, y)
    number = np.empty(len(y), dtype=np.int64)
    number[order] = np.cumsum(is_new) - 1
    return number


def _in_order(X: FloatArray, y: FloatArray) -> tuple[FloatArray, IntArray, BoolArray]:
    """Rows [x, y] sorted by inputs, then response; the order; and whether each differs from the one before it."""
    rows = np.column_stack([X, y]) + 0.0  # -0.0 becomes 0.0
    order = np.lexsort(rows.T[::-1])
    rows = rows[order]
    is_new = np.concatenate([np.ones(min(1, len(rows)), dtype=bool), (np.diff(rows, axis=0) != 0).any(axis=1)])
    return rows, order, is_new
