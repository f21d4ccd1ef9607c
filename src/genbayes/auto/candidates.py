"""Trials: candidates fitted without some rows and judged on them, under one clock.

A candidate is a name and a way to make an unfitted model, a registered one or a user's own. One that fails is recorded
with its message and the rest go on; one that runs out of time is recorded as such. What a trial leaves are out-of-fold
quantiles, from which scores and weights are computed elsewhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from genbayes.arrays import FloatArray, IntArray
from genbayes.auto.stacking import LEVELS, crps_of_table
from genbayes.data.dataset import Dataset
from genbayes.deadline import OutOfTime, deadline, now
from genbayes.errors import InvalidInput
from genbayes.models.protocols import Fits
from genbayes.models.registry import Facts, find_model, registered_models

NO_TIME = "no time"

Announce = Callable[[str], None]


@dataclass(frozen=True)
class Candidate:
    """A surrogate that may be chosen.

    Attributes:
        name: Its key in `candidates=` and in reports.
        title: What it is, for people.
        make: Seed to an unfitted model.
        refines: Name of the candidate whose smooth mean it builds on; empty for none, or where the response has one
            regime.
    """

    name: str
    title: str
    make: Callable[[int], Fits]
    refines: str = ""


def choose_candidates(wanted: Sequence[str] | Mapping[str, Fits | None] | None, facts: Facts) -> list[Candidate]:
    """The candidates to try.

    Args:
        wanted: None for the registered models that are worth trying; names; or a mapping from names to models of the
            user's own, in which a registered name may stand for itself with None.
        facts: What is known of the runs.

    Example:
        >>> [candidate.name for candidate in choose_candidates(["gp", "iqn-deep"], Facts(n=100, n_regimes=1))]
        ['gp', 'iqn-deep']
    """
    known = registered_models()
    if wanted is None:
        wanted = [name for name, model in known.items() if model.worth_trying and model.worth_trying(facts)]
    if isinstance(wanted, str) or not isinstance(wanted, (Mapping, Sequence)) or not wanted:
        raise InvalidInput(f"candidates must be names ({', '.join(known)}) or a mapping of models, got {wanted!r}")
    models = wanted if isinstance(wanted, Mapping) else dict.fromkeys(wanted)
    return [_registered(name, facts) if model is None else _own(name, model) for name, model in models.items()]


def _registered(name: str, facts: Facts) -> Candidate:
    model = find_model(name, "candidates")
    return Candidate(name, model.title, partial(model.make, facts), model.refines if facts.n_regimes > 1 else "")


def _own(name: object, model: Fits) -> Candidate:
    if isinstance(model, type) or not isinstance(model, Fits):
        raise InvalidInput(f"candidates must be models with fit and predict_distribution, got {model!r} for {name!r}")
    return Candidate(str(name), type(model).__name__, partial(_copy, model))


def _copy(model: Fits, seed: int) -> Fits:
    copy = clone(model)
    if copy.get_params().get("random_state", 0) is None:
        copy.set_params(random_state=seed)
    made: Fits = copy
    return made


class Clock:
    """The time budget of one selection; None for no limit."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self._started = now()

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return now() - self._started

    def left(self, share: float = 1.0) -> float | None:
        """Seconds until this share of the budget is spent, at least 0; None for no limit."""
        return None if self.limit is None else max(0.0, share * self.limit - self.seconds)


@dataclass
class Trial:
    """What is known of one candidate.

    Attributes:
        candidate: Which.
        q: Out-of-fold quantiles at `LEVELS`, NaN where it was not tried, shape (n, m).
        seconds: Time of its fits, one by one.
        note: Why it was given up; empty if it was not.
        first: The model of the first fold.
    """

    candidate: Candidate
    q: FloatArray
    seconds: list[float] = field(default_factory=list)
    note: str = ""
    first: Fits | None = None


