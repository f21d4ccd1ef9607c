"""NaturalGradientBoosting: a normal distribution whose mean and log standard deviation are both boosted trees.

NGBoost (Duan et al. 2020): each round fits one tree per parameter to the natural gradient of the log score, which
takes the geometry of the distribution into account, and scales both by a line search:

    (mu(x), log sigma(x)) = start - rate sum over rounds of rho_r (tree_r^mu(x), tree_r^sigma(x)).

sigma is fitted to residuals of rows that mu has seen, which are too small; rows it has not seen set this right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from genbayes.arrays import FloatArray, IntArray
from genbayes.data.folds import held_out_folds
from genbayes.distribution import Normal
from genbayes.errors import UnreadableFile
from genbayes.metrics import crps_normal
from genbayes.models.base import ScaledRuns, ScaledSurrogate
from genbayes.models.protocols import Of
from genbayes.models.trees.boosted import PATIENCE, best_length, load_engine
from genbayes.models.trees.tree_arrays import TreeArrays, trees_from_sklearn
from genbayes.persistence import State
from genbayes.progress import show_progress
from genbayes.seeding import RandomState
from genbayes.validation import check_count, check_nonnegative

SMALLEST_SD = 1e-3  # in standard deviations of y; boosted trees do not come nearer to any smooth function
DEPTHS = (3, 5)
BATCH_SHARE = 0.5  # of the rows each round sees: without it the standard deviation is overfitted long before the mean
SMALLEST_LEAF = 5  # rows
N_PARAMETERS = 2  # mean, log standard deviation


def normal_of_engine(engine: Any) -> type[Any]:
    """A class of normal distributions that `NGBRegressor(Dist=...)` takes.

    Log score log sigma + 1/2 log(2 pi) + z^2 / 2 with z = (y - mu) / sigma. Its gradient in (mu, log sigma) is
    (-z / sigma, 1 - z^2); the Fisher information is diag(1 / sigma^2, 2), so the natural gradient is
    (mu - y, (1 - z^2) / 2) (Duan et al. 2020, section 3).

    Args:
        engine: The module ngboost.

    Returns:
        The class; an object of it holds n of them, from parameters of shape (2, n).

    Example:
        >>> import ngboost
        >>> normal = ngboost.manifold.manifold(ngboost.scores.LogScore, normal_of_engine(ngboost))(np.zeros((2, 1)))
        >>> normal.grad(np.array([3.0]))
        array([[-3., -4.]])
    """
    log_score = engine.scores.LogScore

    class NormalScore(log_score):  # type: ignore[misc, valid-type]
        def score(self, y: FloatArray) -> FloatArray:
            z = (y - self.loc) / self.scale
            return np.asarray(np.log(self.scale) + 0.5 * math.log(2 * math.pi) + 0.5 * z * z)

        def grad(self, y: FloatArray, natural: bool = True) -> FloatArray:
            assert natural
            z = (y - self.loc) / self.scale
            return np.column_stack([self.loc - y, 0.5 * (1 - z * z)])

    class BoostedNormal(engine.distns.RegressionDistn):
        n_params = 2
        scores = (NormalScore,)

        def __init__(self, params: FloatArray) -> None:
            super().__init__(params)
            self.loc, self.scale = params[0], np.exp(np.maximum(params[1], math.log(SMALLEST_SD)))

        @staticmethod
        def fit(y: FloatArray) -> FloatArray:
            return np.array([y.mean(), np.log(max(y.std(), SMALLEST_SD))])

    return BoostedNormal


class NaturalGradientBoosting(ScaledSurrogate):
    """Natural gradient boosting (Duan et al. 2020): normal distributions with boosted mean and standard deviation.

    The number of rounds and the depth of the trees minimise the CRPS on rows held out in three folds, and one factor
    for all standard deviations is read off these rows; then all rows are fitted. Engine: NGBoost, its authors' own
    package, with trees of scikit-learn; it is needed to fit only.

    Args:
        n_rounds: Most rounds; each adds a tree to the mean and one to the log standard deviation.
        depth: Depth of the trees; None chooses between 3 and 5.
        learning_rate: Share of each tree that is added.
        categorical: Names or indices of inputs that are categories; they become one-hot columns.
        verbose: Whether to show a progress bar.
        random_state: Seed of the folds and of the rows each round sees.

    Attributes:
        trees_: Trees of the mean, then as many of the log standard deviation.
        start_: Mean and log standard deviation before the first round, on the scaled response, shape (2,).
        depth_: Depth used.
        spread_: Factor by which held-out rows asked the standard deviations to be multiplied.
        n_features_in_, feature_names_in_: Columns seen in `fit`.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(size=(500, 1))
        >>> y = X[:, 0] * rng.standard_normal(500)  # noise that grows with x
        >>> model = NaturalGradientBoosting(depth=3, n_rounds=60, random_state=0).fit(X, y)
        >>> sd = model.predict_distribution(np.array([[0.1], [0.9]])).std()
        >>> bool(sd[1] > 2 * sd[0])
        True
    """

    knows_mean = False
    trees_: TreeArrays
    start_: FloatArray
    depth_: int
    spread_: float

    def __init__(
        self,
        *,
        n_rounds: int = 1_000,
        depth: int | None = None,
        learning_rate: float = 0.05,
        categorical: Sequence[str | int] | None = None,
        verbose: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.n_rounds = n_rounds
        self.depth = depth
        self.learning_rate = learning_rate
        self.categorical = categorical
        self.verbose = verbose
        self.random_state = random_state

    def _check_settings(self) -> None:
        check_count(self.n_rounds, "n_rounds")
        check_nonnegative(self.learning_rate, "learning_rate", strictly=True)
        if self.depth is not None:
            check_count(self.depth, "depth")

    def _learn(self, runs: ScaledRuns, rng: np.random.Generator) -> None:
        depths = DEPTHS if self.depth is None else (self.depth,)
        folds, seed = held_out_folds(len(runs), rng), int(rng.integers(2**31))
        trials: list[_Trial] = []
        with show_progress(f"fitting {type(self).__name__}", bool(self.verbose)) as report:
            for depth in depths:
                models = [self._boost(runs, learn, self.n_rounds, depth, seed, held_out) for learn, held_out in folds]
                n_rounds, loss = best_length([model.evals_result["val"]["LOGSCORE"] for model in models])
                trials.append(_Trial(depth, n_rounds, loss, models))
                if report is not None:
                    report(len(trials), len(depths) + 1, loss)
            best = min(trials, key=lambda trial: trial.loss)
            model = self._boost(runs, np.arange(len(runs)), best.n_rounds, best.depth, seed)
        self.depth_ = best.depth
        self.spread_ = _spread(runs, best, [held_out for _, held_out in folds])
        self._read(model)

    def _boost(
        self, runs: ScaledRuns, rows: IntArray, n_rounds: int, depth: int, seed: int, held_out: IntArray | None = None
    ) -> Any:
        """NGBoost on some rows; with held-out rows it watches their CRPS and stops when that no longer falls."""
        engine = load_engine("ngboost", "genbayes-bench[rivals]", "NaturalGradientBoosting")
        leaf = min(SMALLEST_LEAF, max(1, len(rows) // 8))
        tree = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=leaf, random_state=seed)
        model = engine.NGBRegressor(
            Dist=normal_of_engine(engine), Base=tree, n_estimators=n_rounds, learning_rate=self.learning_rate,
            minibatch_frac=BATCH_SHARE, random_state=seed, verbose=False,
        )  # fmt: skip
        watch: dict[str, Any] = {}
        if held_out is not None:
            weight = runs.weight[held_out] / runs.weight[held_out].sum()
            watch = {
                "X_val": runs.Z[held_out], "Y_val": runs.y[held_out], "early_stopping_rounds": PATIENCE,
                "val_loss_monitor": lambda normal, y: float(weight @ crps_normal(normal.loc, normal.scale, y)),
            }  # fmt: skip
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # its line search tries steps too long
            return model.fit(runs.Z[rows], runs.y[rows], sample_weight=runs.weight[rows], **watch)

    def _read(self, model: Any) -> None:
        """Keep the trees with their share of the sum folded into their answers."""
        self.start_ = np.asarray(model.init_params, dtype=np.float64)
        trees = []
        for k in range(N_PARAMETERS):
            pairs = zip(model.scalings, trees_from_sklearn([both[k] for both in model.base_models]), strict=True)
            trees += [tree._replace(value=-self.learning_rate * rho * tree.value) for rho, tree in pairs]
        self.trees_ = TreeArrays.join(trees)

    def _distribution(self, Z: FloatArray, of: Of) -> Normal:
        first = np.array([0, len(self.trees_) // N_PARAMETERS])
        mean, log_sd = (self.start_ + self.trees_.sums(Z.astype(np.float32), first)).T
        return self._normal(mean, (self.spread_ * np.maximum(np.exp(log_sd), SMALLEST_SD)) ** 2)

    def _facts(self) -> dict[str, str]:
        return {
            "rounds": f"{len(self.trees_) // N_PARAMETERS} of at most {self.n_rounds}",
            "depth of a tree": str(self.depth_),
            "learning rate": f"{self.learning_rate:g}",
            "spread factor": f"{self.spread_:.2f}",
        }

    def _keep(self) -> State:
        state = State("NaturalGradientBoosting", {"depth": self.depth_, "spread": self.spread_}, {"start": self.start_})
        return state.with_part("trees", self.trees_.to_state())

    def _restore(self, state: State) -> None:
        self.start_ = state.array("start", (N_PARAMETERS,)).astype(np.float64)
        self.trees_ = TreeArrays.from_state(state.nested("trees"), self.input_scaler_.n_outputs)
        self.depth_, self.spread_ = state.count("depth"), state.number("spread", positive=True)
        if len(self.trees_) % N_PARAMETERS:
            raise UnreadableFile(f"the model file must hold as many trees of each parameter, got {len(self.trees_)}")


class _Trial(NamedTuple):
    """One depth, the rounds that suit it, their held-out CRPS, and the models of the folds."""

    depth: int
    n_rounds: int
    loss: float
    models: list[Any]


def _spread(runs: ScaledRuns, trial: _Trial, held_out: list[IntArray]) -> float:
    """E|z| of held-out rows, z = (y - mu) / sigma, over sqrt(2 / pi), its value if sigma were right.

    Absolute values rather than squares: single rows far out should not decide for all.
    """
    total, mass = 0.0, 0.0
    for model, rows in zip(trial.models, held_out, strict=True):
        normal = model.pred_dist(runs.Z[rows], max_iter=trial.n_rounds)
        total += float(runs.weight[rows] @ (np.abs(runs.y[rows] - normal.loc) / normal.scale))
        mass += float(runs.weight[rows].sum())
    return total / mass / math.sqrt(2 / math.pi)
