"""AutoSurrogate: tries surrogates on rows they have not seen, joins the best, and says why.

Candidates are raced (`race`) on quantiles of runs that they have not seen (`candidates`); the best are joined with
weights fitted to these quantiles (`stacking`), spread as far as the same runs ask for. What is reported of the joined
model comes from choices made without the row's fold. Only training rows are used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from genbayes.arrays import FloatArray, IntArray
from genbayes.auto.candidates import Candidate, Clock, Trials, choose_candidates
from genbayes.auto.race import N_BEST, run_race, team_of
from genbayes.auto.report import SelectionReport, write_report
from genbayes.auto.stacking import Kind, Stack, choose_stack, cross_fitted_table, crps_of_table, joint_table
from genbayes.data.folds import draw_folds
from genbayes.data.scaling import Bounds, as_bounds
from genbayes.distribution import Mixture, Normal, PredictiveDistribution, QuantileFunction
from genbayes.distribution.quantile_function import GRID
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.metrics import stretch_table
from genbayes.models.base import ScaledSurrogate, require_inputs
from genbayes.models.loading import restore_model, state_of
from genbayes.models.protocols import Fits, MapsRegimes, Of, Predicts, SpreadsItself, gives_mean
from genbayes.models.regimes.maps import plot_map
from genbayes.models.regimes.mixture import find_regimes
from genbayes.models.registry import Facts, adopt_models, registered_here
from genbayes.persistence import State
from genbayes.progress import show_stage
from genbayes.seeding import RandomState, as_generator
from genbayes.threads import fitting_threads
from genbayes.validation import check_choice, check_count, check_jobs, check_nonnegative

if TYPE_CHECKING:
    from genbayes.plotting.regimes import RegimeMapLike

MIN_LEARNT = 8  # rows that are left where a fifth of the ten that the door asks for is held out
MOST_TO_NEST = 1_000  # rows up to which every choice is made anew without each fold; of more, luck chooses nothing


class AutoSurrogate(ScaledSurrogate):
    """The surrogate that chooses for you: quantile networks, GPs and boosted trees, joined by out-of-fold CRPS.

    Args:
        time_limit: Seconds that `fit` may take; None for as long as it needs.
        n_jobs: Surrogates that are fitted at a time; None for one, -1 for all cores. A backend set by
            `joblib.parallel_config`, such as "dask", is used. Without a time limit the result does not depend on it.
        candidates: Names of the surrogates to try; or a mapping from names to models, your own among them, with None
            for a surrogate of ours; None for all that are worth trying.
        n_folds: Folds of the cross-validation.
        y_bounds: (lower, upper) that responses never leave; either may be None.
        categorical: Names or indices of inputs that are categories.
        verbose: Whether to show what is being tried.
        random_state: Seed of everything random in `fit`.

    Attributes:
        report_: What was tried, the scores with standard errors, what was chosen and why.
        combination_: The fitted models and their weights.
        n_features_in_, feature_names_in_: Columns seen in `fit`.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(size=(60, 1))
        >>> y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(60)
        >>> model = AutoSurrogate(candidates=["gp", "het-gp"], random_state=0).fit(X, y)
        >>> model.report_.chosen
        ('gp',)
    """

    report_: SelectionReport
    combination_: Combination

    def __init__(
        self,
        *,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        candidates: Sequence[str] | Mapping[str, Fits | None] | None = None,
        n_folds: int = 5,
        y_bounds: Bounds | None = None,
        categorical: Sequence[str | int] | None = None,
        verbose: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.candidates = candidates
        self.n_folds = n_folds
        self.y_bounds = y_bounds
        self.categorical = categorical
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Try the candidates, weigh them, and fit those with a weight to all rows.

        Args:
            X: Inputs, shape (n, d): an array, or a pandas or polars frame whose column names are remembered.
            y: Responses, shape (n,).
            sample_weight: Weights, shape (n,); whole numbers count runs, so that a weight of 2 equals giving the row
                twice; any others are rescaled to mean one over the positive ones, with a warning.

        Returns:
            The fitted surrogate.
        """
        bounds, clock = self._check_settings()
        check_jobs(self.n_jobs)  # of this machine; a model may be loaded on a smaller one
        rng_cover, rng_folds, rng_seeds = as_generator(self.random_state).spawn(3)
        data = self._take_runs(X, y, sample_weight, bounds)
        self._learn_scales(data, rng_cover)
        coded = tuple(coder.column for coder in self.coders_)
        facts = Facts(len(data), len(find_regimes(data.y, data.weight)), coded, bounds)
        candidates = choose_candidates(self.candidates, facts)
        without_a_fold = len(data) - -(-len(data) // self.n_folds)
        fewest = min(MIN_LEARNT, max(without_a_fold, 3))  # fewer than ten distinct runs were given as replicates
        fold = draw_folds(data.X, data.y, self.n_folds, coded, fewest, rng_folds)
        with show_stage("choosing a surrogate", bool(self.verbose)) as announce, fitting_threads(*data.X.shape):
            seeds = _seeds(candidates, rng_seeds)
            trials = Trials(candidates, data, fold, seeds, clock, announce, self.n_jobs)
            findings = run_race(trials, facts, self.candidates is None)
            names, rows = team_of(trials)
            Q, runs = np.stack([trials.trials[name].q[rows] for name in names]), data.take(rows)
            is_spread = [_spreads_itself(trials.model_of(name)) for name in names]
            stack = choose_stack(Q, runs.y, runs.weight, fold[rows], is_spread)
            unseen = _unseen_table(trials, rows, stack, Q)
            if len(rows) <= MOST_TO_NEST:
                stack = replace(stack, scores=crps_of_table(unseen, runs.y))
            weights = {name: w for name, w in zip(names, stack.weights.tolist(), strict=True) if w > 0}
            in_order = sorted(weights, key=lambda name: -weights[name])
            trials.fit_all([name for name in in_order if trials.trials[name].model is None], clock.left())
        models = tuple(trials.model_of(name) for name in in_order)
        shares = np.array([weights[name] for name in in_order])
        self.combination_ = Combination(stack.kind, models, shares, bounds, stack.spread)
        self.report_ = write_report(trials, names, stack, rows, unseen, findings, facts, self._input_names())
        return self

    def predict_distribution(self, X: ArrayLike, of: Of = "run") -> PredictiveDistribution:
        """The predictive distribution at new inputs.

        Args:
            X: Inputs, shape (n, d), with the columns of `fit`.
            of: "run" for a new run at x; "mean" for what is known of E[y | x], epistemic only.

        Returns:
            One distribution a row.
        """
        check_choice(of, "of", ["run", "mean"])
        check_is_fitted(self, "combination_")
        predict = self.combination_.predict_run if of == "run" else self.combination_.predict_mean
        return self._in_pieces(X, lambda X: predict(self._checked(X)))

    def summary(self) -> dict[str, str]:
        """What was chosen and why, in words, for reports."""
        check_is_fitted(self, "combination_")
        report = self.report_
        shares = [f"{e.title} {w}" for e, w in zip(report.entries, report.weights, strict=True) if e.weight > 0]
        joined = {"single": "", "average": ", quantiles averaged", "pool": ", distributions pooled"}
        return {
            "model": ", ".join(shares) + joined[report.kind],
            "distinct runs": str(self.n_rows_),
            "inputs": str(self.n_features_in_),
            "out-of-fold CRPS": f"{report.crps:.4g} ± {report.crps_se:.2g}",
            "why": report.reason,
            "training time": f"{report.seconds:.1f} s",
        }

    def map_regimes(self, *, names: Sequence[str] | None = None) -> RegimeMapLike | None:
        """Where regimes lie, by the chosen model of largest weight that has found any; None if none has.

        Args:
            names: Of the inputs, d of them; None for those seen in `fit`.
        """
        check_is_fitted(self, "combination_")
        joined = self.combination_
        models = [joined.models[k] for k in np.argsort(-joined.weights, kind="stable")]
        if names is None and hasattr(self, "feature_names_in_"):
            names = self._input_names()
        maps = (model.map_regimes(names=names) for model in models if isinstance(model, MapsRegimes))
        return next((found for found in maps if found is not None), None)

    def plot(self, ax: Any = None) -> Any:
        """Draw the regimes, their boundary in the two inputs that matter most, and how sure it is; a Matplotlib axis.

        Raises:
            InvalidInput: The chosen models have found one regime, or no input is a number.
        """
        return plot_map(self.map_regimes(), ax)

    def to_state(self) -> State:
        """What the fitted surrogate keeps in its file, its models among it."""
        check_is_fitted(self, "combination_")
        joined = self.combination_
        shared = self._shared_state(
            kind=joined.kind,
            n_models=len(joined.models),
            bounds=list(joined.bounds),
            spread=joined.spread,
            report=self.report_.to_dict(),
        )
        names = None if self.candidates is None else list(self.candidates)  # models of one's own are kept fitted
        values = {**shared.values, "parameters": {**shared.values["parameters"], "candidates": names}}
        state = State(shared.kind, values, {**shared.arrays, "weights": joined.weights})
        for k, part in enumerate(joined.models):
            state = state.with_part(f"model{k}", state_of(part))
        return state

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The surrogate that a file describes."""
        model = cls._from_shared(state)
        n_models, kind = state.count("n_models", at_least=1), state.typed("kind", Kind)
        weights = state.array("weights", (n_models,), positive=True).astype(np.float64)
        if abs(weights.sum() - 1) > 1e-6:
            raise UnreadableFile(f"the weights in the model file must sum to 1, got {weights.sum()}")
        parts = tuple(restore_model(state.nested(f"model{k}")) for k in range(n_models))
        require_inputs(parts, model.n_features_in_)
        spread = state.number("spread", positive=True, default=1.0)  # older files have none
        bounds = as_bounds(state.typed("bounds", tuple[float | None, float | None]))
        model.combination_ = Combination(kind, parts, weights, bounds, spread)
        model.report_ = SelectionReport.from_dict(state.value("report"))
        return model

    @property
    def knows_mean(self) -> bool:
        """Whether a chosen model answers of="mean"."""
        return any(gives_mean(model) for model in self.combination_.models)

    def __getstate__(self) -> dict[str, Any]:
        """Models registered in this process travel with the surrogate that may need them, to workers and back."""
        own = registered_here()
        if self.candidates is not None or hasattr(self, "report_"):  # then whether one is worth trying is not asked
            names = self.report_.chosen if hasattr(self, "report_") else self.candidates or ()
            own = tuple(replace(model, worth_trying=None) for model in own if model.name in names)
        state: dict[str, Any] = super().__getstate__()
        return {**state, "_registered": own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        adopt_models(state.pop("_registered", ()))
        super().__setstate__(state)

    def _check_settings(self) -> tuple[Bounds, Clock]:
        check_count(self.n_folds, "n_folds", at_least=2)
        limit = self.time_limit
        if limit is not None:
            limit = check_nonnegative(limit, "time_limit", strictly=True)
        return as_bounds(self.y_bounds), Clock(limit)


def _unseen_table(trials: Trials, rows: IntArray, stack: Stack, Q: FloatArray) -> FloatArray:
    """Quantiles at `LEVELS` that the report judges: by choices that had not seen the row, where chance may choose."""
    if len(rows) > MOST_TO_NEST:
        return stretch_table(joint_table(stack, Q), stack.spread)
    known = {name: trials.trials[name].q[rows] for name in trials.alive}
    tables = {name: q for name, q in known.items() if np.isfinite(q).all()}
    is_spread = [_spreads_itself(trials.model_of(name)) for name in tables]
    runs = trials.data.take(rows)
    return cross_fitted_table(
        np.stack(list(tables.values())), runs.y, runs.weight, trials.fold[rows], N_BEST, is_spread
    )


def _spreads_itself(model: Fits) -> bool:
    return isinstance(model, SpreadsItself) and model.spreads_itself


def _seeds(candidates: Sequence[Candidate], rng: np.random.Generator) -> list[int]:
    """One seed for each candidate that depends on its name alone, not on its company."""
    base = int(rng.integers(2**31))
    return [int(np.random.default_rng([base, *candidate.name.encode()]).integers(2**31)) for candidate in candidates]


@dataclass(frozen=True)
class Combination:
    """Fitted models and how they are joined.

    Attributes:
        kind: "single", "average" of quantiles, or "pool" of distributions.
        models: The fitted models, K of them.
        weights: Their weights, positive, summing to 1, shape (K,).
        bounds: Bounds that no distribution leaves.
        spread: Factor by which quantiles are moved away from their median, as runs that no model had seen ask for.
    """

    kind: Kind
    models: tuple[Predicts, ...]
    weights: FloatArray
    bounds: Bounds = (None, None)
    spread: float = 1.0

    def predict_run(self, X: FloatArray) -> PredictiveDistribution:
        """The distribution of a new run at each row of X, shape (n, d)."""
        parts = [model.predict_distribution(X) for model in self.models]
        if self.kind == "average" and len(parts) > 1:
            q = sum(w * part.ppf(GRID) for w, part in zip(self.weights, parts, strict=True))
            return QuantileFunction(GRID, stretch_table(np.asarray(q), self.spread), support=self.bounds)
        joined = parts[0] if len(parts) == 1 else Mixture(parts, self.weights)
        if self.spread == 1:
            return self._within_bounds(joined)
        if isinstance(joined, Normal) and self.bounds == (None, None):
            return Normal(loc=joined.mean(), scale=self.spread * joined.std())
        return QuantileFunction(GRID, stretch_table(joined.ppf(GRID), self.spread), support=self.bounds)

    def predict_mean(self, X: FloatArray) -> PredictiveDistribution:
        """What the models know of E[y | x], those that know it, with their weights."""
        know = [(model, w) for model, w in zip(self.models, self.weights, strict=True) if gives_mean(model)]
        if not know:
            raise InvalidInput("of must be 'run', got 'mean'; no chosen model tells its own ignorance from noise")
        parts = [model.predict_distribution(X, of="mean") for model, _ in know]
        share = np.array([float(w) for _, w in know]) / sum(float(w) for _, w in know)
        if self.kind == "average":
            mean = np.tensordot(share, [part.mean() for part in parts], axes=1)
            sd = np.tensordot(share, [part.std() for part in parts], axes=1)
            return self._within_bounds(Normal(loc=mean, scale=sd))
        return self._within_bounds(parts[0] if len(parts) == 1 else Mixture(parts, share))

    def _within_bounds(self, joined: PredictiveDistribution) -> PredictiveDistribution:
        if self.bounds == (None, None):
            return joined
        return QuantileFunction(GRID, joined.ppf(GRID), support=self.bounds)
