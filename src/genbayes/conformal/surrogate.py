"""ConformalSurrogate: wraps any model and returns distributions whose intervals cover as often as they say.

Conformalised quantile regression (Romano, Patterson and Candes 2019) for the whole distribution at once, the guarantee
that section 7 of the paper points to. `recalibration` scores responses and makes the distribution, `rows` takes the
user's rows, models and groups; here rows are shared out, models fitted, and the pieces kept.
"""

from __future__ import annotations

from typing import Any, Literal, Self, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from genbayes.arrays import AnyArray, BoolArray, FloatArray, IntArray
from genbayes.conformal.recalibration import (
    Recalibration,
    ScoreMap,
    cross_bound,
    interval_ranks,
    least_slope,
    require_support,
    table_levels,
)
from genbayes.conformal.rows import (
    Rows,
    check_model,
    check_new,
    default_model,
    fewest_rows,
    fit_copy,
    predict_rows,
    require_unseen,
    score_rows,
    support_of,
    take_rows,
    unset_seeds,
)
from genbayes.conformal.splits import Groups, draw_folds, draw_split, require_support_in_each
from genbayes.data.categories import CategoryCoder
from genbayes.data.dataset import NO_HASHES, HashArray, are_among, smallest_hashes
from genbayes.distribution import PredictiveDistribution, QuantileFunction
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.models.base import (
    ROWS_HASHED,
    Surrogate,
    known_parameters,
    plain_parameters,
    require_inputs,
    restore_columns,
)
from genbayes.models.loading import restore_model, state_of
from genbayes.models.protocols import KnowsTrainingInputs, Of, Predicts
from genbayes.persistence import FOREIGN, State
from genbayes.seeding import RandomState, as_generator
from genbayes.validation import check_choice, check_count, check_level

METHODS = ("split", "cross", "prefit")
UNITS = {"run": "distinct rows", "input": "distinct inputs"}
LEARNT_ONLY = -1  # fold of a row that calibrates nothing


