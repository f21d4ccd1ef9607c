"""Surrogate: what every model offers. ScaledSurrogate: a scikit-learn regressor that learns from scaled runs.

A new model inherits from `ScaledSurrogate` and writes what it learns, the distribution at a scaled input, and what it
keeps in a file; the door for X and y, scales, weights, coverage, seeds, `summary` and `save` come from here.
"""

from __future__ import annotations

import os
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence, Sized
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from genbayes.arrays import BoolArray, FloatArray
from genbayes.data import (
    InputCoverage,
    as_table,
    check_fit_data,
    check_predict_data,
    learn_categories,
    require_variation,
)
from genbayes.data.categories import CategoryCoder
from genbayes.data.dataset import NO_HASHES, Dataset, HashArray, are_among, hash_rows
from genbayes.data.extrapolation import widened_box
from genbayes.data.log_scaling import choose_bends
from genbayes.data.scaling import Bounds, InputScaler, ResponseScaler, as_bounds, check_within
from genbayes.data.weights import as_checked, check_weight
from genbayes.distribution import Normal, PredictiveDistribution
from genbayes.distribution.concatenated import Concatenated
from genbayes.errors import FarFromRuns, InvalidInput, UnreadableFile
from genbayes.models.loading import state_of
from genbayes.models.protocols import Of
from genbayes.persistence import FOREIGN, State, write_state
from genbayes.seeding import RandomState, as_generator
from genbayes.threads import fitting_threads
from genbayes.validation import check_choice

ROWS_AT_ONCE = 50_000  # whose distributions take 20 MB; a million rows are read in pieces of so many
ROWS_HASHED = 100_000  # of more runs a sample is remembered: 1.6 MB of a file

Answer = TypeVar("Answer", FloatArray, tuple[FloatArray, FloatArray])
Piece = TypeVar("Piece")


