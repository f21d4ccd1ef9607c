"""The learning curve of a campaign: the cross-validated CRPS against the number of runs, and what more would gain.

Runs are taken in the order in which they ended, and each size is scored on runs that the model had not seen: neither
them nor their copies, nor another run at their input where inputs are repeated on purpose. A campaign that looks for
difficult places is scored there, so its curve stands above the error in the whole space. Unless a model is given it is
the one that the proposer would ask, by the same rule: the GP, or networks where they are clearly better.
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
from genbayes.data.folds import learn_rare_categories, number_units
from genbayes.data.matrix import MIN_ROWS, code_values
from genbayes.metrics import is_clearly_better, mean_and_error
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
        reason: Why there is no curve, in one sentence; empty where there is one.
    """

    n: FloatArray
    crps: FloatArray
    standard_error: FloatArray
    model: str = "model"
    reason: str = ""

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
        return {**curve, "power": self.power, "model": self.model, "reason": self.reason}


def no_curve(reason: str) -> LearningCurve:
    """An empty curve.

    Example:
        >>> no_curve("it takes 15 runs; done so far: 3").reason
        'No learning curve: it takes 15 runs; done so far: 3.'
    """
    return LearningCurve(np.empty(0), np.empty(0), np.empty(0), reason=f"No learning curve: {reason}.")


@dataclass(frozen=True)
class Runs:
    """The runs that a model is cross-validated on, in the order in which they ended.

    Attributes:
        X: Inputs, shape (n, d).
        y: Responses, shape (n,).
        codes: Inputs as numbers that are equal where the inputs are, shape (n, d).
        unit: Which runs are held out together, numbered by first appearance, shape (n,).
        categorical: Columns that are categories.
    """

    X: pd.DataFrame
    y: FloatArray
    codes: FloatArray
    unit: IntArray
    categorical: Sequence[int]

    @classmethod
    def of(cls, X: pd.DataFrame, y: FloatArray, categorical: Sequence[str]) -> Runs:
        """Runs of which `categorical` are the inputs that are categories, by name."""
        codes = code_values(X, len(y))
        return cls(X, y, codes, number_units(codes, y), [list(X.columns).index(name) for name in categorical])

    def first(self, n: int) -> Runs:
        """The first n, held out together as among all."""
        return Runs(self.X.iloc[:n], self.y[:n], self.codes[:n], self.unit[:n], self.categorical)

    def draw_fold(self, rng: np.random.Generator) -> IntArray:
        """The fold of each run, negative for those that are always learnt, shape (n,)."""
        fold = rng.permutation(np.arange(int(self.unit.max()) + 1) % N_FOLDS)[self.unit]
        return learn_rare_categories(fold, self.codes, self.categorical)

    def why_not(self, fold: IntArray) -> str:
        """Why no model can be cross-validated on these folds, in words; empty where one can."""
        values, count = np.unique(self.y, return_counts=True)
        if len(values) == 1:
            return f"all {len(self.y)} runs gave {values[0]:g}, which leaves nothing to learn"
        if len(np.unique(self.unit[fold >= 0])) < 2:
            return "nearly every run has a category that no other has, and such runs cannot be held out"
        learnt = [self.y[fold != held] for held in np.unique(fold[fold >= 0])]
        if min(len(y) for y in learnt) < MIN_ROWS:
            inputs = int(self.unit.max()) + 1
            return (
                f"{len(self.y)} runs at {inputs} inputs are too few to hold inputs out and learn from {MIN_ROWS} runs"
            )
        if min(np.ptp(y) for y in learnt) == 0:
            most = f"{count.max()} of {len(self.y)} runs gave {values[count.argmax()]:g}"
            return f"{most}, which leaves nothing to learn where the others are held out"
        return ""


