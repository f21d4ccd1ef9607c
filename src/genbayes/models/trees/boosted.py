"""BoostedQuantiles: gradient-boosted trees for the pinball loss, one model per quantile level.

Friedman (2001) boosts any loss; with the pinball loss of Koenker & Bassett (1978) each model is a conditional
quantile. The levels are fitted one by one, so quantiles may cross; `QuantileFunction` puts them in order.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray, IntArray
from genbayes.data.dataset import merged_numbers
from genbayes.data.folds import held_out_folds
from genbayes.deadline import require_time
from genbayes.distribution import QuantileFunction
from genbayes.errors import MissingExtra, OutOfReach, UnreadableFile
from genbayes.metrics import is_clearly_better
from genbayes.models.base import ScaledRuns, ScaledSurrogate
from genbayes.models.protocols import Of
from genbayes.models.trees.tree_arrays import Tree, TreeArrays, trees_from_lightgbm
from genbayes.persistence import State
from genbayes.progress import show_progress
from genbayes.seeding import RandomState
from genbayes.threads import share_out
from genbayes.validation import check_count, check_nonnegative

LEVELS = np.array(
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995]
)
SHAPE_LEVELS = (0.1, 0.5, 0.9)  # at these the number of leaves is chosen: both flanks and the middle
SHAPES = (4, 8, 16, 31)  # leaves: from additive in pairs of inputs to LightGBM's default
SMALLEST_LEAF = 10  # rows
BEYOND_QUANTILE = 3  # rows of a leaf that should lie beyond the quantile: fewer, and an outlier is the quantile
LARGEST_SHARE = 1 / 8  # of all rows that a leaf may be asked to hold, so that extreme levels still see x
N_SHAPE_FOLDS = 3  # folds by which the number of leaves is chosen
PATIENCE = 50  # trees without progress on the held-out rows after which a fold stops
JUDGED_LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)  # fitted first: their CRPS is within 2% of that of all levels
OUT_OF_REACH = 1.08  # times a rival's CRPS, and clearly so, from which on the other levels are not fitted
N_ERRORS = 3.0  # standard errors that make it clear


class BoostedQuantiles(ScaledSurrogate):
    """Gradient-boosted quantile trees at 19 levels from 0.005 to 0.995, linear between them, exponential beyond.

    The number of trees of each level, and one number of leaves for all, minimise the pinball loss on rows held out
    in five folds; then all rows are fitted. A leaf holds at least 10 rows, more at extreme levels. Engine: LightGBM
    (Ke et al. 2017), the quickest tree booster we know with exact quantiles in its leaves; it is needed to fit only.

    Args:
        n_trees: Most trees of one level.
        n_leaves: Leaves of a tree; None chooses among 4, 8, 16 and 31.
        learning_rate: Share of each tree that is added.
        categorical: Names or indices of inputs that are categories; they become one-hot columns.
        verbose: Whether to show a progress bar.
        random_state: Seed of the folds and of LightGBM.

    Attributes:
        trees_: All trees, level by level.
        first_: First tree of each level.
        n_leaves_: Leaves used.
        n_features_in_, feature_names_in_: Columns seen in `fit`.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(size=(200, 1))
        >>> y = X[:, 0] * rng.standard_normal(200)  # noise that grows with x
        >>> model = BoostedQuantiles(n_leaves=4, n_trees=100, random_state=0).fit(X, y)
        >>> lower, upper = model.predict_interval(np.array([[0.1], [0.9]]))
        >>> width = upper - lower
        >>> bool(width[1] > 2 * width[0])
        True
    """

    knows_mean = False
    trees_: TreeArrays
    first_: IntArray
    n_leaves_: int
    _unseen: FloatArray  # quantiles of the runs by trees that had not seen them, (n, m), NaN for none; not kept
    _rival: tuple[ArrayLike, ArrayLike, ArrayLike] | None = None  # its scores and the runs they are of, while fitting

    def __init__(
        self,
        *,
        n_trees: int = 1_000,
        n_leaves: int | None = None,
        learning_rate: float = 0.1,
        categorical: Sequence[str | int] | None = None,
        verbose: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.n_trees = n_trees
        self.n_leaves = n_leaves
        self.learning_rate = learning_rate
        self.categorical = categorical
        self.verbose = verbose
        self.random_state = random_state

    def fit_against(self, rival: ArrayLike, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """As `fit`, but raise `OutOfReach` if the trees of five levels are clearly behind a rival on held-out runs.

        `rival` is the CRPS of another model at each run, by a fit that had not seen it; NaN where unknown, shape (n,).
        """
        self._rival = rival, X, y
        try:
            return self.fit(X, y, sample_weight)
        finally:
            del self._rival

    def _check_settings(self) -> None:
        check_count(self.n_trees, "n_trees")
        check_nonnegative(self.learning_rate, "learning_rate", strictly=True)
        if self.n_leaves is not None:
            check_count(self.n_leaves, "n_leaves", at_least=2)

    def _learn(self, runs: ScaledRuns, rng: np.random.Generator) -> None:
        booster = _Booster(runs, self.n_trees, self.learning_rate, rng)
        shapes = SHAPES if self.n_leaves is None else (self.n_leaves,)
        n_shape = len(SHAPE_LEVELS) * len(shapes) if len(shapes) > 1 else 0
        with show_progress(f"fitting {type(self).__name__}", bool(self.verbose)) as report:
            if n_shape:
                booster.compute_curves(SHAPE_LEVELS, shapes, N_SHAPE_FOLDS)
            self.n_leaves_ = _choose_shape(booster, shapes) if n_shape else shapes[0]
            self._unseen = np.full((len(runs), len(LEVELS)), np.nan)
            if self._rival is not None:
                self._require_reach(booster, runs, *self._rival)
            stage = itertools.count(n_shape + 1)

            def grow(tau: float, unseen: FloatArray) -> list[Tree]:
                n_trees, loss = booster.choose_length(tau, self.n_leaves_, unseen)
                if report is not None:
                    report(next(stage), n_shape + len(LEVELS), loss)
                return booster.grow(tau, self.n_leaves_, n_trees)

            grown = share_out(grow, LEVELS.tolist(), self._unseen.T)
        self.trees_ = TreeArrays.join([tree for trees in grown for tree in trees])
        self.first_ = np.cumsum([0, *(len(trees) for trees in grown[:-1])])

    def _require_reach(self, booster: _Booster, runs: ScaledRuns, rival: ArrayLike, X: ArrayLike, y: ArrayLike) -> None:
        """Raise `OutOfReach` where a few levels say that a rival's CRPS is far below."""
        at = np.searchsorted(LEVELS, JUDGED_LEVELS)
        booster.compute_curves(LEVELS[at], (self.n_leaves_,))
        for i in at:
            booster.choose_length(float(LEVELS[i]), self.n_leaves_, self._unseen[:, i])
        known = np.full(len(runs), np.nan)
        known[merged_numbers(self._checked(X), np.asarray(y, dtype=np.float64))] = rival
        rows = np.flatnonzero(np.isfinite(known) & np.isfinite(self._unseen[:, at]).all(axis=1))
        unseen = QuantileFunction(LEVELS[at], self.response_scaler_.inverse(self._unseen[np.ix_(rows, at)]))
        own, weight = unseen.crps(self.response_scaler_.inverse(runs.y[rows])), runs.weight[rows]
        if not len(rows) or own @ weight <= OUT_OF_REACH * (known[rows] @ weight):
            return
        if is_clearly_better(known[rows], own, weight, n_errors=N_ERRORS):
            ratio = float(own @ weight / (known[rows] @ weight))
            raise OutOfReach(f"a rival is out of reach: CRPS {ratio:.2f} times the rival's at {len(at)} levels")

    @property
    def knows_out_of_fold(self) -> bool:
        """The folds that choose the number of trees have held rows out."""
        return True

    def predict_out_of_fold(self, X: ArrayLike, y: ArrayLike) -> tuple[IntArray, QuantileFunction]:
        """Rows that a fold held out, and their distributions by trees of the other folds."""
        X, y = self._checked(X), np.asarray(y, dtype=np.float64)
        table = self._unseen[merged_numbers(X, y)]
        rows = np.flatnonzero(np.isfinite(table[:, 0]))
        return rows, QuantileFunction(LEVELS, self.response_scaler_.inverse(table[rows]))

    def _distribution(self, Z: FloatArray, of: Of) -> QuantileFunction:
        return QuantileFunction(LEVELS, self.response_scaler_.inverse(self.trees_.sums(Z, self.first_)))

    def _facts(self) -> dict[str, str]:
        size = np.diff(self.first_, append=len(self.trees_))
        return {
            "levels": f"{len(LEVELS)} from {LEVELS[0]:g} to {LEVELS[-1]:g}",
            "leaves of a tree": str(self.n_leaves_),
            "trees of a level": f"{size.min()} to {size.max()}, {size.sum()} in all",
            "learning rate": f"{self.learning_rate:g}",
        }

    def _keep(self) -> State:
        state = State("BoostedQuantiles", {"n_leaves": self.n_leaves_}, {"first": self.first_})
        return state.with_part("trees", self.trees_.to_state())

    def _restore(self, state: State) -> None:
        self.trees_ = TreeArrays.from_state(state.nested("trees"), self.input_scaler_.n_outputs)
        first = state.whole_array("first", (len(LEVELS),), below=len(self.trees_))
        if first[0] != 0 or (np.diff(first) <= 0).any():
            raise UnreadableFile("the trees in the model file must be divided among the levels, got other numbers")
        self.first_, self.n_leaves_ = first, state.count("n_leaves", at_least=1)


