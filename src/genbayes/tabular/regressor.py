"""TabularRegressor: a scikit-learn regressor that takes runs through one door and returns one law per row.

Surrogates and baselines inherit from it. It checks and merges the runs, codes categories, learns the scales, knows
where the training inputs lie, and keeps all that in the model's file. What is learnt from the scaled runs, and the
law at a scaled input, is left to each model.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from genbayes.arrays import BoolArray, FloatArray
from genbayes.categories import CategoryCoder
from genbayes.data.dataset import Dataset
from genbayes.distribution import Predictor
from genbayes.models.registry import save_model
from genbayes.persistence import Savable, State
from genbayes.scaling import Bounds, InputScaler, ResponseScaler, check_within
from genbayes.seeding import RandomState
from genbayes.tabular.coverage import InputCoverage
from genbayes.tabular.door import as_table, check_fit_data, check_predict_data, learn_categories, require_variation
from genbayes.tabular.state import restore_table, state_of_table

__all__ = ["ScaledRuns", "TabularRegressor"]


@dataclass(frozen=True)
class ScaledRuns:
    """Runs on a scale of order one, whatever their units were.

    Attributes:
        Z: Inputs: standardised numeric columns, then one-hot blocks of the categories, shape (n, p).
        y: Standardised responses, shape (n,).
        weight: Positive weights, shape (n,).
        blocks: One-hot blocks (start, stop) among the columns of Z.
    """

    Z: FloatArray
    y: FloatArray
    weight: FloatArray
    blocks: tuple[tuple[int, int], ...] = ()

    def __len__(self) -> int:
        return len(self.y)


class TabularRegressor(RegressorMixin, BaseEstimator, Predictor, Savable):
    """A model of y given a row of a table.

    Attributes:
        coders_: Coders of the categorical columns.
        input_scaler_, response_scaler_: The scales of inputs (features) and responses.
        coverage_: Where the training inputs lie.
        n_rows_, fingerprint_: Number and SHA-256 of the distinct runs.
    """

    categorical: Sequence[str | int] | None
    random_state: RandomState
    coders_: tuple[CategoryCoder, ...]
    input_scaler_: InputScaler
    response_scaler_: ResponseScaler
    coverage_: InputCoverage
    n_rows_: int
    fingerprint_: str
    n_features_in_: int

    def extrapolates(self, X: Any) -> BoolArray:
        """Whether each row of X lies far from every training input, (n, d) -> (n,)."""
        return self.coverage_.is_far(self._scaled(X))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the fitted model to one file without pickle; an existing file is replaced only by a whole new one."""
        return save_model(self, path)

    def _take_runs(self, X: Any, y: Any, sample_weight: Any, bounds: Bounds = (None, None)) -> Dataset:
        """The user's runs, checked, categories coded, equal rows merged."""
        X = as_table(X)
        self.coders_ = learn_categories(X, self.categorical)
        X, y = check_fit_data(self, X, y, self.coders_)
        check_within(y, bounds)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        data = Dataset.merged(X, y, weight)
        require_variation(data.y, len(y))
        self.n_rows_, self.fingerprint_ = len(data), data.fingerprint()
        return data

    def _learn_scales(self, data: Dataset, rng: np.random.Generator, bounds: Bounds = (None, None)) -> ScaledRuns:
        """Learn the scales of features data.X, shape (n, p), and of the responses; the runs on them."""
        levels = tuple((coder.column, len(coder.levels)) for coder in self.coders_)
        self.input_scaler_ = InputScaler.learn(data.X, data.weight, levels)
        self.response_scaler_ = ResponseScaler.learn(data.y, data.weight, bounds)
        Z = self.input_scaler_.transform(data.X)
        self.coverage_ = InputCoverage.learn(Z, rng)
        return ScaledRuns(Z, self.response_scaler_.transform(data.y), data.weight, self.input_scaler_.blocks)

    def _features(self, X: FloatArray) -> FloatArray:
        """Features of checked inputs, (n, d) -> (n, p); x itself unless a model has feature maps."""
        return X

    def _scaled(self, X: Any) -> FloatArray:
        """The user's new inputs on the model's scale, (n, d) -> (n, p)."""
        X = self._checked(X)
        return self.input_scaler_.transform(self._features(X))

    def _checked(self, X: Any) -> FloatArray:
        """The user's new inputs as a matrix of numbers, categories coded, (n, d)."""
        check_is_fitted(self, "input_scaler_")
        return check_predict_data(self, X, self.coders_)

    def _table_state(self) -> State:
        """The file's part that all models share: constructor arguments, columns, scales, coverage, fingerprint."""
        return state_of_table(self)

    def _restore_table(self, state: State) -> None:
        """Read back what `_table_state` wrote."""
        restore_table(self, state)
