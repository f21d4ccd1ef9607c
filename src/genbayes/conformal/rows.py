"""What `ConformalSurrogate` is given: the rows and the model.

Rows are checked once as a whole, then handed to models in parts. Models of this library have their own door, which is
used here on the whole table, so that messages name the user's rows and not those of a part. Of other models only the
response is checked; their inputs are their own affair.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from genbayes.arrays import BoolArray, FloatArray, IntArray
from genbayes.conformal.recalibration import ScoreMap
from genbayes.conformal.splits import Groups
from genbayes.data import as_table, check_fit_data, learn_categories, require_variation
from genbayes.data.dataset import number_inputs, number_runs, renumber
from genbayes.data.matrix import MIN_ROWS, code_values
from genbayes.data.weights import CheckedWeight, as_checked, check_weight
from genbayes.distribution import PredictiveDistribution, QuantileFunction
from genbayes.distribution.concatenated import Concatenated
from genbayes.errors import CopiesCountedOnce, GenBayesError, InvalidInput
from genbayes.models.base import ScaledSurrogate, Surrogate
from genbayes.models.protocols import Fits, Predicts
from genbayes.validation import describe_rows, require_no_dates


@dataclass(frozen=True)
class Rows:
    """Rows of a table, as a model takes them.

    Attributes:
        X: Inputs as the user passed them, n rows of anything.
        y: Responses, shape (n,).
        weight: Positive weights, shape (n,), or None.
        codes: Number of each row's group, shape (n,).
        number: Number of each row in the user's table, shape (n,).
        unit: Number of what each row belongs to that counts once and is never split, shape (n,): its equal rows, or all
            rows at its input. Numbers go by first appearance.
    """

    X: ArrayLike
    y: FloatArray
    weight: CheckedWeight | None
    codes: IntArray
    number: IntArray
    unit: IntArray

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: IntArray) -> Rows:
        """Some of the rows."""
        weight = None if self.weight is None else as_checked(self.weight[rows])
        unit = renumber(self.unit[rows])
        return Rows(_take(self.X, rows), self.y[rows], weight, self.codes[rows], self.number[rows], unit)

    def groups_of_units(self, n_groups: int) -> BoolArray:
        """Whether each of the u units has a row in each group, shape (u, n_groups)."""
        found = np.zeros((int(self.unit.max()) + 1, n_groups), dtype=bool)
        found[self.unit, self.codes] = True
        return found

    def one_of_each_unit(self, n_groups: int, rng: np.random.Generator | None) -> BoolArray:
        """One row of each unit in each group, shape (n,): the first, or a random one where a generator is given."""
        order = np.arange(len(self)) if rng is None else rng.permutation(len(self))
        _, first = np.unique((self.unit * n_groups + self.codes)[order], return_index=True)
        chosen = np.zeros(len(self), dtype=bool)
        chosen[order[first]] = True
        return chosen


def fewest_rows(model: Predicts) -> int:
    """Rows that a model needs to learn from: known for those of this library, at least two for any other."""
    return MIN_ROWS if isinstance(model, ScaledSurrogate) else 2


def take_rows(
    estimator: BaseEstimator,
    model: Predicts,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    groups: ArrayLike | None,
    *,
    learns: bool,
    unit: str,
) -> tuple[Rows, Groups, int]:
    """The user's rows, checked; those of weight zero are left out, as if they had not been given.

    Args:
        estimator: Whose columns these are; they are remembered in it.
        model: The model that will take them.
        X: Inputs, n rows.
        y: Responses, shape (n,).
        sample_weight: Weights, shape (n,), or None.
        groups: Labels, shape (n,), or None.
        learns: Whether the model is going to be fitted to some of the rows.
        unit: What counts once: "run", equal rows, or "input", all rows at one input.

    Returns:
        The rows, the groups, and the number of distinct rows.
    """
    X = _as_rows(X)
    try:
        if learns and isinstance(model, ScaledSurrogate):
            _, y = check_fit_data(estimator, X, y, learn_categories(X, model.categorical))
            require_variation(y, len(y))
        else:
            X, y = _check_response(estimator, X, y)
        weight = check_weight(sample_weight, y[:, None], fewest_rows(model) if learns else 0)
    except GenBayesError:
        raise
    except ValueError as error:
        raise InvalidInput(str(error)) from error
    kept = np.arange(len(y)) if weight is None else np.flatnonzero(weight > 0)
    if weight is not None and len(kept) < len(y):
        Groups.learn(groups, len(y))  # whose labels are checked with the user's numbers of rows
        X, y, weight = _take(X, kept), y[kept], as_checked(weight[kept])
        groups = None if groups is None else _safe_indexing(groups, kept)
    known = Groups.learn(groups, len(y))
    inputs = number_inputs(code_values(X, len(y)))
    runs = number_runs(inputs[:, None].astype(np.float64), y)
    rows = Rows(X, y, weight, known.encode(groups, len(y)), kept, runs if unit == "run" else inputs)
    if unit == "run":
        _warn_of_copies(inputs, runs)
    return rows, known, int(runs.max()) + 1


def _take(X: ArrayLike, rows: IntArray) -> ArrayLike:
    taken: ArrayLike = X[rows] if isinstance(X, np.ndarray) else _safe_indexing(X, rows)
    return taken


def _warn_of_copies(inputs: IntArray, runs: IntArray) -> None:
    """Say so where equal rows may be runs of their own: at inputs that other responses were seen at, too."""
    is_copy = np.ones(len(runs), dtype=bool)
    is_copy[np.unique(runs, return_index=True)[1]] = False
    responses = np.bincount(inputs[~is_copy], minlength=int(inputs.max()) + 1)  # different ones at each input
    doubtful = int((is_copy & (responses[inputs] > 1)).sum())
    if doubtful:
        warnings.warn(
            f"equal rows count once in the guarantee, as copies: {doubtful} of {len(runs)} rows repeat another at "
            "inputs that have other responses, too; if they are runs of their own, pass unit='input'",
            CopiesCountedOnce,
            stacklevel=4,
        )


def check_new(estimator: BaseEstimator, X: ArrayLike) -> ArrayLike:
    """New inputs, with the names and the number of columns of `fit`; what they hold is for the model to check."""
    X = _as_rows(X)
    try:
        if np.ndim(X) == 1:
            return X  # the model says it best
        checked: ArrayLike = validate_data(estimator, X, reset=False, skip_check_array=True)
        return checked
    except ValueError as error:
        raise InvalidInput(str(error)) from error


def _as_rows(X: ArrayLike) -> ArrayLike:
    """A table from which rows can be taken."""
    if issparse(X):
        raise InvalidInput(f"X must be dense, got the sparse {type(X).__name__}; pass X.toarray()")
    if not hasattr(X, "shape") and not isinstance(X, (list, tuple)):
        return np.asarray(X)
    return as_table(X)


def _check_response(estimator: BaseEstimator, X: ArrayLike, y: ArrayLike) -> tuple[ArrayLike, FloatArray]:
    """Inputs as they are, and responses as numbers (n,); columns are remembered."""
    require_no_dates(y)
    X, y = validate_data(estimator, X, y, skip_check_array=True)
    column = column_or_1d(y, warn=True)
    response: FloatArray = check_array(
        column, ensure_2d=False, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=2, input_name="y"
    )
    check_consistent_length(X, response)
    bad = ~np.isfinite(response)
    if bad.any():
        what = "NaN" if np.isnan(response).any() else "infinity"
        raise InvalidInput(f"Input y contains {what}. It is in {describe_rows(bad)}; drop or repair them.")
    return X, response


def check_model(model: Predicts, *, learns: bool, weighted: bool) -> None:
    """Refuse what cannot be wrapped.

    Args:
        model: What the user passed.
        learns: Whether it will be fitted.
        weighted: Whether it will be given weights.
    """
    wanted = ["fit", "predict_distribution"] if learns else ["predict_distribution"]
    if isinstance(model, type) or any(not callable(getattr(model, name, None)) for name in wanted):
        raise InvalidInput(
            f"model must be an object with {' and '.join(wanted)}, got {model!r}; pass QuantileSurrogate()"
        )
    if weighted and not has_fit_parameter(model, "sample_weight"):
        raise InvalidInput(f"sample_weight must be left out, since {type(model).__name__}.fit takes none")


def default_model() -> Fits:
    """What is calibrated if the user names no model."""
    from genbayes.models.network import QuantileSurrogate  # torch loads only with the model that needs it

    return QuantileSurrogate()


def fit_copy(model: Predicts, rows: Rows, rng: np.random.Generator) -> Predicts:
    """A copy of the model fitted to rows; where it has no seed of its own it is given one."""
    copy = clone(model, safe=False)
    if seeds := unset_seeds(copy):
        copy.set_params(**{name: int(rng.integers(2**31)) for name in seeds})
    weight = {} if rows.weight is None else {"sample_weight": rows.weight}
    fitted: Predicts = copy.fit(rows.X, rows.y, **weight)
    return fitted


def unset_seeds(model: Predicts | None) -> list[str]:
    """Names of the parameters `random_state`, also of objects inside the model, that are None."""
    parameters = {} if model is None or not hasattr(model, "get_params") else model.get_params()
    return sorted(
        name for name, value in parameters.items() if name.split("__")[-1] == "random_state" and value is None
    )


def require_unseen(model: Predicts | None, rows: Rows, unit: Literal["run", "input"]) -> None:
    """Refuse to calibrate a fitted model of this library on rows, or where inputs count on inputs, that it learnt."""
    if not isinstance(model, Surrogate):
        return
    seen = model._has_learnt(rows.X, rows.y, unit)
    if seen.any():
        what = "rows" if unit == "run" else "inputs"
        raise InvalidInput(
            f"X must hold {what} that the model has not learnt from, got {describe_rows(seen)} of its fit; "
            "hold some out, or use method='split'"
        )


def score_rows(model: Predicts, least: float, rows: Rows) -> FloatArray:
    """Conformity scores of rows that the model has not seen, shape (n,)."""
    try:
        predicted = predict_rows(model, rows.X)
    except NotFittedError as error:
        raise InvalidInput(
            f"model must be fitted for method='prefit', got an unfitted {type(model).__name__}; "
            "fit it to other rows first, or use method='split'"
        ) from error
    lower, upper = support_of([predicted])
    outside = (rows.y < lower) | (rows.y > upper)
    if outside.any():
        i = int(np.flatnonzero(outside)[0])
        raise InvalidInput(
            f"y must lie within the bounds of the model, got {float(rows.y[i])!r} in row {rows.number[i]} "
            f"({describe_rows(outside)} that calibrate); widen y_bounds"
        )
    return ScoreMap.of(predicted, least).score(rows.y)


def predict_rows(model: Predicts, X: ArrayLike) -> PredictiveDistribution:
    """The model's distribution at each row of X."""
    predicted = model.predict_distribution(X)
    if not isinstance(predicted, PredictiveDistribution):
        raise InvalidInput(
            f"model must return a PredictiveDistribution from predict_distribution, got {type(predicted).__name__}"
        )
    return predicted


def support_of(parts: Sequence[PredictiveDistribution]) -> tuple[float, float]:
    """Bounds that hold every distribution, infinite where there are none; only tables of quantiles know bounds."""
    pieces = [piece for part in parts for piece in (part.parts if isinstance(part, Concatenated) else [part])]
    bounds = [piece.support if isinstance(piece, QuantileFunction) else (-np.inf, np.inf) for piece in pieces]
    return min(lower for lower, _ in bounds), max(upper for _, upper in bounds)
