"""Baseline: what all competitors share; each one writes what it learns, its law, and what it keeps in a file.

A baseline is fitted, asked and saved like `QuantileSurrogate`. It sees runs on a scale of order one (standardised
columns, categories as one-hot blocks, standardised responses) and answers in the units of y.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from genbayes.arrays import FloatArray
from genbayes.distribution import Normal, PredictiveDistribution
from genbayes.errors import InvalidInput
from genbayes.persistence import State
from genbayes.seeding import as_generator
from genbayes.tabular import ScaledRuns, TabularRegressor
from genbayes.tabular.state import known_parameters
from genbayes.validation import check_choice

__all__ = ["Baseline", "Of"]

Of = Literal["run", "mean"]


class Baseline(TabularRegressor):
    """A competitor behind the interface of our surrogates.

    Attributes:
        seconds_: Time the fit took.
    """

    knows_mean: ClassVar[bool] = True  # whether it can tell what it knows of E[y | x] from the noise of a run
    seconds_: float

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the distribution of y given x from runs.

        Args:
            X: Inputs, shape (n, d): an array, or a pandas or polars frame whose column names are remembered.
            y: Responses, shape (n,).
            sample_weight: Weights, shape (n,); a weight of 2 equals giving the row twice.

        Returns:
            The fitted model.
        """
        self._check_settings()
        rng_cover, rng = as_generator(self.random_state).spawn(2)
        started = time.perf_counter()
        data = self._take_runs(X, y, sample_weight)
        runs = self._learn_scales(data, rng_cover)
        self._learn(runs, rng)
        self.seconds_ = time.perf_counter() - started
        return self

    def predict_distribution(self, X: Any, of: Of = "run") -> PredictiveDistribution:
        """The predictive distribution at new inputs.

        Args:
            X: Inputs, shape (n, d), with the columns of `fit`.
            of: "run" for a new run at x; "mean" for what the model knows of E[y | x], epistemic only.

        Returns:
            One law per row.
        """
        check_choice(of, "of", ["run", "mean"])
        if of == "mean" and not self.knows_mean:
            raise InvalidInput(
                f"of must be 'run' for {type(self).__name__}, got 'mean'; it does not tell its own ignorance from noise"
            )
        return self._law(self._scaled(X), of)

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
        table = self._table_state()
        table = State(table.kind, {**table.values, "seconds": self.seconds_}, table.arrays)
        return table.with_part("learnt", self._keep())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The model that a file describes."""
        model = cls(**known_parameters(cls, state.value("parameters")))
        model._restore_table(state)
        model.seconds_ = float(state.value("seconds"))
        model._restore(state.nested("learnt"))
        return model

    @abstractmethod
    def _check_settings(self) -> None:
        """Refuse constructor arguments that make no sense."""

    @abstractmethod
    def _learn(self, runs: ScaledRuns, rng: np.random.Generator) -> None:
        """Learn from scaled runs; what is learnt ends in an underscore."""

    @abstractmethod
    def _law(self, Z: FloatArray, of: Of) -> PredictiveDistribution:
        """One law per row of scaled inputs, shape (n, p), in the units of y."""

    @abstractmethod
    def _keep(self) -> State:
        """What was learnt, as arrays and plain values."""

    @abstractmethod
    def _restore(self, state: State) -> None:
        """Read back what `_keep` wrote."""

    def _facts(self) -> dict[str, str]:
        """Lines of `summary` that belong to this model alone."""
        return {}

    def _normal(self, mean: FloatArray, variance: FloatArray) -> Normal:
        """Gaussian laws from mean and variance on the scaled response, each (n,), in the units of y."""
        scaler = self.response_scaler_
        return Normal(loc=scaler.inverse(mean), scale=scaler.scale * np.sqrt(variance))
