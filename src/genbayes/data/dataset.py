"""Dataset: the runs a model learns from, immutable, in a canonical order.

`merged` makes a row of weight 2 and the same row given twice one and the same data set, to the bit: equal rows
become one, weights add up, rows are sorted. Whatever is computed from it cannot tell the two apart.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from genbayes.arrays import BoolArray, FloatArray, IntArray

HashArray = npt.NDArray[np.uint64]

NO_HASHES: HashArray = np.empty((0, 2), dtype=np.uint64)


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
        weight = np.ones(len(y)) if weight is None else np.asarray(weight)
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


def number_inputs(X: FloatArray) -> IntArray:
    """Number of the distinct input that each row has, from 0 by first appearance, (n, d) -> (n,).

    Example:
        >>> number_inputs(np.array([[2.0], [1.0], [2.0]]))
        array([0, 1, 0])
    """
    return renumber(merged_numbers(X, np.zeros(len(X))))


def number_runs(X: FloatArray, y: FloatArray) -> IntArray:
    """Number of the distinct row (x, y) that each row is, from 0 by first appearance, (n, d) and (n,) -> (n,).

    Example:
        >>> number_runs(np.array([[2.0], [1.0], [2.0]]), np.array([5.0, 4.0, 6.0]))
        array([0, 1, 2])
    """
    return renumber(merged_numbers(X, y))


def renumber(group: IntArray) -> IntArray:
    """Numbers of groups changed to 0, 1, 2, ... in the order of first appearance, (n,) -> (n,).

    Example:
        >>> renumber(np.array([7, 3, 7]))
        array([0, 1, 0])
    """
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    place = np.empty(len(first), dtype=np.int64)
    place[np.argsort(first)] = np.arange(len(first))
    return place[inverse.reshape(-1)]


def hash_rows(X: FloatArray, y: FloatArray, n_kept: int | None = None) -> HashArray:
    """64-bit hashes of each row's inputs and of inputs and response, to tell later whether a row is among them.

    splitmix64 (Steele, Lea & Flood 2014) over the bits of the numbers. Of more than `n_kept` rows, those with the
    smallest hashes of inputs are kept: a sample that depends on the rows alone, so that another table's rows can be
    looked up in it.

    Args:
        X: Inputs, shape (n, d).
        y: Responses, shape (n,).
        n_kept: Most rows to keep; None for all, in their order.

    Returns:
        Shape (n, 2), or (n_kept, 2), sorted by the hash of the inputs.

    Example:
        >>> len(np.unique(hash_rows(np.array([[1.0], [1.0], [2.0]]), np.array([5.0, 6.0, 5.0]))[:, 0]))
        2
    """
    inputs = np.zeros(len(y), dtype=np.uint64)
    for j in range(X.shape[1]):
        inputs = _mixed(inputs, X[:, j])
    hashes = np.column_stack([inputs, _mixed(inputs, y)])
    return hashes if n_kept is None else smallest_hashes(hashes, n_kept)


def smallest_hashes(hashes: HashArray, n_kept: int) -> HashArray:
    """Of more rows those with the smallest hashes of inputs, sorted by them, (n, 2) -> (n_kept, 2)."""
    return hashes[np.argsort(hashes[:, 0], kind="stable")[:n_kept]]


def _mixed(hashes: HashArray, values: FloatArray) -> HashArray:
    """One step of splitmix64 with the bits of a column, (n,) -> (n,); overflow is meant."""
    bits = np.ascontiguousarray(values + 0.0, dtype="<f8").view("<u8")  # -0.0 becomes 0.0
    z = (hashes ^ bits) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: HashArray = z ^ (z >> np.uint64(31))
    return mixed


def are_among(known: HashArray, hashes: HashArray, by: Literal["run", "input"]) -> BoolArray:
    """Which rows are among known ones, by inputs and response or by inputs alone; both as `hash_rows` has them, (n,).

    Example:
        >>> X, y = np.array([[1.0], [2.0]]), np.array([5.0, 6.0])
        >>> known, other = hash_rows(X, y, n_kept=10), hash_rows(X, np.array([5.0, 7.0]))
        >>> are_among(known, other, "run"), are_among(known, other, "input")
        (array([ True, False]), array([ True,  True]))
    """
    column = 0 if by == "input" else 1
    return np.isin(hashes[:, column], known[:, column])


def _in_order(X: FloatArray, y: FloatArray) -> tuple[FloatArray, IntArray, BoolArray]:
    """Rows [x, y] sorted by inputs, then response; the order; and whether each differs from the one before it."""
    rows = np.column_stack([X, y]) + 0.0  # -0.0 becomes 0.0
    order = np.lexsort(rows.T[::-1])
    rows = rows[order]
    is_new = np.concatenate([np.ones(min(1, len(rows)), dtype=bool), (np.diff(rows, axis=0) != 0).any(axis=1)])
    return rows, order, is_new
