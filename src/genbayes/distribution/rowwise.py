"""Search in many sorted rows at once, where NumPy offers one row at a time.

Elements are flat: element e reads row `row[e]` of a table, which may have one row that serves all.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from genbayes.arrays import FloatArray, IntArray

CHUNK = 2**16  # elements worked on at a time, so that intermediate arrays stay in the processor's cache


def chunks(n: int, width: int = 1) -> Iterator[slice]:
    """Slices that cover n rows, each of about `CHUNK` elements when a row has `width`.

    Example:
        >>> list(chunks(3, width=40_000))
        [slice(0, 1, None), slice(1, 2, None), slice(2, 3, None)]
    """
    height = max(CHUNK // max(width, 1), 1)
    for start in range(0, n, height):
        yield slice(start, min(start + height, n))


def row_of(shape: tuple[int, ...]) -> IntArray:
    """Row of each element of a flattened (n, j) table.

    Example:
        >>> row_of((2, 3))
        array([0, 0, 0, 1, 1, 1])
    """
    return np.repeat(np.arange(shape[0]), shape[1])


def entry(table: FloatArray, row: IntArray, i: IntArray) -> FloatArray:
    """Entry i of each element's row.

    Args:
        table: Shape (n, M), or (1, M) for one row that serves all.
        row: Shape (N,).
        i: From 0 to M - 1, shape (N,).

    Returns:
        Shape (N,).

    Example:
        >>> entry(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1]), np.array([1, 0]))
        array([2., 3.])
    """
    if len(table) == 1:
        return np.take(table[0], i)
    entries: FloatArray = np.take(table.ravel(), row * table.shape[1] + i)
    return entries


def rank(table: FloatArray, row: IntArray, x: FloatArray, side: Literal["left", "right"]) -> IntArray:
    """How many entries of its row lie below x ("left"), or at most at x ("right").

    Args:
        table: Sorted rows, shape (n, M), or (1, M) for one row that serves all.
        row: Shape (N,).
        x: Shape (N,).
        side: As in `numpy.searchsorted`.

    Returns:
        Counts from 0 to M, shape (N,).

    Example:
        >>> rank(np.array([[1.0, 2.0], [2.0, 3.0]]), np.array([0, 1]), np.array([2.0, 2.0]), "left")
        array([1, 0])
    """
    if len(table) == 1:
        return np.searchsorted(table[0], x, side=side)
    count = np.empty(x.shape, dtype=np.int64)
    for some in chunks(len(x)):
        count[some] = _bisect(table, row[some], x[some], side)
    return count


def _bisect(table: FloatArray, row: IntArray, x: FloatArray, side: Literal["left", "right"]) -> IntArray:
    """Binary search of all elements in step: the stretch left to search has the same length for each of them."""
    passes = np.less if side == "left" else np.less_equal
    length = table.shape[1]
    flat, start = table.ravel(), row * length
    position = start.copy()
    while length > 1:
        half = length // 2
        position += half * passes(flat[position + (half - 1)], x)
        length -= half
    count: IntArray = position + passes(flat[position], x) - start
    return count