class Surrogate(ABC):
    """A fitted model that answers any question about the response at new inputs with one distribution a row."""

    @abstractmethod
    def predict_distribution(self, X: ArrayLike) -> PredictiveDistribution:
        """The distribution of a new run at each row of X, shape (n, d)."""

    @overload
    def predict(self, X: ArrayLike, return_std: Literal[False] = False) -> FloatArray: ...

    @overload
    def predict(self, X: ArrayLike, return_std: Literal[True]) -> tuple[FloatArray, FloatArray]: ...

    def predict(self, X: ArrayLike, return_std: bool = False) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Predictive mean, shape (n,); with `return_std` also the standard deviation."""
        if return_std:
            return self._answer(X, lambda predicted: (predicted.mean(), predicted.std()))
        return self._answer(X, lambda predicted: predicted.mean())

    def predict_quantiles(self, X: ArrayLike, tau: ArrayLike) -> FloatArray:
        """Quantiles at levels tau: a scalar gives (n,), m levels give (n, m)."""
        return self._answer(X, lambda predicted: predicted.ppf(tau))

    def predict_interval(self, X: ArrayLike, level: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Lower and upper end of the central interval, each (n,)."""
        return self._answer(X, lambda predicted: predicted.interval(level))

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: RandomState = None) -> FloatArray:
        """Draws of a new run at each row, shape (n, n_samples)."""
        rng = as_generator(random_state)
        return self._answer(X, lambda predicted: predicted.sample(n_samples, random_state=rng))

    def _answer(self, X: ArrayLike, read: Callable[[PredictiveDistribution], Answer], **labels: ArrayLike) -> Answer:
        """What is read of the distributions at all rows, of many rows piece by piece; a warning where some are far.

        Only these answers warn. `predict_distribution` does not, so that what asks models anywhere on purpose, such as
        the choice of new runs, can; `extrapolates` tells it.
        """
        X = as_table(X)
        answer = _join(self._by_pieces(X, lambda X, **labels: read(self.predict_distribution(X, **labels)), **labels))
        if self._looks_far(X):
            warnings.warn(
                "some rows lie far from every training input, where a surrogate can only guess; "
                "model.extrapolates(X) tells which",
                FarFromRuns,
                stacklevel=3,
            )
        return answer

    def _in_pieces(
        self, X: ArrayLike, ask: Callable[..., PredictiveDistribution], **labels: ArrayLike
    ) -> PredictiveDistribution:
        """What `ask(X)` says of all rows, of many rows piece by piece: what a model computes on the way stays small."""
        parts = self._by_pieces(as_table(X), ask, **labels)
        return parts[0] if len(parts) == 1 else Concatenated(parts)

    def _by_pieces(self, X: ArrayLike, ask: Callable[..., Piece], **labels: ArrayLike) -> list[Piece]:
        """What `ask` says of each piece of a table and of its rows' labels; one piece where there are few rows."""
        n = _count_rows(X)
        if n <= ROWS_AT_ONCE:
            return [ask(X, **labels)]
        self._check_rows(X, **labels)  # as a whole, so that messages name the user's rows
        parts = []
        for start in range(0, n, ROWS_AT_ONCE):
            rows = np.arange(start, min(start + ROWS_AT_ONCE, n))
            some = {name: _safe_indexing(label, rows) for name, label in labels.items()}
            parts.append(ask(_safe_indexing(X, rows), **some))
        return parts

    def _check_rows(self, X: ArrayLike, **labels: ArrayLike) -> ArrayLike:
        """New inputs, refused as a whole where some cannot be predicted, before they are taken piece by piece."""
        return X

    def _hash_rows(self, X: ArrayLike, y: FloatArray) -> HashArray | None:
        """Hashes of runs as this model codes them, shape (n, 2); None if it cannot."""
        return None

    def _has_learnt(self, X: ArrayLike, y: FloatArray, by: Literal["run", "input"]) -> BoolArray:
        """Which runs, or which inputs, took part in the fit as far as the model remembers, shape (n,)."""
        return np.zeros(len(y), dtype=bool)

    def _looks_far(self, X: ArrayLike) -> bool:
        """Whether some rows seem to lie far from every training input, as far as can be told quickly."""
        return False

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the fitted model to one file without pickle; an existing file is replaced only by a whole new one."""
        return write_state(path, state_of(self))


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


class ScaledSurrogate(RegressorMixin, BaseEstimator, Surrogate):
    """A model of y given a row of a table, which sees standardised columns and responses and answers in units of y.

    A model writes `_learn`, `_distribution`, `_keep` and `_restore`, and where it likes `_check_settings` and `_facts`;
    one that goes about it otherwise writes the public methods and uses `_take_runs`, `_learn_scales` and `_scaled`.

    Attributes:
        coders_: Coders of the categorical columns.
        input_scaler_, response_scaler_: The scales of inputs (features) and responses.
        coverage_: Where the training inputs lie.
        n_rows_, fingerprint_: Number and SHA-256 of the distinct runs.
        row_hashes_: Hashes of inputs and of whole rows of up to 100,000 of them, by which one is known again.
        seconds_: Time the fit took.
    """

    categorical: Sequence[str | int] | None
    random_state: RandomState
    coders_: tuple[CategoryCoder, ...]
    input_scaler_: InputScaler
    response_scaler_: ResponseScaler
    coverage_: InputCoverage
    n_rows_: int
    fingerprint_: str
    row_hashes_: HashArray
    n_features_in_: int
    seconds_: float

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the distribution of y given x from runs.

        Args:
            X: Inputs, shape (n, d): an array, or a pandas or polars frame whose column names are remembered.
            y: Responses, shape (n,).
            sample_weight: Weights, shape (n,). Whole numbers count runs: a weight of 2 equals giving the row twice. Any
                others are rescaled to mean one over the positive ones, with a warning.

        Returns:
            The fitted model.
        """
        self._check_settings()
        rng_cover, rng = as_generator(self.random_state).spawn(2)
        started = time.perf_counter()
        data = self._take_runs(X, y, sample_weight)
        with fitting_threads(*data.X.shape):
            self._learn(self._learn_scales(data, rng_cover), rng)
        self.seconds_ = time.perf_counter() - started
        return self

    def predict_distribution(self, X: ArrayLike, of: Of = "run") -> PredictiveDistribution:
        """The predictive distribution at new inputs.

        Args:
            X: Inputs, shape (n, d), with the columns of `fit`.
            of: "run" for a new run at x; "mean" for what the model knows of E[y | x], epistemic only.

        Returns:
            One distribution a row.
        """
        if check_choice(of, "of", ["run", "mean"]) == "mean" and not self.knows_mean:
            raise InvalidInput(
                f"of must be 'run' for {type(self).__name__}, got 'mean'; it does not tell its own ignorance from noise"
            )
        return self._in_pieces(X, lambda X: self._distribution(self._scaled(X), of))

    @property
    def knows_mean(self) -> bool:
        """Whether it can tell what it knows of E[y | x] from the noise of a run, so that of="mean" is answered."""
        return True

    def extrapolates(self, X: ArrayLike) -> BoolArray:
        """Whether each row of X has an input far outside its range or lies far from every training input, (n,)."""
        X = self._checked(X)
        return self.coverage_.is_far(self._placed(X))

    def _check_rows(self, X: ArrayLike, **labels: ArrayLike) -> ArrayLike:
        return self._checked(X)

    def _hash_rows(self, X: ArrayLike, y: FloatArray) -> HashArray | None:
        took_runs = hasattr(self, "row_hashes_")
        return hash_rows(check_predict_data(self, X, self.coders_), y) if took_runs else None

    def _has_learnt(self, X: ArrayLike, y: FloatArray, by: Literal["run", "input"]) -> BoolArray:
        if not hasattr(self, "row_hashes_"):
            return np.zeros(len(y), dtype=bool)
        X = check_predict_data(self, X, self.coders_)
        if Dataset.merged(X, y).fingerprint() == self.fingerprint_:  # all that older files know
            return np.ones(len(y), dtype=bool)
        return are_among(self.row_hashes_, hash_rows(X, y), by)

    def _looks_far(self, X: ArrayLike) -> bool:
        X = self._checked(X)
        return self.coverage_.glance(self._placed(X))

    def _placed(self, X: FloatArray) -> FloatArray:
        """Scaled inputs, (n, d) -> (n, p); what feature maps add is zero, for it does not say where a run lies."""
        scaler = self.input_scaler_
        added = scaler.n_inputs - X.shape[1]
        return without_added(scaler.transform(np.hstack([X, np.zeros((len(X), added))]) if added else X), scaler, added)

    def summary(self) -> dict[str, str]:
        """What was fitted and how, in words, for reports."""
        check_is_fitted(self, "seconds_")
        return {
            "model": type(self).__name__,
            "distinct runs": str(self.n_rows_),
            "inputs": str(self.n_features_in_),
            **self._facts(),
            "training time": f"{self.seconds_:.1f} s",
        }

    def to_state(self) -> State:
        """What the fitted model keeps in its file."""
        check_is_fitted(self, "seconds_")
        return self._shared_state(seconds=self.seconds_).with_part("learnt", self._keep())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The model that a file describes."""
        model = cls._from_shared(state)
        model.seconds_ = state.number("seconds", at_least=0)
        model._restore(state.nested("learnt"))
        return model

    def _check_settings(self) -> object:
        """Refuse constructor arguments that make no sense."""

    def _learn(self, runs: ScaledRuns, rng: np.random.Generator) -> None:
        """Learn from scaled runs; what is learnt ends in an underscore."""
        raise NotImplementedError

    def _distribution(self, Z: FloatArray, of: Of) -> PredictiveDistribution:
        """One distribution for each row of scaled inputs, shape (n, p), in the units of y."""
        raise NotImplementedError

    def _keep(self) -> State:
        """What was learnt, as arrays and plain values."""
        raise NotImplementedError

    def _restore(self, state: State) -> None:
        """Read back what `_keep` wrote."""
        raise NotImplementedError

    def _facts(self) -> dict[str, str]:
        """Lines of `summary` that belong to this model alone."""
        return {}

    def _input_names(self) -> list[str]:
        """What the columns seen in `fit` are called; x1, x2, ... if they had no names."""
        return [str(n) for n in getattr(self, "feature_names_in_", [f"x{j + 1}" for j in range(self.n_features_in_)])]

    def _normal(self, mean: FloatArray, variance: FloatArray) -> Normal:
        """Normal distributions in the units of y from mean and variance on the scaled response, each (n,)."""
        scaler = self.response_scaler_
        return Normal(loc=scaler.inverse(mean), scale=scaler.scale * np.sqrt(variance))

    def _take_runs(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, bounds: Bounds = (None, None)
    ) -> Dataset:
        """The user's runs, checked, categories coded, equal rows merged; rows of weight zero are none."""
        X = as_table(X)
        coded, y = self._coded(X, y)
        weight = check_weight(sample_weight, coded)
        if weight is not None and (weight == 0).any():  # whose categories are not to be learnt
            kept = np.flatnonzero(weight > 0)
            weight = as_checked(weight[kept])
            coded, y = self._coded(_safe_indexing(X, kept), y[kept])
        check_within(y, bounds)
        data = Dataset.merged(coded, y, weight)
        require_variation(data.y, len(y))
        self.n_rows_, self.fingerprint_ = len(data), data.fingerprint()
        self.row_hashes_ = hash_rows(data.X, data.y, ROWS_HASHED)
        return data

    def _coded(self, X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Runs as a matrix of numbers (n, d), categories learnt and coded, and responses (n,)."""
        self.coders_ = learn_categories(X, self.categorical)
        return check_fit_data(self, X, y, self.coders_)

    def _learn_scales(
        self, data: Dataset, rng: np.random.Generator, bounds: Bounds = (None, None), robust: bool = False
    ) -> ScaledRuns:
        """Learn the scales of features data.X, shape (n, p), and of the responses; the runs on them.

        `robust` is for models that far outliers in y do not harm once the scale is that of the others.
        """
        levels = tuple((coder.column, len(coder.levels)) for coder in self.coders_)
        self.input_scaler_ = InputScaler.learn(data.X, data.weight, levels, self._bends(data))
        self.response_scaler_ = ResponseScaler.learn(data.y, data.weight, bounds, robust)
        Z = self.input_scaler_.transform(data.X)
        added = data.X.shape[1] - self.n_features_in_
        self.coverage_ = InputCoverage.learn(without_added(Z, self.input_scaler_, added), rng)
        return ScaledRuns(Z, self.response_scaler_.transform(data.y), data.weight, self.input_scaler_.blocks)

    def _bends(self, data: Dataset) -> FloatArray:
        """Scale of asinh(x / s) for each numeric column of features that is an input and better so, else 0."""
        coded = {coder.column for coder in self.coders_}
        numeric = [j for j in range(data.X.shape[1]) if j not in coded]
        inputs = [j for j in numeric if j < self.n_features_in_]
        bend = choose_bends(data.X[:, inputs], data.y, data.weight)
        return np.concatenate([bend, np.zeros(len(numeric) - len(inputs))])  # feature maps have scales of their own

    def _features(self, X: FloatArray) -> FloatArray:
        """Features of checked inputs, (n, d) -> (n, p); x itself unless a model has feature maps."""
        return X

    def _scaled(self, X: ArrayLike) -> FloatArray:
        """The user's new inputs on the model's scale, (n, d) -> (n, p)."""
        X = self._checked(X)  # which looks whether it is fitted
        return self.input_scaler_.transform(self._features(X))

    def _checked(self, X: ArrayLike) -> FloatArray:
        """The user's new inputs as a matrix of numbers, categories coded, (n, d)."""
        check_is_fitted(self, "input_scaler_")
        return check_predict_data(self, X, self.coders_, self.input_scaler_.reach(self.n_features_in_))

    def _shared_state(self, **values: object) -> State:
        """The part of a file that all models share: arguments, columns, scales, coverage, fingerprint; and `values`."""
        shared = {
            "parameters": plain_parameters(self, leave_out=("features",)),
            "n_features_in": self.n_features_in_,
            "feature_names_in": [str(name) for name in getattr(self, "feature_names_in_", [])],
            "categories": [[c.column, c.name, list(c.levels)] for c in self.coders_],
            "numeric": list(self.input_scaler_.numeric),
            "categorical": [list(pair) for pair in self.input_scaler_.categorical],
            "response_scaler": asdict(self.response_scaler_),
            "radius": self.coverage_.radius,
            "n_rows": self.n_rows_,
            "data_sha256": self.fingerprint_,
        }
        arrays: dict[str, np.ndarray[Any, np.dtype[Any]]] = {
            "center": self.input_scaler_.center,
            "scale": self.input_scaler_.scale,
            "bend": self.input_scaler_.bend,
            "coverage": np.asarray(self.coverage_.inputs, dtype=np.float32),
            "coverage_box": self.coverage_.box,
            "row_hashes": self.row_hashes_,
        }
        return State(type(self).__name__, {**shared, **values}, arrays)

    @classmethod
    def _from_shared(cls, state: State) -> Self:
        """A model with what `_shared_state` wrote; every piece is checked against the others."""
        model = cls(**known_parameters(cls, state))
        model._check_settings()
        restore_columns(model, state)
        model.coders_ = _restored_coders(state, model.n_features_in_)
        model.input_scaler_ = _restored_input_scaler(state, model.coders_)
        d, p = model.n_features_in_, model.input_scaler_.n_inputs
        if p < d or (p > d and cls._features is ScaledSurrogate._features):
            raise UnreadableFile(f"the scales in the model file must be those of {d} inputs, got {p}; {FOREIGN}")
        model.response_scaler_ = _restored_response_scaler(state)
        inputs = state.array("coverage", (None, model.input_scaler_.n_outputs)).astype(np.float64)
        if not len(inputs):
            raise UnreadableFile(f"the model file must keep a training input, got none; {FOREIGN}")
        inputs = without_added(inputs, model.input_scaler_, p - d)  # which older files keep
        box = state.array("coverage_box", (2, inputs.shape[1])) if "coverage_box" in state.arrays else None
        box = widened_box(inputs) if box is None else box  # older files have none
        model.coverage_ = InputCoverage(inputs, state.number("radius", at_least=0), box)
        model.n_rows_, model.fingerprint_ = state.count("n_rows"), state.typed("data_sha256", str)
        hashes = state.hashes("row_hashes", (None, 2)) if "row_hashes" in state.arrays else NO_HASHES
        model.row_hashes_ = hashes  # older files have none
        return model


def restore_columns(model: BaseEstimator, state: State) -> None:
    """Number of input columns, and their names if they had any."""
    model.n_features_in_ = state.count("n_features_in", at_least=1)
    names = state.typed("feature_names_in", list[str])
    if names:
        if len(names) != model.n_features_in_ or len(set(names)) < len(names):
            rule = f"the model file must name each of {model.n_features_in_} columns once"
            raise UnreadableFile(f"{rule}, got {len(names)} names; {FOREIGN}")
        model.feature_names_in_ = np.array(names, dtype=object)


def require_inputs(models: Sequence[object], d: int) -> None:
    """Models of a file that see the same rows must take d inputs each."""
    for model in models:
        if (taken := getattr(model, "n_features_in_", d)) != d:
            raise UnreadableFile(f"the models in the file must take {d} inputs each, got {taken}; {FOREIGN}")


def _restored_coders(state: State, d: int) -> tuple[CategoryCoder, ...]:
    """Coders of categories among d columns: each column once, its levels all text or all numbers, each once."""
    found = state.typed("categories", list[tuple[int, str, list[str] | list[float]]])
    columns = [column for column, _, _ in found]
    sound = all(levels and len(set(levels)) == len(levels) for _, _, levels in found)
    if not sound or len(set(columns)) < len(columns) or not all(0 <= j < d for j in columns):
        raise UnreadableFile(
            f"the categories in the model file must be of {d} columns and differ, got others; {FOREIGN}"
        )
    return tuple(CategoryCoder(column, name, tuple(levels)) for column, name, levels in found)


def _restored_input_scaler(state: State, coders: tuple[CategoryCoder, ...]) -> InputScaler:
    """Scales of numeric columns, and sizes of one-hot blocks that are those of the categories."""
    numeric = state.typed("numeric", tuple[int, ...])
    coded = state.typed("categorical", tuple[tuple[int, int], ...])
    center = state.array("center", (len(numeric),))
    scale = state.array("scale", (len(numeric),), positive=True)
    bend = state.array("bend", (len(numeric),), at_least=0) if "bend" in state.arrays else np.zeros(0)  # older files
    scaler = InputScaler(center, scale, numeric, coded, bend)
    columns = sorted([*numeric, *(column for column, _ in coded)])
    if columns != list(range(len(columns))) or [*coded] != [(c.column, len(c.levels)) for c in coders]:
        raise UnreadableFile(f"the model file must scale or code each column once, got others; {FOREIGN}")
    return scaler


def _restored_response_scaler(state: State) -> ResponseScaler:
    scaler: ResponseScaler = state.typed("response_scaler", ResponseScaler)
    as_bounds(scaler.bounds)
    if not (scaler.scale > 0 and scaler.bend > 0 and scaler.edge >= 0 and scaler.knee >= 0):
        raise UnreadableFile(f"the scale of y in the model file must be positive, got {scaler}; {FOREIGN}")
    return scaler


def without_added(Z: FloatArray, scaler: InputScaler, n_added: int) -> FloatArray:
    """Scaled rows, (n, p), with zeros for the last columns before scaling, those that feature maps added."""
    if not n_added:
        return Z
    Z = Z.copy()
    Z[:, [k for k, j in enumerate(scaler.numeric) if j >= scaler.n_inputs - n_added]] = 0.0
    return Z


def _count_rows(X: ArrayLike) -> int:
    """Number of rows of a table; 0 for what is none, which is refused elsewhere."""
    shape = getattr(X, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 0
    return len(X) if isinstance(X, Sized) else 0


def _join(parts: list[Answer]) -> Answer:
    """Answers for pieces of the rows, one after another."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], tuple):
        first, second = (np.concatenate(part) for part in zip(*parts, strict=True))
        return first, second
    return np.concatenate(parts)


def plain_parameters(model: BaseEstimator, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """Constructor arguments that JSON can hold; parts kept elsewhere are left out, a generator cannot be kept."""
    plain = {name: value for name, value in model.get_params(deep=False).items() if name not in leave_out}
    for name, value in plain.items():
        if isinstance(value, (np.generic, np.ndarray)):
            plain[name] = value.tolist()
        elif isinstance(value, tuple):
            plain[name] = list(value)
    if not isinstance(plain.get("random_state"), (int, type(None))):
        plain["random_state"] = None
    return plain


def known_parameters(cls: type[BaseEstimator], state: State) -> dict[str, Any]:
    """The constructor arguments a file names, if this version knows all of them; JSON turns pairs into lists."""
    parameters = state.typed("parameters", dict[str, Any])
    unknown = sorted(set(parameters) - set(cls._get_param_names()))
    if unknown:
        raise UnreadableFile(f"the model file must hold known settings, got {unknown}; load it with a newer genbayes")
    bounds = parameters.get("y_bounds")
    return {**parameters, "y_bounds": tuple(bounds)} if isinstance(bounds, list) else parameters
