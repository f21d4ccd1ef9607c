"""Trials: candidates judged on runs that they have not seen, under one clock, several at a time.

A candidate is a name and a way to make an unfitted model, a registered one or a user's own. One that can leave its own
runs out (`PredictsOutOfFold`) is fitted once, to all runs; others are fitted without some folds and judged on them. One
that fails is recorded with its message and the rest go on; one that runs out of time is recorded as such. What a trial
leaves are out-of-fold quantiles, from which scores and weights are computed elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial

import joblib
import numpy as np
from sklearn.base import clone

from genbayes.arrays import FloatArray, IntArray
from genbayes.auto.jobs import NO_TIME, Begun, Job, Outcome
from genbayes.auto.stacking import LEVELS, crps_of_table, is_not_clearly_worse
from genbayes.data.dataset import Dataset
from genbayes.deadline import now
from genbayes.errors import InvalidInput
from genbayes.models.protocols import Fits, YieldsToRival, gives_out_of_fold
from genbayes.models.regimes.em import HasRegimes
from genbayes.models.registry import Facts, find_model, registered_models
from genbayes.threads import Awaited, JobSlots

DISBELIEVED = "its leave-one-out scores did not hold on a fold"
WORSE_THAN_SAID = 1.08  # times the score that a candidate gave itself, beyond which it is not believed
PROBE_ROWS = 800  # that a quick version learns from, and is judged on

Announce = Callable[[str], None]


@dataclass(frozen=True)
class Candidate:
    """A surrogate that may be chosen.

    Attributes:
        name: Its key in `candidates=` and in reports.
        title: What it is, for people.
        make: Seed to an unfitted model.
        family: Kind of model, of which one is tried quickly where time is short.
        probe: Seed to an unfitted quick version, or None.
        refines: Name of the candidate that it builds on; empty for none.
        asks: What residuals of that one must show before this is fitted: "uneven", "shape" or nothing.
        title_of_one: What it is where it has found a single regime; empty for the same.
    """

    name: str
    title: str
    make: Callable[[int], Fits]
    family: str = ""
    probe: Callable[[int], Fits] | None = None
    refines: str = ""
    asks: str = ""
    title_of_one: str = ""


def choose_candidates(wanted: Sequence[str] | Mapping[str, Fits | None] | None, facts: Facts) -> list[Candidate]:
    """The candidates to try.

    Args:
        wanted: None for the registered models that are worth trying; names; or a mapping from names to models of the
            user's own, in which a registered name may stand for itself with None.
        facts: What is known of the runs.

    Example:
        >>> [candidate.name for candidate in choose_candidates(["gp", "network"], Facts(n=100, n_regimes=1))]
        ['gp', 'network']
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
    quick = replace(model, settings={**model.settings, **model.probe}) if model.probe else None
    probe = None if quick is None else partial(quick.make, facts)
    return Candidate(
        name,
        model.title,
        partial(model.make, facts),
        model.family,
        probe,
        model.refines,
        model.asks,
        model.title_of_one,
    )


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
        q: Out-of-fold quantiles at `LEVELS`, NaN where it was not judged, shape (n, m).
        seconds: Time of its fits, one by one.
        note: Why it was given up; empty if it was not.
        model: Fitted to all rows; None if it was not.
        part: Fitted to some of the rows, for want of a better one.
        n_learnt: Rows that a quick version learnt from, if nothing better is known; else 0.
    """

    candidate: Candidate
    q: FloatArray
    seconds: list[float] = field(default_factory=list)
    note: str = ""
    model: Fits | None = None
    part: Fits | None = None
    n_learnt: int = 0

    @property
    def title(self) -> str:
        """What was fitted, for people; before a fit, what would be."""
        fitted = self.part if self.model is None else self.model
        is_one = isinstance(fitted, HasRegimes) and len(fitted.regimes_) == 1
        return (self.candidate.title_of_one if is_one else "") or self.candidate.title

    @property
    def is_alive(self) -> bool:
        """Whether it has a score and has not failed."""
        return not self.note and (self.model is not None or self.part is not None)


class Trials:
    """Candidates on one data set.

    Args:
        candidates: Those to try.
        data: The runs, categories coded.
        fold: Fold of each row, negative for rows that are never held out, shape (n,).
        seeds: One seed for each candidate.
        clock: The time budget.
        announce: Called with what is about to be done.
        n_jobs: Fits at a time, as joblib takes it.
    """

    def __init__(
        self,
        candidates: Sequence[Candidate],
        data: Dataset,
        fold: IntArray,
        seeds: Sequence[int],
        clock: Clock,
        announce: Announce,
        n_jobs: int | None = None,
    ) -> None:
        self.data, self.fold, self.clock, self.n_jobs, self._announce = data, fold, clock, n_jobs, announce
        shape = len(data), len(LEVELS)
        self.trials = {each.name: Trial(each, np.full(shape, np.nan)) for each in candidates}
        self._seed = dict(zip(self.trials, seeds, strict=True))
        self._n_threads = joblib.effective_n_jobs(n_jobs)
        self._slots = JobSlots(self._n_threads) if self._n_threads > 1 else None
        self._idle: ThreadPoolExecutor | None = None  # of fits that begin once a thread is idle
        self._begun: dict[str, Begun] = {}
        self._begun_quick: dict[str, Begun] = {}
        distinct = len(np.unique(data.X, axis=0))
        self._is_replicated = len(data) > distinct and len(np.unique(fold)) > 1 and _are_together(data.X, fold)

    @property
    def alive(self) -> list[str]:
        """Names of the candidates that have a score and have not failed."""
        return [name for name, trial in self.trials.items() if trial.is_alive]

    def judges_itself(self, name: str) -> bool:
        """Whether one fit to all rows also tells what it would have said of them unseen.

        Members of a network and folds of trees hold out single runs, which says nothing of new inputs where runs were
        repeated on purpose.
        """
        model = self.trials[name].candidate.make(0)
        return gives_out_of_fold(model) and not (self._is_replicated and isinstance(model, YieldsToRival))

    def model_of(self, name: str) -> Fits:
        """One candidate fitted to all rows; where that failed or took too long, to some of them."""
        trial = self.trials[name]
        model = trial.part if trial.model is None else trial.model
        assert model is not None, "a candidate is chosen only after a fit"
        return model

    def scores(self, name: str) -> FloatArray:
        """Out-of-fold CRPS of each row, NaN where the candidate was not judged, shape (n,)."""
        return crps_of_table(self.trials[name].q, self.data.y)

    def best_scores(self) -> FloatArray | None:
        """Scores of the best candidate so far, (n,); None if there is none."""
        fitted = [name for name in self.alive if not self.trials[name].n_learnt]
        if not fitted:
            return None
        return min((self.scores(name) for name in fitted), key=lambda s: float(np.nanmean(s)))

    def is_behind(self, name: str, by: float = 1.0) -> bool:
        """Whether a candidate's score is more than so many times that of the best so far, and clearly so."""
        best, own = self.best_scores(), self.scores(name)
        if best is None:
            return False
        both = np.isfinite(best) & np.isfinite(own)
        weight = self.data.weight[both]
        if not both.any() or float(own[both] @ weight) <= by * float(best[both] @ weight):
            return False
        return not is_not_clearly_worse(own[both], best[both], weight)

    @contextmanager
    def ahead(self, names: Sequence[str], quick: Sequence[str]) -> Iterator[None]:
        """Quick versions, and candidates that yield to a rival, begin inside the block if several threads are allowed.

        `probe` and `fit_all` then ask what came of them. Under a time limit others may come first: nothing begins.
        """
        backend, _ = joblib.parallel.get_active_backend(prefer="threads")
        if self._slots is None or self.clock.limit is not None or type(backend).__name__ != "ThreadingBackend":
            yield
            return
        with ThreadPoolExecutor(self._n_threads - 1) as first, ThreadPoolExecutor(self._n_threads) as idle:
            for name, job in self._probes(quick, None).items():
                self._begun_quick[name] = Begun(first.submit(copy_context().run, job.run), Awaited())
            self._begin(names, first)
            self._idle = idle
            try:
                yield
            finally:
                self._idle = None
                for begun in self._begun.values():
                    begun.rival.give(np.zeros(len(self.data)))  # out of reach: it ends soon if nobody has asked for it

    def begin_unless_behind(self, names: Sequence[str], by: float) -> None:
        """Inside a block of `ahead`, those begin too whose quick version is not that many times behind the best."""
        if self._idle is not None:
            self.probe(names, None)
            self._begin([name for name in names if not self.is_behind(name, by)], self._idle)

    def _begin(self, names: Sequence[str], pool: ThreadPoolExecutor) -> None:
        """Fits to all rows of those that yield to a rival, which they will learn later, and build on none."""
        for name in names:
            own = self.trials[name].candidate
            if own.refines not in self.trials and isinstance(own.make(0), YieldsToRival):
                rival = Awaited()
                job = self._whole(name, None, rival)
                self._begun[name] = Begun(pool.submit(copy_context().run, job.run), rival)

    def probe(self, names: Sequence[str], seconds: float | None) -> None:
        """Quick versions of some candidates, fitted to few rows and judged on the first fold's, each once."""
        jobs = self._probes([name for name in names if not self.trials[name].n_learnt], seconds)
        runs = [self._begun_quick.get(name, job) for name, job in jobs.items()]
        for name, outcome in zip(jobs, self._run(runs, jobs, "a quick version"), strict=True):
            trial = self.trials[name]
            self._note(trial, outcome)
            if outcome.model is not None:
                trial.part, trial.n_learnt = outcome.model, jobs[name].n_learnt
            elif trial.note == NO_TIME:
                trial.note = ""  # the whole one may have more

    def _probes(self, names: Sequence[str], seconds: float | None) -> dict[str, Job]:
        judge = np.flatnonzero(self.fold == 0)[:PROBE_ROWS]
        others = np.flatnonzero(self.fold != 0)
        learn = others[np.linspace(0, len(others) - 1, min(len(others), PROBE_ROWS)).astype(np.int64)]
        named = {name: probe for name in names if (probe := self.trials[name].candidate.probe) is not None}
        return {
            # one after another, each has its share
            name: self._job(make, learn, judge, self._seed_of(name, -1), None if seconds is None else seconds * (i + 1))
            for i, (name, make) in enumerate(named.items())
        }

    def fit_all(self, names: Sequence[str], seconds: float | None, rival: FloatArray | None = None) -> None:
        """Candidates fitted to all rows; those that judge themselves are then judged on all of them."""
        jobs: list[Job | Begun] = []
        for name in names:
            if name in self._begun:
                nobody = np.full(len(self.data), np.nan)
                self._begun[name].rival.give(nobody if rival is None else rival)
            jobs.append(self._begun.get(name) or self._whole(name, seconds, rival))
        for name, outcome in zip(names, self._run(jobs, names, "all rows"), strict=True):
            trial = self.trials[name]
            if outcome.model is None and trial.part is not None:  # what its folds or its quick version showed counts
                trial.seconds.append(outcome.seconds)
                if outcome.note != NO_TIME:
                    trial.note = outcome.note
                continue
            self._note(trial, outcome)
            if outcome.model is not None:
                trial.model, trial.n_learnt = outcome.model, 0

    def _whole(self, name: str, seconds: float | None, rival: FloatArray | Awaited | None) -> Job:
        make, base = self.trials[name].candidate.make, self._base_of(name)
        return self._job(make, None, np.empty(0, np.int64), self._seed_of(name, 0), seconds, base, rival)

    def fit_without(self, names: Sequence[str], fold: int, seconds: float | None) -> None:
        """Candidates fitted without the rows of a fold and judged on them."""
        learn, judge = np.flatnonzero(self.fold != fold), np.flatnonzero(self.fold == fold)
        jobs = [
            self._job(self.trials[name].candidate.make, learn, judge, self._seed_of(name, fold + 1), seconds)
            for name in names
        ]
        for name, outcome in zip(names, self._run(jobs, names, f"fold {fold + 1}"), strict=True):
            trial = self.trials[name]
            if outcome.note == NO_TIME and trial.part is not None:
                trial.seconds.append(outcome.seconds)  # what it did on others counts
                continue
            self._note(trial, outcome)
            if outcome.model is not None:
                trial.part, trial.n_learnt = outcome.model, 0

    def verify(self, name: str, seconds: float | None) -> None:
        """Give up a candidate that judged itself if a fit without the first fold is clearly worse there than it said.

        By more than 8%, of which a fit to fewer rows explains a part, and by more than two standard errors.
        """
        learn, judge = np.flatnonzero(self.fold != 0), np.flatnonzero(self.fold == 0)
        trial = self.trials[name]
        job = self._job(trial.candidate.make, learn, judge, self._seed_of(name, 1), seconds, self._base_of(name))
        (outcome,) = self._run([job], [name], "checked on a fold")
        trial.seconds.append(outcome.seconds)
        if outcome.model is None:
            return
        said, found = self.scores(name)[judge], crps_of_table(outcome.q, self.data.y[judge])
        known, weight = np.isfinite(said), self.data.weight[judge]
        is_worse = float(found[known] @ weight[known]) > WORSE_THAN_SAID * float(said[known] @ weight[known])
        if is_worse and not is_not_clearly_worse(found[known], said[known], weight[known]):
            trial.note = DISBELIEVED

    def _note(self, trial: Trial, outcome: Outcome) -> None:
        trial.seconds.append(outcome.seconds)
        trial.note = outcome.note
        if outcome.model is not None and len(outcome.rows):
            if trial.n_learnt:
                trial.q[:] = np.nan  # of a quick version
            allowed = self.fold[outcome.rows] >= 0
            trial.q[outcome.rows[allowed]] = outcome.q[allowed]

    def _job(
        self,
        make: Callable[[int], Fits],
        learn: IntArray | None,
        judge: IntArray,
        seed: int,
        seconds: float | None,
        base: Fits | None = None,
        rival: FloatArray | Awaited | None = None,
    ) -> Job:
        ends = None if seconds is None else now() + seconds
        return Job(make, self.data, learn, judge, seed, ends, seconds, os.getpid(), base, rival, self._slots)

    def _base_of(self, name: str) -> Fits | None:
        """The model of all rows that a candidate builds on; a GP of fewer rows begins its search there."""
        refined = self.trials.get(self.trials[name].candidate.refines)
        return None if refined is None else refined.model

    def _seed_of(self, name: str, number: int) -> int:
        return int(np.random.default_rng([self._seed[name], number + 1]).integers(2**31))

    def _run(
        self, jobs: Sequence[Job | Begun], names: Sequence[str] | Mapping[str, object], what: str
    ) -> list[Outcome]:
        """All jobs, several at a time; one whose worker dies is recorded as failed and the rest go on."""
        titles = [self.trials[name].candidate.title for name in names]
        if titles:
            self._announce(f"{', '.join(titles)}: {what}" if len(titles) < 3 else f"{len(titles)} surrogates: {what}")
        try:
            return list(joblib.Parallel(self.n_jobs, prefer="threads")(joblib.delayed(_come_to)(job) for job in jobs))
        except Exception:  # a worker process died and took the others' results with it
            return [self._run_alone(job) for job in jobs]

    def _run_alone(self, job: Job | Begun) -> Outcome:
        try:
            outcomes: list[Outcome] = joblib.Parallel(self.n_jobs, prefer="threads")([joblib.delayed(_come_to)(job)])
            return outcomes[0]
        except Exception as error:  # recorded and shown in the report
            note = f"its worker process died ({type(error).__name__})"
            return Outcome(None, np.empty(0, np.int64), np.empty((0, len(LEVELS))), 0.0, note)


def _come_to(job: Job | Begun) -> Outcome:
    return job.run()


def _are_together(X: FloatArray, fold: IntArray) -> bool:
    """Whether rows of equal inputs are always in one fold: then runs were repeated on purpose (`draw_folds`)."""
    _, group = np.unique(X, axis=0, return_inverse=True)
    pairs = np.unique(np.column_stack([group.reshape(-1), fold]), axis=0)
    return len(pairs) == int(group.max()) + 1
