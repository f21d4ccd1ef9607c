"""Where runs fail, learnt from those that did, so that acquisitions may keep away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from genbayes.arrays import BoolArray, FloatArray

if TYPE_CHECKING:
    from genbayes.surrogate.failure import FailureModel

__all__ = ["Failures", "learn_where_runs_fail"]

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
    from genbayes.surrogate.failure import learn_failures  # torch loads only when a run has failed

    n_failed = int(failed.sum())
    if known is not None and known.n_failed == n_failed and len(X) < GROWTH * known.n:
        return known
    return Failures(learn_failures(X, failed, np.ones(len(X)), rng), len(X), n_failed)