class _Booster:
    """LightGBM on one table: every level and shape reuses the same binned rows and folds."""

    def __init__(self, runs: ScaledRuns, n_trees: int, learning_rate: float, rng: np.random.Generator) -> None:
        self._engine = load_engine("lightgbm", "genbayes[baselines]", "BoostedQuantiles")
        self._n, self._n_trees, self._Z = len(runs), n_trees, runs.Z
        self._settings: dict[str, float | str | bool] = {
            "objective": "quantile",
            "learning_rate": learning_rate,
            "seed": int(rng.integers(2**31)),
            "deterministic": True,
            "force_row_wise": True,  # LightGBM asks for it: the other way is chosen by a stopwatch
            "num_threads": 1,  # tables of this size gain little from more, and lose much when cores are shared
            "feature_pre_filter": False,  # the least size of a leaf changes from level to level
            "min_data_in_bin": 1,  # every gap between neighbouring values may be a threshold
            "verbosity": -1,
        }
        self._all = self._bin(runs, np.arange(len(runs)))
        self._curves: dict[tuple[float, int, int], tuple[Any, list[float]]] = {}
        self._folds = []
        for learn, held_out in held_out_folds(len(runs), rng):
            seen = self._bin(runs, learn)
            self._folds.append((seen, self._bin(runs, held_out, like=seen), held_out))

    def compute_curves(self, levels: ArrayLike, shapes: Sequence[int], n_folds: int | None = None) -> None:
        """Models and losses of several levels and shapes by the first folds, or by all, which `choose_length` asks."""
        folds = range(len(self._folds))[:n_folds]
        keys = list(itertools.product(np.asarray(levels).tolist(), shapes, folds))
        share_out(self._held_out_curve, *zip(*keys, strict=True))

    def choose_length(self, tau: float, n_leaves: int, unseen: FloatArray | None = None) -> tuple[int, float]:
        """Number of trees with the least pinball loss on held-out rows, and that loss.

        Args:
            tau: The level.
            n_leaves: Leaves of a tree.
            unseen: Is filled with what so many trees say of the rows they have not seen, shape (n,); None for nothing.
        """
        n_folds = len(self._folds) if unseen is not None else N_SHAPE_FOLDS
        found = [self._held_out_curve(tau, n_leaves, fold) for fold in range(min(n_folds, len(self._folds)))]
        n_trees, loss = best_length([curve for _, curve in found])
        if unseen is not None:
            for (model, _), (_, _, rows) in zip(found, self._folds, strict=True):
                unseen[rows] = model.predict(self._Z[rows], num_iteration=n_trees)
        return n_trees, loss

    def grow(self, tau: float, n_leaves: int, n_trees: int) -> list[Tree]:
        """Trees fitted to all rows; their answers add up to the quantile."""
        model = self._engine.train(self._at(tau, n_leaves), self._all, num_boost_round=n_trees)
        return trees_from_lightgbm(model.model_to_string())

    def _held_out_curve(self, tau: float, n_leaves: int, fold: int) -> tuple[Any, list[float]]:
        """A model of the rows outside a fold, and its loss on the fold's after each tree; computed once."""
        if (tau, n_leaves, fold) in self._curves:
            return self._curves[tau, n_leaves, fold]
        seen, held_out, _ = self._folds[fold]
        curve: dict[str, dict[str, list[float]]] = {}
        watch = [
            self._engine.early_stopping(PATIENCE, verbose=False),
            self._engine.record_evaluation(curve),
            lambda state: require_time(),
        ]
        settings = self._at(tau, n_leaves)
        model = self._engine.train(settings, seen, self._n_trees, valid_sets=[held_out], callbacks=watch)
        self._curves[tau, n_leaves, fold] = found = model, curve["valid_0"]["quantile"]
        return found

    def _at(self, tau: float, n_leaves: int) -> dict[str, float | str | bool]:
        return {**self._settings, "alpha": tau, "num_leaves": n_leaves, "min_data_in_leaf": _leaf_size(tau, self._n)}

    def _bin(self, runs: ScaledRuns, rows: IntArray, like: object = None) -> object:
        return self._engine.Dataset(
            runs.Z[rows], runs.y[rows], weight=runs.weight[rows], reference=like, params=self._settings,
            free_raw_data=False,
        ).construct()  # fmt: skip


