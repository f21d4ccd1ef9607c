"""The learning curve of a campaign: the cross-validated CRPS against the number of runs, and what more would gain.

Runs are taken in the order in which they ended, and each size is scored on runs that the model had not seen. A campaign
that looks for difficult places is scored there, so its curve stands above the error in the whole space.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.campaign.trial import Record
from genbayes.data import Box
from genbayes.seeding import as_generator

if TYPE_CHECKING:
    import pandas as pd

    from genbayes.models.protocols import Fits


FEWEST_RUNS = 15  # below, a model has too little to learn from
N_SIZES = 6
N_FOLDS = 5


@dataclass(frozen=True)
class LearningCurve:
    """Mean CRPS of unseen runs against the number of runs.

    Attributes:
        n: Numbers of runs, rising, shape (k,).
        crps: Mean CRPS on runs not seen, in the unit of y, shape (k,).
        standard_error: Of the mean, shape (k,).
    """

    n: FloatArray
    crps: FloatArray
    standard_error: FloatArray

    @property
    def power(self) -> float:
        """The power b in crps = a n^-b, by least squares on the logarithms; 0 where nothing is learnt."""
        if len(self.n) < 2 or not (self.crps > 0).all():
            return 0.0
        return max(0.0, -float(np.polyfit(np.log(self.n), np.log(self.crps), 1)[0]))

    def expected_gain(self, n_more: int) -> float:
        """The share by which n_more runs are expected to lower the CRPS: 1 - (1 + n_more / n)^-b.

        Example:
            >>> curve = LearningCurve(np.array([50.0, 100.0]), np.array([2.0, 1.0]), np.zeros(2))
            >>> round(curve.expected_gain(100), 6)
            0.5
        """
        return 1 - (1 + n_more / float(self.n[-1])) ** -self.power if len(self.n) else 0.0

    def to_dict(self) -> dict[str, list[float] | float]:
        """For JSON."""
        return {name: values.tolist() for name, values in vars(self).items()} | {"power": self.power}


NO_CURVE = LearningCurve(np.empty(0), np.empty(0), np.empty(0))


def learn_curve(
    X: pd.DataFrame,
    y: FloatArray,
    make_model: Callable[[], Fits],
    rng: np.random.Generator,
    announce: Callable[[str], None] = lambda what: None,
) -> LearningCurve:
    """Cross-validate a model on the first n runs, for several n.

    Args:
        X: Inputs in the order in which runs ended, shape (n, d).
        y: Their responses, shape (n,).
        make_model: Gives an unfitted model with `fit` and `predict_distribution`.
        rng: Deals the runs into folds.
        announce: Hears what is being done.

    Returns:
        The curve; empty where there are too few runs.
    """
    if len(y) < FEWEST_RUNS or np.ptp(y) == 0:
        return NO_CURVE
    sizes = np.unique(np.geomspace(FEWEST_RUNS, len(y), N_SIZES).round().astype(int))
    points = []
    for n in sizes:
        announce(f"{n} runs")
        score = _cross_validate(X.iloc[:n], y[:n], make_model, rng)
        points.append((float(n), float(score.mean()), float(score.std(ddof=1)) / math.sqrt(n)))
    return LearningCurve(*np.array(points).T)


def _cross_validate(
    X: pd.DataFrame, y: FloatArray, make_model: Callable[[], Fits], rng: np.random.Generator
) -> FloatArray:
    """CRPS of every run by a model that was fitted without its fold, shape (n,)."""
    fold = rng.permutation(np.arange(len(y)) % N_FOLDS)
    score = np.empty(len(y))
    for held in range(N_FOLDS):
        model = make_model().fit(X[fold != held], y[fold != held])
        score[fold == held] = model.predict_distribution(X[fold == held]).crps(y[fold == held])
    return score


def learn_from_records(
    records: Sequence[Record], space: Box, seed: int, model: Fits | None = None, *, verbose: bool = False
) -> LearningCurve:
    """The learning curve of a campaign's trials.

    Args:
        records: The trials; those that are done count.
        space: Their inputs.
        seed: Deals the runs into folds.
        model: What is cross-validated, unfitted; None for a `StationaryGP`, which is quick.
        verbose: Whether to show what is being done.

    Returns:
        The curve, empty where there are too few runs.
    """
    done = sorted((r for r in records if r.state == "done"), key=lambda r: (r.finished_at or 0.0, r.number))
    if len(done) < FEWEST_RUNS:  # before models are loaded, which takes a while
        return NO_CURVE
    from sklearn.base import clone

    from genbayes.models import StationaryGP
    from genbayes.progress import show_stage

    X, y = space.to_frame(record.x for record in done), np.array([record.y for record in done], dtype=np.float64)
    given = StationaryGP(categorical=space.categorical or None, random_state=0) if model is None else model
    with show_stage("learning curve", verbose) as announce:
        return learn_curve(X, y, lambda: clone(given), as_generator(seed), announce)
