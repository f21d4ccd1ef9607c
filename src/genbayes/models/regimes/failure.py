"""Failed runs as a regime of their own: which rows have no response, and how probable that is at an input.

A run that diverged or crashed says something about x and nothing about y. The rows without a response teach the
committee of classifiers of `features.classifier`, the others teach the network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from genbayes.arrays import BoolArray, FloatArray
from genbayes.data import as_table
from genbayes.data.dataset import Dataset
from genbayes.errors import InvalidInput
from genbayes.models.regimes.classifier import RegimeClassifier, fit_classifier, require_distinct
from genbayes.persistence import State

GROWTH = 1.2  # of the runs, after which it is learnt anew even if no other run has failed


@dataclass(frozen=True)
class Failures:
    """A failure model and the runs it was learnt from: how many, and how many of them failed."""

    model: FailureModel
    n: int
    n_failed: int


def learn_where_runs_fail(
    X: FloatArray, failed: BoolArray, rng: np.random.Generator, known: Failures | None = None
) -> Failures:
    """Learn from inputs, (n, p), and whether each failed, (n,); what is known is kept while it is recent.

    Example:
        >>> X = np.linspace(0, 1, 20)[:, None]
        >>> found = learn_where_runs_fail(X, X[:, 0] > 0.7, np.random.default_rng(0))
        >>> found.model.probability(np.array([[0.1], [0.95]])).round(1)
        array([0., 1.])
    """
    from genbayes.models.regimes.failure import learn_failures  # torch loads only when a run has failed

    n_failed = int(failed.sum())
    if known is not None and known.n_failed == n_failed and len(X) < GROWTH * known.n:
        return known
    return Failures(learn_failures(X, failed, np.ones(len(X)), rng), len(X), n_failed)


CERTAIN = float(np.log(np.finfo(np.float64).tiny))  # log density of a label in the regime that it is not


@dataclass(frozen=True)
class GivenRuns:
    """Runs as the user gave them, those with a response apart.

    Attributes:
        X: All inputs, a table of n rows.
        weight: All weights, or None.
        failed: Whether each row has no response, shape (n,).
        done: Inputs, responses and weights of the rows that have one.
    """

    X: Any
    weight: Any
    failed: BoolArray
    done: tuple[Any, Any, Any]


@dataclass(frozen=True)
class FailureModel:
    """Probability that a run at x fails.

    Attributes:
        n_failed: Number of failed runs, distinct ones.
        classifier: Probabilities of a response and of none; None where nothing failed.
        accuracy: Share of runs of which the classifier tells rightly whether they fail, without having seen them.
    """

    n_failed: int = 0
    classifier: RegimeClassifier | None = None
    accuracy: float = 1.0

    def probability(self, X: FloatArray) -> FloatArray:
        """Probability of failure, (n, d) -> (n,)."""
        return np.zeros(len(X)) if self.classifier is None else self.classifier.probabilities(X)[:, 1]

    def to_state(self) -> State:
        """The classifier and how good it is."""
        state = State("FailureModel", {"n_failed": self.n_failed, "accuracy": self.accuracy})
        return state if self.classifier is None else state.with_part("classifier", self.classifier.to_state())

    @classmethod
    def from_state(cls, state: State, d: int) -> FailureModel:
        """The model of d inputs that a file describes."""
        n_failed, accuracy = int(state.value("n_failed")), float(state.value("accuracy"))
        classifier = RegimeClassifier.from_state(state.nested("classifier"), d, 2) if n_failed else None
        return cls(n_failed, classifier, accuracy)


def part_failures(X: Any, y: Any, weight: Any) -> GivenRuns:
    """Tell rows whose response is missing (NaN or None) from the others.

    Args:
        X: Inputs, shape (n, d), an array or a frame.
        y: Responses, shape (n,).
        weight: Weights, shape (n,), or None.

    Example:
        >>> part_failures(np.zeros((3, 1)), [1.0, np.nan, 2.0], None).failed
        array([False,  True, False])
    """
    X = as_table(X)
    try:
        failed = np.isnan(np.asarray(y, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"y must be numbers, NaN for a failed run, got {type(y).__name__}: {error}") from error
    if failed.ndim != 1 or len(failed) != len(X):
        return GivenRuns(X, weight, np.zeros(len(X), dtype=bool), (X, y, weight))  # the door says what is wrong
    if len(failed) and failed.all():
        raise InvalidInput(
            f"y must have responses to learn from, got NaN in all {len(failed)} rows; every run has failed"
        )
    rows = np.flatnonzero(~failed)
    parts = (None if part is None else _safe_indexing(part, rows) for part in (X, y, weight))
    return GivenRuns(X, weight, failed, tuple(parts))  # type: ignore[arg-type]


def learn_failures(X: FloatArray, failed: BoolArray, weight: FloatArray, rng: np.random.Generator) -> FailureModel:
    """Learn from checked inputs, shape (n, d), where runs fail.

    Example:
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = learn_failures(X, X[:, 0] > 0.7, np.ones(60), np.random.default_rng(0))
        >>> model.probability(np.array([[0.1], [0.9]])).round(1)
        array([0., 1.])
    """
    data = Dataset.merged(X, failed.astype(np.float64), weight)
    label = data.y.astype(np.int64)
    if not label.any():
        return FailureModel()
    require_distinct(data.X, "missing='regime'")
    evidence = np.where(np.eye(2)[label] == 1, 0.0, CERTAIN)
    classifier, unseen = fit_classifier(data.X, evidence, np.eye(2)[label], data.weight, rng)
    accuracy = float(np.average(unseen.argmax(axis=1) == label, weights=data.weight))
    return FailureModel(int(label.sum()), classifier, accuracy)