class Trials:
    """Candidates on the folds of one data set.

    Args:
        candidates: Those to try.
        data: The runs, categories coded.
        fold: Fold of each row, shape (n,).
        seeds: One seed for each candidate.
        announce: Called with what is about to be done.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        data: Dataset,
        fold: IntArray,
        seeds: Sequence[int],
        announce: Announce,
    ) -> None:
        self.data, self.fold, self._announce = data, fold, announce
        shape = len(data), len(LEVELS)
        self.trials = {each.name: Trial(each, np.full(shape, np.nan)) for each in candidates}
        self._seed = dict(zip(self.trials, seeds, strict=True))

    @property
    def alive(self) -> list[str]:
        """Names of the candidates that have a score and have not failed."""
        return [name for name, trial in self.trials.items() if not trial.note and trial.first is not None]

    def run(self, name: str, fold: int, seconds: float | None) -> None:
        """Fit one candidate without a fold and predict it; what goes wrong is recorded."""
        trial, held_out = self.trials[name], np.flatnonzero(self.fold == fold)
        self._announce(f"{trial.candidate.title}, fold {fold + 1}")
        model = self._attempt(trial, np.flatnonzero(self.fold != fold), fold + 1, seconds)
        if model is None:
            return
        try:
            q = np.asarray(model.predict_distribution(self.data.X[held_out]).ppf(LEVELS))
            if not np.isfinite(q).all():
                raise ValueError("predicted quantiles that are not finite")
        except Exception as error:  # recorded and shown in the report
            trial.note = _one_line(error)
            return
        trial.q[held_out] = q
        trial.first = model if trial.first is None else trial.first

    def keep_if_late(self, name: str) -> None:
        """Keep a candidate in spite of a fold for which it had no time; what it did on others counts."""
        trial = self.trials[name]
        trial.note = "" if trial.note == NO_TIME and trial.first is not None else trial.note

    def final(self, name: str, seconds: float | None) -> Fits:
        """One candidate fitted to all rows; where that fails or takes too long, its model of the first fold."""
        trial = self.trials[name]
        self._announce(f"{trial.candidate.title}, all rows")
        note = trial.note
        model = self._attempt(trial, np.arange(len(self.data)), 0, seconds)
        trial.note = note  # a candidate that was chosen has shown that it works
        model = trial.first if model is None else model
        assert model is not None, "a candidate is chosen only after its first fold"
        return model

    def scores(self, name: str) -> FloatArray:
        """Out-of-fold CRPS of each row, NaN where the candidate was not tried, shape (n,)."""
        return crps_of_table(self.trials[name].q, self.data.y)

    def errors(self, name: str) -> FloatArray:
        """Out-of-fold |y - median| of each row, NaN where the candidate was not tried, shape (n,)."""
        middle = len(LEVELS) // 2  # levels are even in number, so the median lies between two of them
        return np.asarray(np.abs(self.data.y - self.trials[name].q[:, middle - 1 : middle + 1].mean(axis=1)))

    def _attempt(self, trial: Trial, rows: IntArray, number: int, seconds: float | None) -> Fits | None:
        if seconds is not None and seconds <= 0:
            trial.note = NO_TIME
            return None
        part, started = self.data.take(rows), now()
        seed = int(np.random.default_rng([self._seed[trial.candidate.name], number]).integers(2**31))
        try:
            with deadline(seconds), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a candidate's doubts are its own; its score tells
                model = trial.candidate.make(seed)
                fitted: Fits = model.fit(part.X, part.y, **_weights_for(model, part.weight))
                return fitted
        except OutOfTime:
            trial.note = NO_TIME
        except Exception as error:  # recorded and shown in the report
            trial.note = _one_line(error)
        finally:
            trial.seconds.append(now() - started)
        return None


def _weights_for(model: Fits, weight: FloatArray) -> dict[str, FloatArray]:
    """The rows' weights as an argument of `fit`; left out where all are equal and a model of the user's takes none."""
    if has_fit_parameter(model, "sample_weight") or (weight != weight[0]).any():
        return {"sample_weight": weight}
    return {}


def _one_line(error: Exception) -> str:
    """One line for the report."""
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]
