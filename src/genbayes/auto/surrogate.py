"""AutoSurrogate: tries surrogates on rows they have not seen, joins the best, and says why.

Every candidate is screened on one split (on several where rows are few), the best three are cross-validated, weights
are fitted to the out-of-fold quantiles, and what has a weight is fitted to all rows. Only training rows are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from genbayes.arrays import FloatArray, IntArray
from genbayes.auto.candidates import NO_TIME, Candidate, Clock, Trials, choose_candidates
from genbayes.auto.report import SelectionReport, write_report
from genbayes.auto.stacking import Kind, Stack, choose_stack, find_team, is_not_clearly_worse
from genbayes.data.columns import MIN_ROWS
from genbayes.data.folds import draw_folds
from genbayes.data.scaling import Bounds, as_bounds
from genbayes.distribution import Mixture, Normal, PredictiveDistribution, QuantileFunction
from genbayes.distribution.quantile import GRID
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.models.base import ScaledSurrogate
from genbayes.models.protocols import Fits, Of, Predicts, gives_mean
from genbayes.models.regimes.mixture import find_regimes
from genbayes.models.registry import Facts, adopt_models, registered_here, restore_model, state_of
from genbayes.persistence import State
from genbayes.progress import show_stage
from genbayes.seeding import RandomState, as_generator
from genbayes.validation import check_choice, check_count, check_nonnegative

N_BEST = 3  # candidates that are cross-validated
ENOUGH_TO_DROP = 60  # rows after which a candidate may be given up: a handful of them can mislead
ENOUGH_TO_SCREEN = 150  # rows on which candidates are first compared
ENOUGH_TO_WEIGH = 1_000  # out-of-fold rows that settle the weights of three candidates to a few percent
FAR_BEHIND = 1.08  # a candidate whose medians err this many times more than the best's is not worth refining
# Shares of a time limit: screening ends at the first, cross-validation at the second; the rest is for the final fits.
SCREENED_BY, VALIDATED_BY, FITTED_BY = 0.45, 0.75, 0.97


class AutoSurrogate(ScaledSurrogate):
    """The surrogate that chooses for you: quantile networks, GPs and boosted trees, joined by out-of-fold CRPS.

    Args:
        time_limit: Seconds that `fit` may take; None for as long as it needs.
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
        candidates: Sequence[str] | Mapping[str, Fits | None] | None = None,
        n_folds: int = 5,
        y_bounds: Bounds | None = None,
        categorical: Sequence[str | int] | None = None,
        verbose: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.time_limit = time_limit
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
            sample_weight: Weights, shape (n,); a weight of 2 equals giving the row twice.

        Returns:
            The fitted surrogate.
        """
        bounds, clock = self._check_settings()
        rng_cover, rng_folds, rng_seeds = as_generator(self.random_state).spawn(3)
        data = self._take_runs(X, y, sample_weight, bounds)
        self._learn_scales(data, rng_cover)
        coded = tuple(coder.column for coder in self.coders_)
        facts = Facts(len(data), len(find_regimes(data.y, data.weight)), coded, bounds)
        candidates = choose_candidates(self.candidates, facts)
        fold = draw_folds(data.X, self.n_folds, coded, MIN_ROWS, rng_folds)
        with show_stage("choosing a surrogate", bool(self.verbose)) as announce:
            trials = Trials(candidates, data, fold, _seeds(candidates, rng_seeds), announce)
            _screen(trials, clock)
            _validate(trials, clock)
            names, stack, rows = _weigh(trials, clock)
            models = {
                name: trials.final(name, clock.left(FITTED_BY))
                for name, weight in sorted(zip(names, stack.weights, strict=True), key=lambda pair: -pair[1])
                if weight > 0
            }
        weights = np.array([stack.weights[names.index(name)] for name in models])
        self.combination_ = Combination(stack.kind, tuple(models.values()), weights, bounds)
        self.report_ = write_report(trials, names, stack, rows, facts, self._names(), clock.seconds)
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
        X = self._checked(X)
        return self.combination_.predict_run(X) if of == "run" else self.combination_.predict_mean(X)

    def summary(self) -> dict[str, str]:
        """What was chosen and why, in words, for reports."""
        check_is_fitted(self, "combination_")
        shares = [f"{e.title} {e.weight:.0%}" for e in self.report_.entries if e.weight > 0]
        joined = {"single": "", "average": ", quantiles averaged", "pool": ", distributions pooled"}
        return {
            "model": ", ".join(shares) + joined[self.report_.kind],
            "distinct runs": str(self.n_rows_),
            "inputs": str(self.n_features_in_),
            "out-of-fold CRPS": f"{self.report_.crps:.4g} ± {self.report_.crps_se:.2g}",
            "why": self.report_.reason,
            "training time": f"{self.report_.seconds:.1f} s",
        }

    def to_state(self) -> State:
        """What the fitted surrogate keeps in its file, its models among it."""
        check_is_fitted(self, "combination_")
        joined = self.combination_
        shared = self._shared_state(
            kind=joined.kind,
            n_models=len(joined.models),
            bounds=list(joined.bounds),
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
        n_models, kind = int(state.value("n_models")), state.value("kind")
        weights = state.array("weights", (n_models,)).astype(np.float64)
        are_shares = np.isfinite(weights).all() and (weights > 0).all() and abs(weights.sum() - 1) < 1e-6
        if kind not in ("single", "average", "pool") or n_models < 1 or not are_shares:
            raise UnreadableFile(
                f"the models in the file must be joined with positive weights, got {kind!r} and {weights}"
            )
        parts = tuple(restore_model(state.nested(f"model{k}")) for k in range(n_models))
        model.combination_ = Combination(kind, parts, weights, as_bounds(state.value("bounds")))
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

    def _names(self) -> list[str]:
        return [str(n) for n in getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])]


def _seeds(candidates: Sequence[Candidate], rng: np.random.Generator) -> list[int]:
    """One seed for each candidate that depends on its name alone, not on its company."""
    base = int(rng.integers(2**31))
    return [int(np.random.default_rng([base, *candidate.name.encode()]).integers(2**31)) for candidate in candidates]


def _screen(trials: Trials, clock: Clock) -> None:
    """Every candidate on as many folds as give enough rows to compare."""
    n_scored = 0
    for fold in range(int(trials.fold.max()) + 1):
        for name in list(trials.trials):
            if fold and name not in trials.alive:
                continue
            if not fold and _is_hopeless(trials, name):
                trials.trials[name].note = "not tried: what it refines is far behind"
                continue
            # until something has worked, all the time there is may be spent on it
            trials.run(name, fold, clock.left(SCREENED_BY if trials.alive else FITTED_BY))
            if fold:
                trials.keep_if_late(name)  # it has a score and a model from the first fold
        if not trials.alive:
            raise _nothing_works(trials, clock)
        n_scored += int(np.sum(trials.fold == fold))
        if n_scored >= ENOUGH_TO_SCREEN or clock.left(SCREENED_BY) == 0:
            return
        if n_scored >= ENOUGH_TO_DROP:
            _drop_hopeless(trials)


def _is_hopeless(trials: Trials, name: str) -> bool:
    """Whether a candidate refines one whose medians are far behind the best so far.

    Asked only where the response has regimes, for there a better spread is no cure; where noise varies, it is.
    """
    base, alive = trials.trials[name].candidate.refines, trials.alive
    if base not in alive:
        return False
    rows = np.flatnonzero(np.isfinite(trials.scores(base)))
    weight = trials.data.weight[rows]
    errors = {each: trials.errors(each)[rows] for each in alive}
    best = min(errors.values(), key=lambda error: float(error @ weight))
    far = float(errors[base] @ weight) > FAR_BEHIND * float(best @ weight)
    return far and not is_not_clearly_worse(errors[base], best, weight)


def _drop_hopeless(trials: Trials) -> None:
    """Give up candidates that do not help the best and are clearly behind it, by paired differences so far."""
    team = _best(trials)
    best = trials.scores(team[0])
    for name in trials.alive:
        if name not in team and not is_not_clearly_worse(trials.scores(name), best, trials.data.weight):
            trials.trials[name].note = "clearly behind"


def _nothing_works(trials: Trials, clock: Clock) -> InvalidInput:
    if all(trial.note == NO_TIME for trial in trials.trials.values()):
        return InvalidInput(
            f"time_limit must leave time for at least one candidate, got {clock.limit!r} seconds for "
            f"{len(trials.data)} rows; raise it, or name a quick one: candidates=['gp']"
        )
    notes = "; ".join(f"{name}: {trial.note}" for name, trial in trials.trials.items())
    return InvalidInput(f"candidates must include one that can be fitted to these runs, got none ({notes})")


def _validate(trials: Trials, clock: Clock) -> None:
    """The best candidates on further folds, until the rows are enough, the folds are used up or the time is."""
    best = _best(trials)
    n_scored = int(np.isfinite(trials.trials[best[0]].q[:, 0]).sum())
    for fold in range(int(trials.fold.max()) + 1):
        rows = trials.fold == fold
        todo = [name for name in best if np.isnan(trials.trials[name].q[rows, 0]).any()]
        if not todo:
            continue
        if n_scored >= ENOUGH_TO_WEIGH:
            return
        for name in todo:
            trial = trials.trials[name]
            left = clock.left(VALIDATED_BY)
            if left is not None and left < trial.seconds[0]:
                return
            trials.run(name, fold, left)
            trials.keep_if_late(name)
        n_scored += int(rows.sum())


def _best(trials: Trials) -> list[str]:
    """The candidates that are best together on the rows that all of them were scored on."""
    alive = trials.alive
    rows = np.flatnonzero(np.isfinite(np.stack([trials.scores(name) for name in alive])).all(axis=0))
    Q = np.stack([trials.trials[name].q[rows] for name in alive])
    return [alive[k] for k in find_team(Q, trials.data.y[rows], trials.data.weight[rows], N_BEST)]


def _weigh(trials: Trials, clock: Clock) -> tuple[list[str], Stack, IntArray]:
    """The best candidates, how they are joined, and the rows that decided it."""
    if not trials.alive:
        raise _nothing_works(trials, clock)
    names = _best(trials)
    known = np.isfinite(np.stack([trials.scores(name) for name in names])).all(axis=0)
    rows = np.flatnonzero(known)
    Q = np.stack([trials.trials[name].q[rows] for name in names])
    stack = choose_stack(Q, trials.data.y[rows], trials.data.weight[rows], trials.fold[rows])
    return names, stack, rows


@dataclass(frozen=True)
class Combination:
    """Fitted models and how they are joined.

    Attributes:
        kind: "single", "average" of quantiles, or "pool" of distributions.
        models: The fitted models, K of them.
        weights: Their weights, positive, summing to 1, shape (K,).
        bounds: Bounds that no distribution leaves.
    """

    kind: Kind
    models: tuple[Predicts, ...]
    weights: FloatArray
    bounds: Bounds = (None, None)

    def predict_run(self, X: FloatArray) -> PredictiveDistribution:
        """The distribution of a new run at each row of X, shape (n, d)."""
        parts = [model.predict_distribution(X) for model in self.models]
        if self.kind == "average" and len(parts) > 1:
            q = sum(w * part.ppf(GRID) for w, part in zip(self.weights, parts, strict=True))
            return QuantileFunction(GRID, np.asarray(q), support=self.bounds)
        return self._within_bounds(parts[0] if len(parts) == 1 else Mixture(parts, self.weights))

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
