"""Decision trees as plain arrays: what a file can keep without pickle, and what every loaded model predicts from.

Engines grow the trees; from then on these arrays are the model, so that a saved one answers the same to the bit and
needs no engine. A row goes left where x[feature] <= threshold. Children come after their parent, so a walk ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from genbayes.arrays import FloatArray, IntArray
from genbayes.errors import UnreadableFile
from genbayes.persistence import State

N_AT_ONCE = 2**17  # pairs of row and tree walked at once: many enough for NumPy, few enough for the cache
NO_CHILD = -1  # scikit-learn's mark of a leaf


class Tree(NamedTuple):
    """One tree, nodes numbered from 0; a leaf is its own child. All arrays have shape (nodes,)."""

    left: IntArray
    right: IntArray
    feature: IntArray
    threshold: FloatArray
    value: FloatArray


@dataclass(frozen=True)
class TreeArrays:
    """Many trees, their nodes numbered through one after another; a leaf is its own child.

    Attributes:
        root: First node of each tree, shape (t,).
        left, right: Children of each node, shape (nodes,).
        feature: Column that decides at each node, shape (nodes,).
        threshold: Largest number that goes left, shape (nodes,).
        value: Answer of each leaf, shape (nodes,).
    """

    root: IntArray
    left: IntArray
    right: IntArray
    feature: IntArray
    threshold: FloatArray
    value: FloatArray

    def __len__(self) -> int:
        return len(self.root)

    @classmethod
    def join(cls, trees: Sequence[Tree]) -> TreeArrays:
        """Trees one after another, in this order.

        Example:
            >>> leaf = Tree(np.zeros(1, int), np.zeros(1, int), np.zeros(1, int), np.zeros(1), np.array([4.0]))
            >>> TreeArrays.join([leaf, leaf]).sums(np.zeros((1, 3)), first=np.array([0]))
            array([[8.]])
        """
        root = np.cumsum([0] + [len(tree.left) for tree in trees[:-1]])
        left, right = (
            np.concatenate([start + tree[side] for start, tree in zip(root, trees, strict=True)]) for side in (0, 1)
        )
        feature = np.concatenate([tree.feature for tree in trees])
        threshold, value = (np.concatenate([tree[k] for tree in trees]) for k in (3, 4))
        return cls(root, left, right, feature, threshold, value)

    def apply(self, X: FloatArray) -> IntArray:
        """The leaf that each row reaches in each tree, (n, p) -> (n, t), as node numbers."""
        leaf = np.empty((len(X), len(self)), dtype=np.int64)
        for rows in self._blocks(len(X)):
            leaf[rows] = self._walk(X[rows])
        return leaf

    def sums(self, X: FloatArray, first: IntArray) -> FloatArray:
        """Sums of the answers over groups of neighbouring trees.

        Args:
            X: Inputs, shape (n, p).
            first: First tree of each group, increasing from 0, shape (g,).

        Returns:
            One sum per row and group, shape (n, g).
        """
        total = np.empty((len(X), len(first)))
        for rows in self._blocks(len(X)):
            total[rows] = np.add.reduceat(self.value[self._walk(X[rows])], first, axis=1)
        return total

    def to_state(self) -> State:
        """The arrays as they go into a file."""
        whole = {name: getattr(self, name).astype(np.int32) for name in ("root", "left", "right", "feature")}
        return State("TreeArrays", {}, {**whole, "threshold": self.threshold, "value": self.value})

    @classmethod
    def from_state(cls, state: State, n_inputs: int) -> TreeArrays:
        """Trees from a file, if every walk through them stays among their nodes, comes to an end, and finds a number.

        Args:
            state: What `to_state` returned.
            n_inputs: Number of columns the trees may ask for.
        """
        value = state.array("value", (None,)).astype(np.float64)
        n_nodes = len(value)
        threshold = state.array("threshold", (n_nodes,), finite=False).astype(np.float64)
        root = state.whole_array("root", (None,), below=n_nodes)
        left, right = (state.whole_array(name, (n_nodes,), below=n_nodes) for name in ("left", "right"))
        feature = state.whole_array("feature", (n_nodes,), below=n_inputs)
        trees = cls(root, left, right, feature, threshold, value)
        if not trees._is_sound():
            raise UnreadableFile("the trees in the model file must lead from root to leaf, got some that do not")
        return trees

    def _is_sound(self) -> bool:
        """Roots in order, children after their parent within their tree."""
        n_nodes = len(self.left)
        if not len(self) or self.root[0] != 0 or (np.diff(self.root) <= 0).any() or self.root[-1] >= n_nodes:
            return False
        node = np.arange(n_nodes)
        end = np.append(self.root[1:], n_nodes)[np.searchsorted(self.root, node, side="right") - 1]
        is_leaf = (self.left == node) & (self.right == node)
        is_split = (self.left > node) & (self.right > node) & (self.left < end) & (self.right < end)
        return bool((is_leaf | is_split).all())

    def _blocks(self, n: int) -> Iterator[slice]:
        size = max(1, N_AT_ONCE // len(self))
        return (slice(start, start + size) for start in range(0, n, size))

    def _walk(self, X: FloatArray) -> IntArray:
        """Leaves of a few rows, (b, p) -> (b, t): all pairs of row and tree go down one step at a time."""
        node = np.tile(self.root, len(X))
        offset = np.repeat(np.arange(len(X)) * X.shape[1], len(self))  # of each pair's row in X read line by line
        flat, moving = np.ascontiguousarray(X).ravel(), np.arange(len(node))
        while len(moving):
            at = node[moving]
            goes_left = flat[offset[moving] + self.feature[at]] <= self.threshold[at]
            below = np.where(goes_left, self.left[at], self.right[at])
            node[moving] = below
            moving = moving[below != at]
        return node.reshape(len(X), len(self))


def trees_from_sklearn(estimators: Sequence[Any]) -> list[Tree]:
    """Fitted regression trees of scikit-learn; they compare inputs rounded to single precision.

    Example:
        >>> from sklearn.tree import DecisionTreeRegressor
        >>> stump = DecisionTreeRegressor(max_depth=1).fit([[0.0], [1.0], [2.0]], [0.0, 0.0, 6.0])
        >>> trees_from_sklearn([stump])[0].value
        array([2., 0., 6.])
    """
    trees = []
    for tree in (each.tree_ for each in estimators):
        node = np.arange(tree.node_count)
        left, right = (np.where(c == NO_CHILD, node, c) for c in (tree.children_left, tree.children_right))
        feature = np.maximum(tree.feature, 0)  # a leaf has none
        trees.append(Tree(left, right, feature, np.array(tree.threshold), np.array(tree.value[:, 0, 0])))
    return trees


def trees_from_lightgbm(text: str) -> list[Tree]:
    r"""Trees with numeric splits from the text of a LightGBM model (`model_to_string`).

    A block `Tree=...` lists its s splits, then its leaves; leaf l is child -l - 1. Here it becomes node s + l.

    Example:
        >>> stump = "split_feature=0\nthreshold=1.5\nleft_child=-1\nright_child=-2\nleaf_value=0 6"
        >>> trees_from_lightgbm(f"version=v4\n\nTree=0\n{stump}\n\nend of trees")[0].right
        array([2, 1, 2])
    """
    trees = []
    for block in text.split("\nTree=")[1:]:
        lines = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        value = np.array(lines["leaf_value"].split(), dtype=np.float64)
        feature, left, right = (
            np.array(lines[name].split(), dtype=np.int64) for name in ("split_feature", "left_child", "right_child")
        )
        threshold = np.array(lines["threshold"].split(), dtype=np.float64)
        s, nothing = len(feature), np.zeros(len(value))
        leaf = s + np.arange(len(value))
        left, right = (np.append(np.where(c < 0, s - c - 1, c), leaf) for c in (left, right))
        feature = np.append(feature, nothing.astype(np.int64))
        trees.append(Tree(left, right, feature, np.append(threshold, nothing), np.append(np.zeros(s), value)))
    return trees
