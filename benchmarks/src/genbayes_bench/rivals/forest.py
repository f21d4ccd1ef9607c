"""QuantileForest: a random forest that keeps the training responses of its leaves, and so a distribution per row.

Meinshausen (2006): a new x falls into one leaf of every tree; training run i then has the weight

    w_i(x) = mean over trees of mass_i 1{x_i in the leaf of x} / (total mass in that leaf),

mass_i how often, or with what weight, the tree has seen it; the responses with these weights are the distribution of y
at x.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sklearn
from scipy.sparse import csr_array

from genbayes.arrays import BoolArray, FloatArray, IntArray
from genbayes.distribution import QuantileFunction
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.models.base import ScaledRuns, ScaledSurrogate
from genbayes.models.protocols import Of
from genbayes.models.trees.boosted import load_engine
from genbayes.models.trees.tree_arrays import TreeArrays, trees_from_sklearn
from genbayes.persistence import State
from genbayes.progress import show_progress
from genbayes.seeding import RandomState
from genbayes.validation import check_count, check_nonnegative

ROWS_AT_ONCE = 500
LEVELS = (np.arange(100) + 0.5) / 100  # of the distribution: 0.005, 0.015, ..., 0.995
CHOICE_LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])  # of the pinball loss that settings are chosen by
MAX_FEATURES = (1 / 3, 2 / 3, 1.0)
LEAF_ROWS = (2, 5, 10)
N_TREES_OF_CHOICE = 100  # every row but the heaviest is out of the bag of some of so many trees
N_ROWS_OF_CHOICE = 5_000
MOST_TREES, FEWEST_TREES = 500, 100
MOST_ENTRIES = 10_000_000  # rows times trees: the size of the forest grows with it
# From scikit-learn 1.9 on rows are drawn in proportion to their weights; before, draws are even and rows weighted.
DRAWN_BY_WEIGHT = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) >= (1, 9)


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
        """Quantiles of the distributions at new inputs.

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
        weight = state.array("weight", y.shape, positive=True).astype(np.float64)
        leaf = state.whole_array("leaf", (len(y), n_trees), below=len(is_leaf))
        drawn = state.whole_array("drawn", (len(y), n_trees), below=2**31)
        if not np.isin(np.flatnonzero(is_leaf), leaf[drawn > 0]).all():
            raise UnreadableFile("every leaf in the model file must hold training runs, got one without")
        if (np.diff(y) < 0).any():
            raise UnreadableFile("responses in the model file must be increasing, got others")
        return cls(y, weight, leaf, drawn, len(is_leaf))

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


