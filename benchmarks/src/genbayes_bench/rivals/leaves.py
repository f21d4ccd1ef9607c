"""Training runs in the leaves of a forest, and the law that they make at a new x.

Meinshausen (2006): a new x falls into one leaf of every tree; training run i then has the weight

    w_i(x) = mean over trees of mass_i 1{x_i in the leaf of x} / (total mass in that leaf),

mass_i how often, or with what weight, the tree has seen it; the law of y at x is the responses with these weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from genbayes.arrays import BoolArray, FloatArray, IntArray
from genbayes.errors import UnreadableFile
from genbayes.persistence import State

__all__ = ["LeafRuns", "weighted_quantiles"]

ROWS_AT_ONCE = 500


@dataclass(frozen=True)
class LeafRuns:
    """Runs and the leaves they lie in.

    Attributes:
        y: Responses, increasing, shape (n,).
        weight: Weight of each run beside the number of its draws, shape (n,).
        leaf: Leaf of each run in each tree, as a node number, shape (n, t).
        drawn: How often each run was drawn for each tree, shape (n, t).
        n_nodes: Number of nodes of all trees.
    """

    y: FloatArray
    weight: FloatArray
    leaf: IntArray
    drawn: IntArray
    n_nodes: int
    _shares: csr_array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        row, tree = np.nonzero(self.drawn)
        node, mass = self.leaf[row, tree], self.weight[row] * self.drawn[row, tree]
        total = np.bincount(node, weights=mass, minlength=self.n_nodes)
        shares = csr_array((mass / total[node], (node, row)), shape=(self.n_nodes, len(self.y)))
        object.__setattr__(self, "_shares", shares)  # mass_i / (total mass in the leaf), a row per leaf

    @classmethod
    def sort(cls, y: FloatArray, weight: FloatArray, leaf: IntArray, drawn: IntArray, n_nodes: int) -> LeafRuns:
        """As the constructor, from runs in any order."""
        order = np.argsort(y, kind="stable")
        return cls(y[order], weight[order], leaf[order], drawn[order], n_nodes)

    def quantiles(self, leaf: IntArray, tau: FloatArray, asked: BoolArray | None = None) -> FloatArray:
        """Quantiles of the laws at new inputs.

        Args:
            leaf: Leaf of each new input in each tree, shape (b, t).
            tau: Levels, shape (m,).
            asked: Trees that each new input asks, at least one, shape (b, t); None for all.

        Returns:
            Quantiles, shape (b, m).

        Example:
            >>> one_leaf = np.zeros((3, 1), dtype=int)
            >>> runs = LeafRuns(np.array([1.0, 2.0, 6.0]), np.ones(3), one_leaf, np.array([[1], [1], [2]]), n_nodes=1)
            >>> runs.quantiles(one_leaf[:1], np.array([0.125, 0.375, 0.75]))
            array([[1., 2., 6.]])
        """
        q = np.empty((len(leaf), len(tau)))
        for start in range(0, len(leaf), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            weights = self._weights(leaf[part], None if asked is None else asked[part])
            for i in range(weights.shape[0]):
                own = slice(weights.indptr[i], weights.indptr[i + 1])
                q[start + i] = weighted_quantiles(self.y[weights.indices[own]], weights.data[own], tau)
        return q

    def to_state(self) -> State:
        """The arrays as they go into a file."""
        whole = {"leaf": self.leaf.astype(np.int32), "drawn": self.drawn.astype(np.int32)}
        return State("LeafRuns", {}, {"y": self.y, "weight": self.weight, **whole})

    @classmethod
    def from_state(cls, state: State, is_leaf: BoolArray, n_trees: int) -> LeafRuns:
        """Runs from a file, if they lie in leaves and no leaf is without.

        Args:
            state: What `to_state` returned.
            is_leaf: Whether each node of the trees is a leaf, shape (nodes,).
            n_trees: Number of trees.
        """
        y = state.array("y", (None,)).astype(np.float64)
        weight = state.array("weight", y.shape).astype(np.float64)
        leaf, drawn = (state.array(name, (len(y), n_trees)) for name in ("leaf", "drawn"))
        whole = leaf.dtype.kind == "i" and drawn.dtype.kind == "i" and leaf.size > 0
        if not whole or leaf.min() < 0 or leaf.max() >= len(is_leaf) or drawn.min() < 0 or not (weight > 0).all():
            raise UnreadableFile("runs in the model file must lie in leaves of its trees, got some that do not")
        if not np.isin(np.flatnonzero(is_leaf), leaf[drawn > 0]).all():
            raise UnreadableFile("every leaf in the model file must hold training runs, got one without")
        if not np.isfinite(y).all() or (np.diff(y) < 0).any():
            raise UnreadableFile("responses in the model file must be finite and increasing, got others")
        return cls(y, weight, leaf.astype(np.int64), drawn.astype(np.int64), len(is_leaf))

    def _weights(self, leaf: IntArray, asked: BoolArray | None) -> Any:
        """Weights of the training runs up to a factor, one sparse row per new input, columns in order."""
        b, t = leaf.shape
        counted = np.ones(leaf.size) if asked is None else asked.ravel().astype(np.float64)
        reached = csr_array((counted, leaf.ravel(), np.arange(b + 1) * t), shape=(b, self.n_nodes))
        reached.eliminate_zeros()
        weights = (reached @ self._shares).tocsr()
        weights.sort_indices()
        return weights


def weighted_quantiles(y: FloatArray, weight: FloatArray, tau: FloatArray) -> FloatArray:
    """Quantiles of weighted points: each stands half way through its weight, linear between (Hazen 1914).

    Args:
        y: Points, increasing, shape (k,).
        weight: Positive weights, shape (k,).
        tau: Levels, shape (m,).

    Returns:
        Quantiles, shape (m,); beyond the first and last point these themselves.

    Example:
        >>> weighted_quantiles(np.array([1.0, 2.0]), np.array([1.0, 1.0]), np.array([0.1, 0.25, 0.5]))
        array([1. , 1. , 1.5])
    """
    total = np.cumsum(weight)
    return np.interp(tau, (total - weight / 2) / total[-1], y)