class ConformalSurrogate(RegressorMixin, BaseEstimator, Surrogate):
    """A model whose distributions are recalibrated on rows it has not seen, with a guarantee for any sample size.

    If calibration rows and a new run are exchangeable and n rows calibrate, then with "split" and "prefit"

        P(y in interval(level)) = ceil((n + 1) level) / (n + 1), within [level, level + 1 / (n + 1)),

    whatever the model and the distribution of the runs, as long as scores do not tie (ties only add coverage). Equal
    rows, copies of one run, are never parted and count once in n; the model learns from all of them. The
    probability is over calibration rows and new run together. Every other quantile is recalibrated too: the share below
    Q(tau) is tau up to 1 / (n + 1), at some seventy levels that are joined by lines. Beyond level 1 / (n + 1) from
    either end no row has been seen; the tails there are the model's own, stretched as the calibration rows stretched
    its body, and promise nothing. "cross" calibrates on every row by K models that have not seen it; its proven
    coverage is smaller (`cross_bound` in `recalibration`), its usual one close to the level.

    Args:
        model: Any model with `fit` and `predict_distribution`; None for `QuantileSurrogate()`.
        level: Nominal coverage of the interval that carries the guarantee.
        method: "split" fits a copy of the model to some rows and calibrates on the others, "cross" fits a copy
            without each fold and calibrates on all rows, "prefit" takes the model as fitted and calibrates only.
        calibration_share: Share of the rows that "split" calibrates on; None for a quarter, but at most 1,000 and
            never fewer than the level needs.
        n_folds: Folds of "cross".
        unit: What is exchangeable and counts once: "run", each distinct row; or "input", for designs that repeat
            inputs on purpose. Then all runs at an input stay together, one of them drawn at random calibrates, and
            coverage holds for a run at a new input.
        random_state: Seed of the split or the folds, and of copies whose own `random_state` is None.

    Attributes:
        level_: The level that was calibrated.
        models_: The fitted models: one, or one for each fold.
        scores_: Conformity scores of the calibration rows, shape (n_cal,); standard normal if the model was calibrated.
        folds_: Which model scored each of them, shape (n_cal,).
        codes_: Number of the group of each of them, shape (n_cal,).
        groups_: The groups.
        n_rows_: Distinct rows given to `fit`.
        row_hashes_: Hashes of the rows that calibrated a single model, by which they are known again.
        n_features_in_, feature_names_in_: Columns seen in `fit`.

    Example:
        >>> from genbayes.models import StationaryGP
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(size=(120, 1))
        >>> y = np.sin(6 * X[:, 0]) + 0.3 * rng.exponential(size=120)
        >>> model = ConformalSurrogate(StationaryGP(), level=0.9, random_state=0).fit(X, y)
        >>> lower, upper = model.predict_interval(X)
        >>> lower.shape, len(model.scores_)
        ((120,), 30)
    """

    knows_mean = False  # calibration says nothing about E[y | x]
    level_: float
    models_: list[Predicts]
    least_slopes_: list[float]
    scores_: FloatArray
    folds_: IntArray
    codes_: IntArray
    groups_: Groups
    n_rows_: int
    row_hashes_: HashArray
    n_features_in_: int

    def __init__(
        self,
        model: Predicts | None = None,
        level: float = 0.9,
        method: str = "split",
        *,
        calibration_share: float | None = None,
        n_folds: int = 5,
        unit: str = "run",
        random_state: RandomState = None,
    ) -> None:
        self.model = model
        self.level = level
        self.method = method
        self.calibration_share = calibration_share
        self.n_folds = n_folds
        self.unit = unit
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the model (unless it is fitted) and calibrate it.

        Args:
            X: Inputs, shape (n, d), in any form that the model takes.
            y: Responses, shape (n,).
            sample_weight: Weights for the model's own `fit`, shape (n,). Calibration counts rows and knows no weights;
                rows of weight zero are left out altogether.
            groups: A label for each row, text or number, shape (n,). Each group is calibrated by its own rows, so that
                coverage holds within it; then labels are needed at new rows too.

        Returns:
            The calibrated model.
        """
        model = default_model() if self.model is None else self.model
        self._check_settings(model, sample_weight)
        level, learns = check_level(self.level), self.method != "prefit"
        rng_rows, rng_models = as_generator(self.random_state).spawn(2)
        rows, known_groups, n_distinct = take_rows(
            self, model, X, y, sample_weight, groups, learns=learns, unit=self.unit
        )
        folds = self._assign(rows, known_groups, level, fewest_rows(model), rng_rows)
        used = folds != LEARNT_ONLY
        used &= rows.one_of_each_unit(len(known_groups), None if self.unit == "run" else rng_rows)
        models, slopes, scores = [], [], np.zeros(len(rows))
        for fold in range(folds.max() + 1):
            known = rows.take(np.flatnonzero(folds != fold)) if learns else rows
            models.append(fit_copy(model, known, rng_models) if learns else model)
            # a constant of the rows learnt from; "prefit" knows these alone, of which one more changes hardly a digit
            slopes.append(least_slope(known.y))
            held_out = np.flatnonzero(used & (folds == fold))
            scores[held_out] = score_rows(models[-1], slopes[-1], rows.take(held_out))
        self.level_, self.models_, self.least_slopes_, self.groups_ = level, models, slopes, known_groups
        self.scores_, self.folds_, self.codes_, self.n_rows_ = scores[used], folds[used], rows.codes[used], n_distinct
        self.row_hashes_ = self._hashes_kept(rows.take(np.flatnonzero(folds != LEARNT_ONLY)))
        return self

    def _hashes_kept(self, rows: Rows) -> HashArray:
        """By which rows that calibrated one model are known again; several have learnt what calibrates the others."""
        found = self._hash_rows(rows.X, rows.y) if len(self.models_) == 1 else None
        return NO_HASHES if found is None else smallest_hashes(found, ROWS_HASHED)

    def predict_distribution(
        self, X: ArrayLike, of: Of = "run", groups: ArrayLike | None = None
    ) -> PredictiveDistribution:
        """The recalibrated distribution of a new run.

        Args:
            X: Inputs, shape (n, d), with the columns of `fit`.
            of: "run"; calibration says nothing about E[y | x].
            groups: The group of each row, shape (n,), if and only if `fit` was given groups.

        Returns:
            One distribution a row, whose `interval(level)` at the level of the constructor carries the guarantee.
        """
        check_is_fitted(self, "scores_")
        if check_choice(of, "of", ["run", "mean"]) == "mean":
            raise InvalidInput(f"of must be 'run' for {type(self).__name__}, got 'mean'; calibration is about runs")
        return self._in_pieces(X, self._predict_piece, **({} if groups is None else {"groups": groups}))

    def _predict_piece(self, X: ArrayLike, groups: ArrayLike | None = None) -> QuantileFunction:
        X = check_new(self, X)
        parts = [predict_rows(model, X) for model in self.models_]
        maps = [ScoreMap.of(predicted, least) for predicted, least in zip(parts, self.least_slopes_, strict=True)]
        codes = self.groups_.encode(groups, len(parts[0]))
        levels = table_levels(self.level_)
        q = np.empty((len(codes), len(levels)))
        for code in np.unique(codes):
            rows = np.flatnonzero(codes == code)
            q[rows] = self._recalibration(int(code)).quantiles([each.at(rows) for each in maps])
        return QuantileFunction(levels, q, support_of(parts))

    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[False] = False, groups: ArrayLike | None = None
    ) -> FloatArray: ...

    @overload
    def predict(
        self, X: ArrayLike, return_std: Literal[True], groups: ArrayLike | None = None
    ) -> tuple[FloatArray, FloatArray]: ...

    def predict(
        self, X: ArrayLike, return_std: bool = False, groups: ArrayLike | None = None
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Predictive mean, shape (n,); with `return_std` also the standard deviation."""
        labels = _labels(groups)
        if return_std:
            return self._answer(X, lambda predicted: (predicted.mean(), predicted.std()), **labels)
        return self._answer(X, lambda predicted: predicted.mean(), **labels)

    def predict_quantiles(self, X: ArrayLike, tau: ArrayLike, groups: ArrayLike | None = None) -> FloatArray:
        """Quantiles at levels tau: a scalar gives (n,), m levels give (n, m)."""
        return self._answer(X, lambda predicted: predicted.ppf(tau), **_labels(groups))

    def predict_interval(
        self, X: ArrayLike, level: float | None = None, groups: ArrayLike | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Lower and upper end of the central interval, each (n,); by default at the level of the constructor."""
        check_is_fitted(self, "scores_")
        asked = self.level_ if level is None else level
        return self._answer(X, lambda predicted: predicted.interval(asked), **_labels(groups))

    def sample_y(
        self, X: ArrayLike, n_samples: int = 1, random_state: RandomState = None, groups: ArrayLike | None = None
    ) -> FloatArray:
        """Draws of a new run at each row, shape (n, n_samples)."""
        rng = as_generator(random_state)
        return self._answer(X, lambda predicted: predicted.sample(n_samples, random_state=rng), **_labels(groups))

    def extrapolates(self, X: ArrayLike) -> BoolArray:
        """Whether each row of X lies far from every input that a model learnt from, (n, d) -> (n,)."""
        check_is_fitted(self, "scores_")
        X = check_new(self, X)
        known = [model for model in self.models_ if isinstance(model, KnowsTrainingInputs)]
        if not known:
            raise InvalidInput(f"model must have extrapolates, got {type(self.models_[0]).__name__} without")
        return np.asarray(np.all([model.extrapolates(X) for model in known], axis=0))

    @property
    def coders_(self) -> tuple[CategoryCoder, ...]:
        """Coders of the categorical columns, those of the model inside."""
        check_is_fitted(self, "scores_")
        return getattr(self.models_[0], "coders_", ())

    def _check_rows(self, X: ArrayLike, **labels: ArrayLike) -> ArrayLike:
        X = check_new(self, X)
        self.groups_.encode(labels.get("groups"), len(X))  # type: ignore[arg-type]  # a table of many rows
        for model in self.models_:
            if isinstance(model, Surrogate):
                model._check_rows(X)
        return X

    def _looks_far(self, X: ArrayLike) -> bool:
        """As the models say, by all of those that know their training inputs."""
        return all(isinstance(model, Surrogate) and model._looks_far(X) for model in self.models_)

    def _hash_rows(self, X: ArrayLike, y: FloatArray) -> HashArray | None:
        model = self.models_[0]
        return model._hash_rows(X, y) if isinstance(model, Surrogate) else None

    def _has_learnt(self, X: ArrayLike, y: FloatArray, by: Literal["run", "input"]) -> BoolArray:
        """What a model inside learnt, and what calibrated one."""
        if not hasattr(self, "scores_"):
            return np.zeros(len(y), dtype=bool)
        hashes = self._hash_rows(X, y)
        seen = np.zeros(len(y), dtype=bool) if hashes is None else are_among(self.row_hashes_, hashes, by)
        learnt = [model._has_learnt(X, y, by) for model in self.models_ if isinstance(model, Surrogate)]
        return np.asarray(np.any([seen, *learnt], axis=0))

    def summary(self) -> dict[str, str]:
        """What was calibrated and what is promised, in words, for reports."""
        check_is_fitted(self, "scores_")
        sizes = np.bincount(self.codes_, minlength=len(self.groups_))
        promised = [self._promise(int(n)) for n in sizes]
        return {
            "model": f"{type(self.models_[0]).__name__}, calibrated",
            "method": self.method if len(self.models_) == 1 else f"cross, {len(self.models_)} folds",
            "distinct runs": str(self.n_rows_),
            "inputs": str(getattr(self, "n_features_in_", "unknown")),
            "groups": str(len(self.groups_)),
            "calibration rows": f"{sizes.min()} to {sizes.max()} a group" if len(sizes) > 1 else str(sizes[0]),
            "level": f"{self.level_:g}",
            "coverage of": {"run": "new runs", "input": "runs at new inputs"}[self.unit],
            "guaranteed coverage": f"{min(promised):.3g}",
        }

    def to_state(self) -> State:
        """What the calibrated model keeps in its file, its models among it."""
        check_is_fitted(self, "scores_")
        values: dict[str, Any] = {
            "parameters": plain_parameters(self, leave_out=("model",)),
            "level": self.level_,
            "wraps_default": self.model is None,
            "n_models": len(self.models_),
            "least_slopes": self.least_slopes_,
            "groups": list(self.groups_.labels),
            "n_rows": self.n_rows_,
            "n_features_in": getattr(self, "n_features_in_", None),
            "feature_names_in": [str(name) for name in getattr(self, "feature_names_in_", [])],
            "unseeded": unset_seeds(self.model),
        }
        arrays: dict[str, AnyArray] = {"scores": self.scores_, "folds": self.folds_, "codes": self.codes_}
        arrays["row_hashes"] = self.row_hashes_
        state = State("ConformalSurrogate", values, arrays)
        for k, model in enumerate(self.models_):
            state = state.with_part(f"model{k}", state_of(model))
        return state

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The calibrated model that a file describes; every part is checked against the others."""
        calibrated = cls(**known_parameters(cls, state))
        calibrated._check_plain_settings()
        level, n_models = check_level(state.number("level")), state.count("n_models", at_least=1)
        scores = state.array("scores", (None,)).astype(np.float64)
        groups = Groups(state.typed("groups", tuple[str | float | int, ...]))
        folds = _parts_of_rows(state, "folds", len(scores), n_models)
        codes = _parts_of_rows(state, "codes", len(scores), len(groups))
        slopes = state.typed("least_slopes", list[float])
        if len(slopes) != n_models or min(slopes) <= 0 or len(set(groups.labels)) < len(groups.labels):
            raise UnreadableFile(f"the scales of scores in the model file must be positive, got others; {FOREIGN}")
        for n in np.bincount(codes):
            require_support(int(n), level)
        calibrated.models_ = [restore_model(state.nested(f"model{k}")) for k in range(n_models)]
        calibrated.level_, calibrated.least_slopes_, calibrated.groups_ = level, slopes, groups
        calibrated.scores_, calibrated.folds_, calibrated.codes_ = scores, folds, codes
        calibrated.n_rows_ = state.count("n_rows")
        calibrated.row_hashes_ = (  # older files have none
            state.hashes("row_hashes", (None, 2)) if "row_hashes" in state.arrays else NO_HASHES
        )
        if state.value("n_features_in") is not None:
            restore_columns(calibrated, state)
            require_inputs(calibrated.models_, calibrated.n_features_in_)
        if not state.typed("wraps_default", bool):
            calibrated.model = calibrated.models_[0]
            if calibrated.method != "prefit":  # what was passed: unfitted, without the seeds that `fit` had set
                seeds = dict.fromkeys(state.typed("unseeded", list[str]))
                calibrated.model = clone(calibrated.model).set_params(**seeds)
        return calibrated

    def _check_plain_settings(self) -> None:
        check_choice(self.method, "method", METHODS)
        check_choice(self.unit, "unit", UNITS)
        check_count(self.n_folds, "n_folds", at_least=2)
        share = self.calibration_share
        if share is not None and not (isinstance(share, (int, float)) and 0 < share < 1):
            raise InvalidInput(f"calibration_share must lie strictly between 0 and 1, got {share!r}; pass 0.25")

    def _check_settings(self, model: Predicts, sample_weight: ArrayLike | None) -> None:
        self._check_plain_settings()
        if sample_weight is not None and self.method == "prefit":
            raise InvalidInput("sample_weight must be left out with method='prefit', where nothing is fitted")
        check_model(model, learns=self.method != "prefit", weighted=sample_weight is not None)

    def _assign(self, rows: Rows, groups: Groups, level: float, fewest: int, rng: np.random.Generator) -> IntArray:
        """The fold of each row: model k learns from all rows of other folds and is calibrated on those of fold k.

        Rows of one unit share a fold.
        """
        member = rows.groups_of_units(len(groups))
        what = "rows" if len(member) == len(rows) else UNITS[self.unit]
        if self.method == "split":
            held_out = draw_split(member, groups, level, self.calibration_share, fewest, rng, what)
            return np.where(held_out, 0, LEARNT_ONLY)[rows.unit]
        if self.method == "cross":
            return draw_folds(member, groups, level, self.n_folds, fewest, rng, what)[rows.unit]
        require_unseen(self.model, rows, "run" if self.unit == "run" else "input")
        require_support_in_each(member, groups, level)
        return np.zeros(len(rows), dtype=np.int64)

    def _recalibration(self, code: int) -> Recalibration:
        """The scores of one group, those of each model apart."""
        here = self.codes_ == code
        scores = (self.scores_[here & (self.folds_ == fold)] for fold in range(len(self.models_)))
        return Recalibration(tuple(np.sort(part) for part in scores), self.level_)

    def _promise(self, n: int) -> float:
        """Proven coverage with n calibration rows."""
        if len(self.models_) > 1:
            return cross_bound(n, len(self.models_), self.level_)
        lower, upper = interval_ranks(n, self.level_)
        return (upper - lower) / (n + 1)


def _parts_of_rows(state: State, name: str, n_rows: int, n_parts: int) -> IntArray:
    """The part that each row belongs to, shape (n,): every number from 0 to n_parts - 1 occurs, and no other."""
    numbers = state.whole_array(name, (n_rows,), below=n_parts)
    if len(np.unique(numbers)) != n_parts:
        raise UnreadableFile(f"the array {name!r} in the model file must number {n_parts} parts, got other numbers")
    return numbers


def _labels(groups: ArrayLike | None) -> dict[str, ArrayLike]:
    """The groups as an argument, if there are any."""
    return {} if groups is None else {"groups": groups}
