"""The learning curve of a campaign: the cross-validated CRPS against the number of runs, and what more would gain.

Runs are taken in the order in which they ended, and each size is scored on runs that the model had not seen. A campaign
that looks for difficult places is scored there, so its curve stands above the error in the whole space. Unless a model
is given it is the one that the proposer would ask, by the same rule: the GP, or networks where they are clearly better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from genbayes.arrays import FloatArray, IntArray
from genbayes.campaign.trial import Record
from genbayes.data import Box
from genbayes.metrics import is_clearly_better
from genbayes.seeding import as_generator

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.base import BaseEstimator

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
        model: What was cross-validated.
    """

    n: FloatArray
    crps: FloatArray
    standard_error: FloatArray
    model: str = "model"

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

    def gain_error(self, n_more: int) -> float:
        """Standard error of `expected_gain`, |dg/db| times that of the power b, the sizes taken as independent.

        Smaller sizes share their runs with larger ones, so that a real slope is known somewhat better than this says.

        Example:
            >>> curve = LearningCurve(np.array([50.0, 100.0]), np.array([2.0, 1.0]), np.array([0.2, 0.1]))
            >>> round(curve.gain_error(100), 4)
            0.0707
        """
        if len(self.n) < 2 or not (self.crps > 0).all():
            return 0.0
        x = np.log(self.n) - np.log(self.n).mean()
        of_power = float(np.sqrt(np.sum((x * self.standard_error / self.crps) ** 2)) / np.sum(x**2))
        growth = 1 + n_more / float(self.n[-1])
        return of_power * math.log(growth) * math.pow(growth, -self.power)

    def to_dict(self) -> dict[str, list[float] | float | str]:
        """For JSON."""
        curve = {"n": self.n.tolist(), "crps": self.crps.tolist(), "standard_error": self.standard_error.tolist()}
        return {**curve, "power": self.power, "model": self.model}


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
        score = cross_validate(X.iloc[:n], y[:n], make_model, draw_fold(int(n), rng))
        points.append((float(n), float(score.mean()), float(score.std(ddof=1)) / math.sqrt(n)))
    return LearningCurve(*np.array(points).T)


def draw_fold(n: int, rng: np.random.Generator) -> IntArray:
    """The fold of each of n runs, shape (n,)."""
    return rng.permutation(np.arange(n) % N_FOLDS)


def cross_validate(X: pd.DataFrame, y: FloatArray, make_model: Callable[[], Fits], fold: IntArray) -> FloatArray:
    """CRPS of every run by a model that was fitted without its fold, shape (n,)."""
    score = np.empty(len(y))
    for held in range(N_FOLDS):
        model = make_model().fit(X[fold != held], y[fold != held])
        score[fold == held] = model.predict_distribution(X[fold == held]).crps(y[fold == held])
    return score


def choose_model(
    X: pd.DataFrame, y: FloatArray, categorical: Sequence[str], seed: int, announce: Callable[[str], None]
) -> tuple[str, Fits]:
    """The model that the proposer would ask, and what it is called: the GP, or networks if they are clearly better."""
    from genbayes.design.automatic import leaves_something
    from genbayes.models.registry import Facts, find_model

    facts, fold = Facts(len(y), n_regimes=1), draw_fold(len(y), as_generator(seed))

    def make(name: str) -> Fits:
        model: BaseEstimator = find_model(name).make(facts, seed=0)
        unfitted: Fits = model.set_params(categorical=list(categorical) or None)
        return unfitted

    ours = cross_validate(X, y, lambda: make("gp"), fold)
    if leaves_something(ours, y):
        announce("would networks do better?")
        if is_clearly_better(cross_validate(X, y, lambda: make("network"), fold), ours):
            return find_model("network").title, make("network")
    return find_model("gp").title, make("gp")


def learn_from_records(
    records: Sequence[Record],
    space: Box,
    seed: int,
    model: Fits | None = None,
    which: int = 0,
    *,
    verbose: bool = False,
) -> LearningCurve:
    """The learning curve of a campaign's trials.

    Args:
        records: The trials; those that are done count.
        space: Their inputs.
        seed: Deals the runs into folds.
        model: What is cross-validated, unfitted; None for the one that the proposer would ask.
        which: The response, from 0.
        verbose: Whether to show what is being done.

    Returns:
        The curve, empty where there are too few runs.
    """
    done = sorted((r for r in records if r.state == "done"), key=lambda r: (r.finished_at or 0.0, r.number))
    if len(done) < FEWEST_RUNS:  # before models are loaded, which takes a while
        return NO_CURVE
    from sklearn.base import clone

    from genbayes.progress import show_stage

    X, y = space.to_frame(record.x for record in done), np.array([record.responses[which] for record in done])
    if np.ptp(y) == 0:
        return NO_CURVE
    with show_stage("learning curve", verbose) as announce:
        title, given = (
            choose_model(X, y, space.categorical, seed, announce) if model is None else (type(model).__name__, model)
        )
        return replace(learn_curve(X, y, lambda: clone(given), as_generator(seed), announce), model=title)