class QuantileForest(ScaledSurrogate):
    """Quantile regression forest (Meinshausen 2006): the distribution of y at x is that of the runs in its leaves.

    Least rows of a leaf and the share of inputs tried at a split minimise the pinball loss of out-of-bag predictions.
    Engine: quantile-forest (Johnson 2024), the usual package for it. It is the trainer only: distributions, out of the
    bag or not, are read from the trees' arrays and the runs each tree was grown from, so a loaded forest needs no
    engine.

    Args:
        n_trees: Number of trees; None for 500, fewer beyond 20,000 rows.
        n_leaf_rows: Least rows of a leaf; None chooses among 2, 5 and 10.
        max_features: Share of the inputs tried at a split; None chooses among 1/3, 2/3 and 1.
        categorical: Names or indices of inputs that are categories; they become one-hot columns.
        verbose: Whether to show a progress bar.
        random_state: Seed of the bootstrap samples and of the inputs tried.

    Attributes:
        trees_: All trees.
        leaves_: The training runs in their leaves.
        n_leaf_rows_, max_features_: The settings used.
        n_features_in_, feature_names_in_: Columns seen in `fit`.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(size=(200, 1))
        >>> y = X[:, 0] * rng.standard_normal(200)  # noise that grows with x
        >>> model = QuantileForest(n_trees=50, n_leaf_rows=5, max_features=1.0, random_state=0).fit(X, y)
        >>> lower, upper = model.predict_interval(np.array([[0.1], [0.9]]))
        >>> width = upper - lower
        >>> bool(width[1] > 2 * width[0])
        True
    """

    knows_mean = False
    trees_: TreeArrays
    leaves_: LeafRuns
    n_leaf_rows_: int
    max_features_: float

    def __init__(
        self,
        *,
        n_trees: int | None = None,
        n_leaf_rows: int | None = None,
        max_features: float | None = None,
        categorical: Sequence[str | int] | None = None,
        verbose: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.n_trees = n_trees
        self.n_leaf_rows = n_leaf_rows
        self.max_features = max_features
        self.categorical = categorical
        self.verbose = verbose
        self.random_state = random_state

    def _check_settings(self) -> None:
        for name in ("n_trees", "n_leaf_rows"):
            if getattr(self, name) is not None:
                check_count(getattr(self, name), name)
        if self.max_features is not None and check_nonnegative(self.max_features, "max_features", strictly=True) > 1:
            raise InvalidInput(f"max_features must be a share of the inputs, at most 1, got {self.max_features!r}")

    def _learn(self, runs: ScaledRuns, rng: np.random.Generator) -> None:
        with show_progress(f"fitting {type(self).__name__}", bool(self.verbose)) as report:
            self.n_leaf_rows_, self.max_features_ = self._choose(runs, rng, report)
            n_trees = self.n_trees or int(np.clip(MOST_ENTRIES // len(runs), FEWEST_TREES, MOST_TREES))
            self.trees_, self.leaves_ = self._grow(runs, n_trees, self.n_leaf_rows_, self.max_features_, rng)

    def _choose(self, runs: ScaledRuns, rng: np.random.Generator, report: Any) -> tuple[int, float]:
        """Least rows of a leaf and share of inputs with the least out-of-bag pinball loss, of those left open."""
        sizes = LEAF_ROWS if self.n_leaf_rows is None else (self.n_leaf_rows,)
        shares = _distinct_shares(runs.Z.shape[1]) if self.max_features is None else [float(self.max_features)]
        choices = list(itertools.product(sizes, shares))
        if len(choices) == 1:
            return choices[0]
        if len(runs) > N_ROWS_OF_CHOICE:
            rows = np.sort(rng.choice(len(runs), N_ROWS_OF_CHOICE, replace=False))
            runs = ScaledRuns(runs.Z[rows], runs.y[rows], runs.weight[rows])
        weight = runs.weight[np.argsort(runs.y, kind="stable")]
        losses = []
        for i, (size, share) in enumerate(choices):
            _, leaves = self._grow(runs, N_TREES_OF_CHOICE, size, share, rng)
            losses.append(_out_of_bag_loss(leaves, weight))
            if report is not None:
                report(i + 1, len(choices) + 1, losses[-1])
        return choices[int(np.argmin(losses))]

    def _grow(
        self, runs: ScaledRuns, n_trees: int, n_leaf_rows: int, share: float, rng: np.random.Generator
    ) -> tuple[TreeArrays, LeafRuns]:
        engine = load_engine("quantile_forest", "genbayes-bench[rivals]", "QuantileForest")
        forest = engine.RandomForestQuantileRegressor(
            n_estimators=n_trees,
            min_samples_leaf=n_leaf_rows,
            max_features=share,
            random_state=int(rng.integers(2**31)),
        )
        forest.fit(runs.Z, runs.y, sample_weight=runs.weight)
        trees = TreeArrays.join(trees_from_sklearn(forest.estimators_))
        drawn = np.column_stack([np.bincount(rows, minlength=len(runs)) for rows in forest.estimators_samples_])
        weight = np.ones(len(runs)) if DRAWN_BY_WEIGHT else runs.weight
        return trees, LeafRuns.sort(runs.y, weight, trees.apply(runs.Z.astype(np.float32)), drawn, len(trees.left))

    def _distribution(self, Z: FloatArray, of: Of) -> QuantileFunction:
        q = self.leaves_.quantiles(self.trees_.apply(Z.astype(np.float32)), LEVELS)
        return QuantileFunction(LEVELS, self.response_scaler_.inverse(q))

    def _facts(self) -> dict[str, str]:
        return {
            "trees": str(len(self.trees_)),
            "least rows of a leaf": str(self.n_leaf_rows_),
            "inputs tried at a split": f"{100 * self.max_features_:.0f}%",
        }

    def _keep(self) -> State:
        values = {"n_leaf_rows": self.n_leaf_rows_, "max_features": self.max_features_}
        state = State("QuantileForest", values).with_part("trees", self.trees_.to_state())
        return state.with_part("leaves", self.leaves_.to_state())

    def _restore(self, state: State) -> None:
        self.n_leaf_rows_, self.max_features_ = state.count("n_leaf_rows"), state.number("max_features")
        self.trees_ = TreeArrays.from_state(state.nested("trees"), self.input_scaler_.n_outputs)
        is_leaf = self.trees_.left == np.arange(len(self.trees_.left))
        self.leaves_ = LeafRuns.from_state(state.nested("leaves"), is_leaf, len(self.trees_))


def _out_of_bag_loss(leaves: LeafRuns, weight: FloatArray) -> float:
    """Mean pinball loss of the runs, of these weights, each predicted by the trees that were grown without it."""
    asked = leaves.drawn == 0
    known = asked.any(axis=1)  # a run of large weight may be in every tree
    e = leaves.y[known, None] - leaves.quantiles(leaves.leaf[known], CHOICE_LEVELS, asked[known])
    loss = np.maximum(CHOICE_LEVELS * e, (CHOICE_LEVELS - 1) * e).mean(axis=1)
    return float(np.average(loss, weights=weight[known]))


def _distinct_shares(p: int) -> list[float]:
    """The shares of p inputs to choose from, without those that try as many inputs as a larger one."""
    return list({max(1, int(share * p)): share for share in MAX_FEATURES}.values())
