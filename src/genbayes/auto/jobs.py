"""One fit of a candidate and what it came to: complete, so that any thread or process can do it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from genbayes.arrays import FloatArray, IntArray
from genbayes.auto.stacking import LEVELS
from genbayes.data.dataset import Dataset
from genbayes.data.weights import as_checked
from genbayes.deadline import OutOfTime, deadline, now
from genbayes.errors import OutOfReach
from genbayes.models.protocols import BuildsOn, Fits, YieldsToRival, gives_out_of_fold
from genbayes.threads import Awaited, JobSlots

NO_TIME = "no time"


@dataclass(frozen=True)
class Job:
    """One fit, complete, so that any process can do it.

    Attributes:
        make: Seed to an unfitted model.
        data: The runs, categories coded.
        learn: Rows to learn from; None for all, which are then judged as the model itself can.
        judge: Rows to judge on, if some were left out.
        seed: Seed of the model.
        ends: When it must have ended, on the clock of this process; None for no limit.
        seconds: The time until then when it was made, for other processes, whose clocks may differ.
        process: The process that made it.
        base: A fitted model that it may build on.
        rival: CRPS of the best model so far at each row, NaN where unknown, shape (n,); it may be `Awaited`.
        slots: Threads of all jobs, of which idle ones may compute parts of this one; None for one thread.
    """

    make: Callable[[int], Fits]
    data: Dataset
    learn: IntArray | None
    judge: IntArray
    seed: int
    ends: float | None = None
    seconds: float | None = None
    process: int = 0
    base: Fits | None = None
    rival: FloatArray | Awaited | None = None
    slots: JobSlots | None = None

    @property
    def n_learnt(self) -> int:
        """Rows that it learns from."""
        return len(self.data) if self.learn is None else len(self.learn)

    def run(self) -> Outcome:
        """Fit and predict what was not seen; what goes wrong is recorded."""
        with nullcontext() if self.slots is None else self.slots.one_job():
            return self._run()

    def _run(self) -> Outcome:
        started = now()
        seconds = self.seconds
        if self.ends is not None and self.process == os.getpid():
            seconds = self.ends - started
        if seconds is not None and seconds <= 0:
            return Outcome(None, self.judge[:0], np.empty((0, len(LEVELS))), 0.0, NO_TIME)
        model, rows, q, note = None, self.judge[:0], np.empty((0, len(LEVELS))), ""
        try:
            with deadline(seconds), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # a candidate's doubts are its own; its score tells
                model = self._fit(self.make(self.seed))
                rows, q = self._predict(model)
                if not np.isfinite(q).all():
                    raise ValueError("predicted quantiles that are not finite")
        except OutOfTime:
            model, note = None, NO_TIME
        except OutOfReach as error:
            model, note = None, f"stopped: {error}"
        except Exception as error:  # recorded and shown in the report
            model, note = None, _one_line(error)
        waited = self.rival.waited if isinstance(self.rival, Awaited) else 0.0
        return Outcome(model, rows, q, now() - started - waited, note)

    def _fit(self, model: Fits) -> Fits:
        part = self.data if self.learn is None else self.data.take(self.learn)
        # left out where all are equal and a model of the user's takes none
        takes = has_fit_parameter(model, "sample_weight") or (part.weight != part.weight[0]).any()
        weight = (as_checked(part.weight),) if takes else ()  # rows of a fold, whose mean need not be one
        if self.base is not None and isinstance(model, BuildsOn):
            return model.fit_on(self.base, part.X, part.y, *weight)
        if self.rival is not None and isinstance(model, YieldsToRival):
            return model.fit_against(self.rival, part.X, part.y, *weight)
        return model.fit(part.X, part.y, *weight)

    def _predict(self, model: Fits) -> tuple[IntArray, FloatArray]:
        """Rows that the model has not seen, and their quantiles at `LEVELS`."""
        if self.learn is not None:
            return self.judge, np.asarray(model.predict_distribution(self.data.X[self.judge]).ppf(LEVELS))
        if not gives_out_of_fold(model):
            return self.judge[:0], np.empty((0, len(LEVELS)))
        rows, unseen = model.predict_out_of_fold(self.data.X, self.data.y)
        return rows, np.asarray(unseen.ppf(LEVELS))


@dataclass(frozen=True)
class Outcome:
    """What a job came to: the model or None, rows that were judged, their quantiles, seconds, what went wrong."""

    model: Fits | None
    rows: IntArray
    q: FloatArray
    seconds: float
    note: str


@dataclass(frozen=True)
class Begun:
    """A job that runs already, in another thread, and what it still waits for."""

    outcome: Future[Outcome]
    rival: Awaited

    def run(self) -> Outcome:
        """What it came to, once it has ended."""
        return self.outcome.result()


def _one_line(error: Exception) -> str:
    """One line for the report."""
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]
