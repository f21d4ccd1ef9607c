"""Failed runs as a regime of their own: which rows have no response, and how probable that is at an input.

A run that diverged or crashed says something about x and nothing about y. The rows without a response teach the
committee of classifiers (`classifier`), the others teach the model of y.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing

from genbayes.arrays import BoolArray, FloatArray
from genbayes.data import as_table
from genbayes.data.dataset import Dataset
from genbayes.data.weights import check_weight
from genbayes.errors import InvalidInput, WeightsRescaled
from genbayes.models.regimes.classifier import RegimeClassifier, fit_classifier, require_distinct
from genbayes.persistence import State

Runs = tuple[ArrayLike, ArrayLike, ArrayLike | None]  # inputs, responses, weights


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
        n_failed, accuracy = state.count("n_failed"), state.number("accuracy", at_least=0, at_most=1)
        classifier = RegimeClassifier.from_state(state.nested("classifier"), d, 2) if n_failed else None
        return cls(n_failed, classifier, accuracy)


def part_failures(X: ArrayLike, y: ArrayLike, weight: ArrayLike | None) -> tuple[BoolArray, Runs]:
    """Tell rows whose response is missing (NaN or None) from the others.

    Args:
        X: Inputs, shape (n, d), an array or a frame.
        y: Responses, shape (n,).
        weight: Weights, shape (n,), or None.

    Returns:
        Whether each row has no response, shape (n,), and the runs that have one.

    Example:
        >>> failed, done = part_failures(np.zeros((3, 1)), [1.0, np.nan, 2.0], None)
        >>> failed, done[1]
        (array([False,  True, False]), [1.0, 2.0])
    """
    table = as_table(X)
    try:
        failed = np.isnan(np.asarray(y, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"y must be numbers, NaN for a failed run, got {type(y).__name__}: {error}") from error
    if failed.shape != np.shape(table)[:1]:
        return np.zeros_like(failed), (table, y, weight)  # the door says what is wrong
    if len(failed) and failed.all():
        raise InvalidInput(
            f"y must have responses to learn from, got NaN in all {len(failed)} rows; every run has failed"
        )
    rows = np.flatnonzero(~failed)
    kept = None if weight is None else _safe_indexing(weight, rows)
    return failed, (_safe_indexing(table, rows), _safe_indexing(y, rows), kept)


def learn_failures(
    X: FloatArray, failed: BoolArray, weight: ArrayLike | None, rng: np.random.Generator
) -> FailureModel:
    """Learn from checked inputs, shape (n, d), where runs fail.

    Example:
        >>> X = np.linspace(0, 1, 60)[:, None]
        >>> model = learn_failures(X, X[:, 0] > 0.7, None, np.random.default_rng(0))
        >>> model.probability(np.array([[0.1], [0.9]])).round(1)
        array([0., 1.])
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeightsRescaled)  # which the runs that have a response have told
        data = Dataset.merged(X, failed.astype(np.float64), check_weight(weight, X, fewest=0))
    label = np.eye(2)[data.y.astype(np.int64)]
    if not data.y.any():
        return FailureModel()
    require_distinct(data.X, "missing='regime'")
    evidence = np.where(label == 1, 0.0, np.log(np.finfo(np.float64).tiny))  # a label is certain
    classifier, unseen = fit_classifier(data.X, evidence, label, data.weight, rng)
    accuracy = float(np.average(unseen.argmax(axis=1) == data.y, weights=data.weight))
    return FailureModel(int(data.y.sum()), classifier, accuracy)


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

    It is recent while no other run has failed and runs have not grown by a fifth.

    Example:
        >>> X = np.linspace(0, 1, 20)[:, None]
        >>> found = learn_where_runs_fail(X, X[:, 0] > 0.7, np.random.default_rng(0))
        >>> found.model.probability(np.array([[0.1], [0.95]])).round(1)
        array([0., 1.])
    """
    n_failed = int(failed.sum())
    if known is not None and known.n_failed == n_failed and len(X) < 1.2 * known.n:
        return known
    return Failures(learn_failures(X, failed, None, rng), len(X), n_failed)
