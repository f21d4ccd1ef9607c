"""Search and gather in many sorted rows at once, where NumPy offers one row at a time."""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from genbayes.arrays import FloatArray, IntArray

__all__ = ["gather", "rank", "row_chunks"]

CHUNK = 2**16  # elements worked on at a time, so that intermediate arrays stay in the processor's cache


def row_chunks(n: int, width: int) -> Iterator[slice]:
    """Slices that cover n rows, each of about `CHUNK` elements when a row has `width`.

    Example:
        >>> list(row_chunks(3, width=40_000))
        [slice(0, 1, None), slice(1, 2, None), slice(2, 3, None)]
    """
    height = max(CHUNK // max(width, 1), 1)
    for start in range(0, n, height):
        yield slice(start, min(start + height, n))


def rank(table: FloatArray, x: FloatArray, side: Literal["left", "right"]) -> IntArray:
    """How many entries of its row lie below x ("left"), or at most at x ("right").

    Args:
        table: Sorted rows, shape (n, M), or (1, M) for one row shared by all.
        x: Shape (n, j), or (1, j) if the table has one row.
        side: As in `numpy.searchsorted`.

    Returns:
        Counts from 0 to M, shape (n, j).

    Example:
        >>> rank(np.array([[1.0, 2.0], [2.0, 3.0]]), np.array([[2.0], [2.0]]), "left")
        array([[1],
               [0]])
    """
    if len(table) == 1:
        return np.searchsorted(table[0], x, side=side)
    counts = np.empty(x.shape, dtype=np.int64)
    for rows in row_chunks(*x.shape):
        counts[rows] = _bisect(np.ascontiguousarray(table[rows]), x[rows], side)
    return counts


def _bisect(table: FloatArray, x: FloatArray, side: Literal["left", "right"]) -> IntArray:
    """Binary search of all elements in step: the interval left has the same length for each of them."""
    passes = np.less if side == "left" else np.less_equal
    n, length = table.shape
    flat = table.ravel()
    start = (np.arange(n) * length)[:, None]
    position = np.repeat(start, x.shape[1], axis=1)
    while length > 1:
        half = length // 2
        position += half * passes(flat[position + (half - 1)], x)
        length -= half
    return position + passes(flat[position], x) - start


def gather(table: FloatArray, index: IntArray) -> FloatArray:
    """Entry `index` of each row; a table or an index with one row serves all rows of the other.

    Args:
        table: Shape (n, M) or (1, M).
        index: Shape (n, j) or (1, j), from 0 to M - 1.

    Returns:
        Shape (n, j), or (1, j) if both have one row.

    Example:
        >>> gather(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1, 0]]))
        array([[2., 1.],
               [4., 3.]])
    """
    if len(index) == 1:
        return np.take(table, index[0], axis=1)
    if len(table) == 1:
        return np.take(table[0], index)
    return np.take_along_axis(table, index, axis=1)