def learn_curve(
    runs: Runs,
    make_model: Callable[[], Fits],
    rng: np.random.Generator,
    announce: Callable[[str], None] = lambda what: None,
) -> LearningCurve:
    """Cross-validate a model on the first n runs, for several n; sizes whose folds leave nothing to learn are skipped.

    Args:
        runs: The runs.
        make_model: Gives an unfitted model with `fit` and `predict_distribution`.
        rng: Deals the runs into folds.
        announce: Hears what is being done.

    Returns:
        The curve; empty, with its reason, where no size is left.
    """
    n_all = len(runs.y)
    if n_all < FEWEST_RUNS:
        return no_curve(f"it takes {FEWEST_RUNS} runs; done so far: {n_all}")
    points, why = [], ""
    for n in np.unique(np.geomspace(FEWEST_RUNS, n_all, N_SIZES).round().astype(int)):
        some = runs.first(int(n))
        fold = some.draw_fold(rng)
        why = some.why_not(fold)
        if not why:
            announce(f"{n} runs")
            points.append((float(n), *_mean_and_error(cross_validate(some, make_model, fold), some.unit)))
    return LearningCurve(*np.array(points).T) if points else no_curve(why)


def means_of_units(score: FloatArray, unit: IntArray) -> tuple[FloatArray, IntArray]:
    """Mean of the known scores of each unit, which is one observation however many runs it has, and their number.

    Args:
        score: Score of each run, NaN where it is not known, shape (n,).
        unit: The unit of each, shape (n,).

    Example:
        >>> means_of_units(np.array([1.0, 2.0, 4.0, np.nan]), np.array([0, 1, 1, 2]))
        (array([1., 3.]), array([1, 2]))
    """
    known = ~np.isnan(score)
    count, total = np.bincount(unit[known]), np.bincount(unit[known], score[known])
    return total[count > 0] / count[count > 0], count[count > 0]


def _mean_and_error(score: FloatArray, unit: IntArray) -> tuple[float, float]:
    """Mean of the known scores of runs, (n,), and its standard error."""
    means, count = means_of_units(score, unit)
    mean, error = mean_and_error(means, count)
    return mean, error * math.sqrt(len(means) / (len(means) - 1))  # the mean was estimated, too


def cross_validate(runs: Runs, make_model: Callable[[], Fits], fold: IntArray) -> FloatArray:
    """CRPS of every run by a model that was fitted without its fold, NaN where it is always learnt, shape (n,)."""
    X, y = runs.X, runs.y
    score = np.full(len(y), np.nan)
    for held in np.unique(fold[fold >= 0]):
        model = make_model().fit(X[fold != held], y[fold != held])
        score[fold == held] = model.predict_distribution(X[fold == held]).crps(y[fold == held])
    return score


def choose_model(
    runs: Runs, categorical: Sequence[str], seed: int, announce: Callable[[str], None]
) -> tuple[str, Fits]:
    """The model that the proposer would ask, and what it is called: the GP, or networks if they are clearly better."""
    from genbayes.design.automatic import leaves_something
    from genbayes.models.registry import Facts, find_model

    facts, fold = Facts(len(runs.y), n_regimes=1), runs.draw_fold(as_generator(seed))

    def make(name: str) -> Fits:
        model: BaseEstimator = find_model(name).make(facts, seed=0)
        unfitted: Fits = model.set_params(categorical=list(categorical) or None)
        return unfitted

    if not runs.why_not(fold):
        ours = cross_validate(runs, lambda: make("gp"), fold)
        if leaves_something(ours, runs.y):
            announce("would networks do better?")
            theirs = cross_validate(runs, lambda: make("network"), fold)
            (a, count), (b, _) = means_of_units(theirs, runs.unit), means_of_units(ours, runs.unit)
            if is_clearly_better(a, b, count):
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
        The curve; empty, with its reason, where there are too few runs or nothing to learn.
    """
    done = sorted((r for r in records if r.state == "done"), key=lambda r: (r.finished_at or 0.0, r.number))
    if len(done) < FEWEST_RUNS:  # before models are loaded, which takes a while
        return no_curve(f"it takes {FEWEST_RUNS} runs; done so far: {len(done)}")
    from sklearn.base import clone

    from genbayes.progress import show_stage

    y = np.array([record.responses[which] for record in done])
    runs = Runs.of(space.to_frame(record.x for record in done), y, space.categorical)
    with show_stage("learning curve", verbose) as announce:
        title, given = (
            choose_model(runs, space.categorical, seed, announce) if model is None else (type(model).__name__, model)
        )
        return replace(learn_curve(runs, lambda: clone(given), as_generator(seed), announce), model=title)
