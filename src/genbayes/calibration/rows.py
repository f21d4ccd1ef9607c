"""The rows that `ConformalSurrogate` is given: checked once as a whole, then handed to models in parts.

Models of this library have their own door, which is used here on the whole table, so that messages name the user's
rows and not those of a part. Of other models only the response is checked; their inputs are their own affair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from genbayes.arrays import FloatArray, IntArray
from genbayes.calibration.groups import Groups
from genbayes.data.dataset import Dataset
from genbayes.errors import GenBayesError, InvalidInput
from genbayes.tabular import TabularRegressor, as_table, check_fit_data, learn_categories, require_variation
from genbayes.tabular.door import MIN_ROWS
from genbayes.validation import describe_rows

__all__ = ["Rows", "check_new", "fewest_rows", "take_rows"]


@dataclass(frozen=True)
class Rows:
    """Rows of a table, as a model takes them.

    Attributes:
        X: Inputs as the user passed them, n rows of anything.
        y: Responses, shape (n,).
        weight: Positive weights, shape (n,), or None.
        codes: Number of each row's group, shape (n,).
        number: Number of each row in the user's table, shape (n,).
    """

    X: Any
    y: FloatArray
    weight: FloatArray | None
    codes: IntArray
    number: IntArray

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: IntArray) -> Rows:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        X = self.X[rows] if isinstance(self.X, np.ndarray) else _safe_indexing(self.X, rows)
        return Rows(X, self.y[rows], weight, self.codes[rows], self.number[rows])


def fewest_rows(model: Any) -> int:
    """Rows that a model needs to learn from: known for those of this library, at least two for any other."""
    return MIN_ROWS if isinstance(model, TabularRegressor) else 2


def take_rows(
    estimator: Any, model: Any, X: Any, y: Any, sample_weight: Any, groups: Any, *, learns: bool
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

    Returns:
        The rows, the groups, and the number of distinct rows.
    """
    X = _as_rows(X)
    try:
        if learns and isinstance(model, TabularRegressor):
            matrix, y = check_fit_data(estimator, X, y, learn_categories(X, model.categorical))
            require_variation(y, len(y))
            n_distinct = len(Dataset.merged(matrix, y))
        else:
            X, y = _check_response(estimator, X, y)
            n_distinct = len(y)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    except GenBayesError:
        raise
    except ValueError as error:
        raise InvalidInput(str(error)) from error
    known = Groups.learn(groups, len(y))
    rows = Rows(X, y, weight, known.encode(groups, len(y)), np.arange(len(y)))
    if weight is not None and (weight == 0).any():
        rows = rows.take(np.flatnonzero(weight > 0))
    return rows, known, n_distinct


def check_new(estimator: Any, X: Any) -> Any:
    """New inputs, with the names and the number of columns of `fit`; what they hold is for the model to check."""
    X = _as_rows(X)
    try:
        if np.ndim(X) == 1:
            return X  # the model says it best
        return validate_data(estimator, X, reset=False, skip_check_array=True)
    except ValueError as error:
        raise InvalidInput(str(error)) from error


def _as_rows(X: Any) -> Any:
    """A table from which rows can be taken."""
    if issparse(X):
        raise InvalidInput(f"X must be dense, got the sparse {type(X).__name__}; pass X.toarray()")
    if not hasattr(X, "shape") and not isinstance(X, (list, tuple)):
        return np.asarray(X)
    return as_table(X)


def _check_response(estimator: Any, X: Any, y: Any) -> tuple[Any, FloatArray]:
    """Inputs as they are, and responses as numbers (n,); columns are remembered."""
    X, y = validate_data(estimator, X, y, skip_check_array=True)
    y = column_or_1d(y, warn=True)
    y = check_array(y, ensure_2d=False, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=2, input_name="y")
    check_consistent_length(X, y)
    bad = ~np.isfinite(y)
    if bad.any():
        what = "NaN" if np.isnan(y).any() else "infinity"
        raise InvalidInput(f"Input y contains {what}. It is in {describe_rows(bad)}; drop or repair them.")
    return X, y