def _choose_shape(booster: _Booster, shapes: Sequence[int]) -> int:
    """The number of leaves whose held-out pinball loss, summed over a few levels, is least."""
    loss = [sum(booster.choose_length(tau, shape)[1] for tau in SHAPE_LEVELS) for shape in shapes]
    return shapes[int(np.argmin(loss))]


def _leaf_size(tau: float, n: int) -> int:
    """Least rows of a leaf at level tau: 3 beyond the quantile, but at least 10, and at most an eighth of all."""
    wanted = max(SMALLEST_LEAF, BEYOND_QUANTILE / min(tau, 1 - tau))
    return max(2, round(min(wanted, LARGEST_SHARE * n)))


def best_length(curves: Sequence[ArrayLike]) -> tuple[int, float]:
    """Number of trees at which the held-out loss, averaged over folds, is least, and that loss.

    Args:
        curves: Held-out loss of each fold after 1, 2, ... trees; folds may have stopped at different lengths.

    Returns:
        The number of trees, within the length that all folds reached, and the mean loss there.

    Example:
        >>> best_length([[3.0, 1.0, 2.0], [3.0, 2.0]])
        (2, 1.5)
    """
    shortest = min(len(np.atleast_1d(curve)) for curve in curves)
    mean = np.mean([np.asarray(curve, dtype=np.float64)[:shortest] for curve in curves], axis=0)
    mean = np.where(np.isfinite(mean), mean, np.inf)
    k = int(np.argmin(mean))
    return k + 1, float(mean[k])


def load_engine(
    name: Literal["lightgbm", "ngboost", "quantile_forest"], requirement: str, wanted_by: str
) -> ModuleType:
    """Import an optional library, or say how to get it.

    Args:
        name: The module, one of a fixed few.
        requirement: What to install, as pip takes it: "genbayes[baselines]".
        wanted_by: The class that needs it.

    Returns:
        The module.

    Raises:
        MissingExtra: The library is not installed, or does not load.

    Example:
        >>> load_engine("lightgbm", "genbayes[baselines]", "BoostedQuantiles").__name__
        'lightgbm'
    """
    try:
        return import_module(name)
    except (ImportError, OSError) as error:  # an OSError is a shared library that the system lacks
        is_absent = isinstance(error, ModuleNotFoundError) and error.name == name
        found = "none" if is_absent else f"one that does not load ({error})"
        library = name.replace("_", "-")
        raise MissingExtra(
            f"{library} must be installed for {wanted_by}, got {found}; pip install '{requirement}'"
        ) from error
