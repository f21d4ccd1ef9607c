"""QuantileForest: a random forest that keeps the training responses of its leaves, and so a law per row.

Meinshausen (2006): a new x falls into one leaf of every tree; training run i then has the weight

    w_i(x) = 1/t sum over trees of mass_i 1{x_i in the leaf of x} / (total mass in that leaf),

mass_i its weight times how often it was drawn for the tree; the law of y at x is the responses with these weights.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from genbayes.arrays import FloatArray, IntArray
from genbayes.baselines.base import Baseline, Of
from genbayes.baselines.engine import load_engine
from genbayes.baselines.trees import TreeArrays, trees_from_sklearn
from genbayes.distribution import QuantileFunction
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.persistence import State
from genbayes.seeding import RandomState
from genbayes.tabular import ScaledRuns
from genbayes.training import show_progress
from genbayes.validation import check_count, check_nonnegative

__all__ = ["QuantileForest", "weighted_quantiles"]

LEVELS = (np.arange(100) + 0.5) / 100  # of the law: 0.005, 0.015, ..., 0.995
CHOICE_LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])  # of the pinball loss that settings are chosen by
MAX_FEATURES = (1 / 3, 2 / 3, 1.0)
LEAF_ROWS = (2, 5, 10)
N_TREES_OF_CHOICE = 100  # every row is out of the bag of some of so many trees
N_ROWS_OF_CHOICE = 5_000
MOST_TREES, FEWEST_TREES = 500, 100
MOST_ENTRIES = 10_000_000  # rows times trees: the size of the forest grows with it
ROWS_AT_ONCE = 500


class QuantileForest(Baseline):
    """Quantile regression forest (Meinshausen 2006): the law of y at x is that of the training runs in its leaves.

    Least rows of a leaf and the share of inputs tried at a split minimise the pinball loss of out-of-bag predictions.
    Engine: quantile-forest (Johnson 2024), which grows scikit-learn's trees and predicts out of the bag. It is the
    trainer only: the law is read from the trees' arrays and the runs each tree was grown from, so a loaded forest
    needs no engine.

    Args:
        n_trees: Number of trees; None for 500, fewer beyond 20,000 rows.
        n_leaf_rows: Least rows of a leaf; None chooses among 2, 5 and 10.
        max_features: Share of the inputs tried at a split; None chooses among 1/3, 2/3 and 1.
        categorical: Names or indices of inputs that are categories; they become one-hot columns.
        verbose: Whether to show a progress bar.
        random_state: Seed of the bootstrap samples and of the inputs tried.

    Attributes:
        trees_: All trees.
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

    knows_mean: ClassVar[bool] = False
    trees_: TreeArrays
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
            forest = self._grow(runs, n_trees, self.n_leaf_rows_, self.max_features_, rng)
        self.trees_ = TreeArrays.join(trees_from_sklearn(forest.estimators_))
        leaf = self.trees_.apply(runs.Z.astype(np.float32))
        drawn = np.column_stack([np.bincount(rows, minlength=len(runs)) for rows in forest.estimators_samples_])
        self._remember(runs.y, runs.weight, leaf, drawn)

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
        losses = []
        for i, (size, share) in enumerate(choices):
            forest = self._grow(runs, N_TREES_OF_CHOICE, size, share, rng)
            q = forest.predict(runs.Z, quantiles=list(CHOICE_LEVELS), oob_score=True)
            e = runs.y[:, None] - q
            losses.append(runs.weight @ np.maximum(CHOICE_LEVELS * e, (CHOICE_LEVELS - 1) * e).mean(axis=1))
            if report is not None:
                report(i + 1, len(choices) + 1, losses[-1] / runs.weight.sum())
        return choices[int(np.argmin(losses))]

    def _grow(self, runs: ScaledRuns, n_trees: int, n_leaf_rows: int, share: float, rng: np.random.Generator) -> Any:
        engine = load_engine("quantile_forest", "baselines", "QuantileForest")
        forest = engine.RandomForestQuantileRegressor(
            n_estimators=n_trees, min_samples_leaf=n_leaf_rows, max_features=share, max_samples_leaf=None,
            random_state=int(rng.integers(2**31)),
        )  # fmt: skip
        return forest.fit(runs.Z, runs.y, sample_weight=runs.weight)

    def _remember(self, y: FloatArray, weight: FloatArray, leaf: IntArray, drawn: IntArray) -> None:
        """Training responses in increasing order, and for each leaf the shares of its runs.

        Args:
            y: Scaled responses, shape (n,).
            weight: Weights, shape (n,).
            leaf: Leaf of each run in each tree, shape (n, t).
            drawn: How often each run was drawn for each tree, shape (n, t).
        """
        order = np.argsort(y, kind="stable")
        self.y_, self.weight_, self.leaf_, self.drawn_ = y[order], weight[order], leaf[order], drawn[order]
        row, tree = np.nonzero(self.drawn_)
        node, mass = self.leaf_[row, tree], self.weight_[row] * self.drawn_[row, tree]
        total = np.bincount(node, weights=mass, minlength=len(self.trees_.left))
        share = mass / total[node] / len(self.trees_)
        self._shares = csr_array((share, (node, row)), shape=(len(total), len(y)))

    def _law(self, Z: FloatArray, of: Of) -> QuantileFunction:
        q = np.empty((len(Z), len(LEVELS)))
        for start in range(0, len(Z), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            leaf = self.trees_.apply(Z[rows].astype(np.float32))
            n, t = leaf.shape
            reached = csr_array(
                (np.ones(leaf.size), leaf.ravel(), np.arange(n + 1) * t), shape=(n, len(self.trees_.left))
            )
            weights = (reached @ self._shares).tocsr()
            weights.sort_indices()
            for i in range(n):
                part = slice(weights.indptr[i], weights.indptr[i + 1])
                q[start + i] = weighted_quantiles(self.y_[weights.indices[part]], weights.data[part], LEVELS)
        return QuantileFunction(LEVELS, self.response_scaler_.inverse(q))

    def _facts(self) -> dict[str, str]:
        return {
            "trees": str(len(self.trees_)),
            "least rows of a leaf": str(self.n_leaf_rows_),
            "inputs tried at a split": f"{100 * self.max_features_:.0f}%",
        }

    def _keep(self) -> State:
        values = {"n_leaf_rows": self.n_leaf_rows_, "max_features": self.max_features_}
        arrays: dict[str, np.ndarray[Any, np.dtype[Any]]] = {
            "y": self.y_,
            "weight": self.weight_,
            "leaf": self.leaf_.astype(np.int32),
            "drawn": self.drawn_.astype(np.int32),
        }
        return State("QuantileForest", values, arrays).with_part("trees", self.trees_.to_state())

    def _restore(self, state: State) -> None:
        self.n_leaf_rows_, self.max_features_ = int(state.value("n_leaf_rows")), float(state.value("max_features"))
        self.trees_ = TreeArrays.from_state(state.nested("trees"), self.input_scaler_.n_outputs)
        y = state.array("y", (None,)).astype(np.float64)
        weight = state.array("weight", y.shape).astype(np.float64)
        leaf, drawn = (state.array(name, (len(y), len(self.trees_))) for name in ("leaf", "drawn"))
        nodes = np.arange(len(self.trees_.left))
        whole = leaf.dtype.kind == "i" and drawn.dtype.kind == "i" and leaf.size > 0
        if not whole or leaf.min() < 0 or leaf.max() >= len(nodes) or drawn.min() < 0 or not (weight > 0).all():
            raise UnreadableFile("runs in the model file must lie in leaves of its trees, got some that do not")
        if not np.isin(nodes[self.trees_.left == nodes], leaf[drawn > 0]).all():
            raise UnreadableFile("every leaf in the model file must hold training runs, got one without")
        self._remember(y, weight, leaf.astype(np.int64), drawn.astype(np.int64))


def _distinct_shares(p: int) -> list[float]:
    """The shares of p inputs to choose from, without those that try as many inputs as a larger one."""
    return list({max(1, int(share * p)): share for share in MAX_FEATURES}.values())


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
