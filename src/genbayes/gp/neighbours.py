"""Nearest training rows, and nearest rows among those that come earlier in an order.

A k-d tree while few inputs matter, brute force by matrix products beyond. Distances are plain Euclidean: callers
divide the inputs by their length scales first, so that nearest means most correlated.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.spatial import KDTree

from genbayes.arrays import FloatArray, IntArray

__all__ = ["NearestRows", "nearest_previous", "with_random_previous"]

TREE_INPUTS = 8  # with more inputs that matter a k-d tree visits nearly every row
MATTERS = 0.1  # an input matters if it spreads at least this share of the widest one
DISTANCES_AT_ONCE = 4_000_000  # of the brute force: 16 MB in single precision
SMALL_BLOCK = 256  # rows at the beginning of the order, searched by brute force
EARLIER_SHARE = 3  # at least half of a block's rows come earlier, so three times m nearly always hold m earlier ones


class NearestRows:
    """An index of rows W, shape (n, p), that answers which of them are nearest to others.

    Example:
        >>> index = NearestRows(np.array([[0.0], [1.0], [5.0]]))
        >>> index.find(np.array([[4.0], [0.4]]), 2)
        array([[2, 1], [0, 1]])
    """

    def __init__(self, W: FloatArray) -> None:
        self.W = W
        spread = W.std(axis=0)
        self.tree = KDTree(W) if (spread > MATTERS * spread.max()).sum() <= TREE_INPUTS else None

    def find(self, W_new: FloatArray, m: int) -> IntArray:
        """Numbers of the m nearest rows of each new row, nearest first, (n_new, p) -> (n_new, min(m, n))."""
        m = min(m, len(self.W))
        if self.tree is None:
            return _brute(self.W, W_new, m)
        return np.asarray(self.tree.query(W_new, k=np.arange(1, m + 1))[1], dtype=np.int64)


def nearest_previous(W: FloatArray, rows: IntArray, m: int) -> IntArray:
    """The m nearest of the rows that come earlier: the conditioning sets of a Vecchia approximation.

    Args:
        W: All rows in their order, shape (n, p).
        rows: Row numbers whose neighbours are wanted, shape (b,).
        m: Number of neighbours.

    Returns:
        Row numbers, shape (b, m), -1 where a row has fewer than m predecessors.

    Example:
        >>> nearest_previous(np.array([[0.0], [1.0], [5.0], [2.0]]), np.array([0, 1, 3]), 2)
        array([[-1, -1], [ 0, -1], [ 1, 0]])
    """
    found = np.full((len(rows), m), -1, dtype=np.int64)
    start, stop = 0, SMALL_BLOCK
    while start < len(W):
        here = np.flatnonzero((rows >= start) & (rows < stop))
        if len(here):
            found[here] = _previous_in_block(W[:stop], rows[here], m, by_brute_force=start == 0)
        start, stop = stop, 2 * stop
    return found


def with_random_previous(rows: IntArray, neighbours: IntArray, n_random: int, rng: np.random.Generator) -> IntArray:
    """Conditioning sets with some random earlier rows added, which know what happens farther away.

    Args:
        rows: Row numbers, shape (b,).
        neighbours: Their nearest earlier rows, -1 where missing, shape (b, m).
        n_random: How many to add at most; rows drawn twice count once.
        rng: Draws them.

    Returns:
        Row numbers, shape (b, m + n_random), -1 where missing, no row twice.

    Example:
        >>> with_random_previous(np.array([2]), np.array([[0]]), 1, np.random.default_rng(0))
        array([[0, 1]])
    """
    drawn = (rng.random((len(rows), n_random)) * rows[:, None]).astype(np.int64)
    both = np.concatenate([neighbours, np.where(rows[:, None] > 0, drawn, -1)], axis=1)
    both.sort(axis=1)
    both[:, 1:][both[:, 1:] == both[:, :-1]] = -1
    return both


def _previous_in_block(W: FloatArray, rows: IntArray, m: int, *, by_brute_force: bool) -> IntArray:
    """Neighbours among W, shape (c, p), of rows most of which lie in its later half."""
    if by_brute_force:
        return _brute_previous(W, rows, m)
    near = NearestRows(W).find(W[rows], EARLIER_SHARE * m)
    is_earlier = near < rows[:, None]
    enough = is_earlier.sum(axis=1) >= m
    near = np.take_along_axis(near, np.argsort(~is_earlier, axis=1, kind="stable"), axis=1)  # earlier ones first
    near = np.concatenate([near, np.full((len(rows), max(0, m - near.shape[1])), -1)], axis=1)[:, :m]
    near[~enough] = _brute_previous(W, rows[~enough], m)
    return near


def _brute_previous(W: FloatArray, rows: IntArray, m: int) -> IntArray:
    found = np.full((len(rows), m), -1, dtype=np.int64)
    for place, row in enumerate(rows):
        if row > 0:
            near = _brute(W[:row], W[row : row + 1], min(m, int(row)))
            found[place, : near.shape[1]] = near
    return found


def _brute(W: FloatArray, W_new: FloatArray, m: int) -> IntArray:
    """The m nearest rows by |w|^2 - 2 w'w_new; single precision is enough to tell neighbours from strangers."""
    centre = W.mean(axis=0)
    rows, new = (torch.from_numpy(np.ascontiguousarray(part - centre)).float() for part in (W, W_new))
    norms = (rows * rows).sum(1)
    chunks = new.split(max(1, DISTANCES_AT_ONCE // len(W)))
    found = [torch.addmm(norms, chunk, rows.T, alpha=-2).topk(m, dim=1, largest=False).indices for chunk in chunks]
    return torch.cat(found).numpy() if found else np.zeros((0, m), dtype=np.int64)
