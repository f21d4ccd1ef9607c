"""Ask, simulate, tell, until the budget is spent: here, or many at once on any `concurrent.futures.Executor`.

A result that is there is never thrown away: it is told before anything else is asked, and when the database is out of
reach the error says what there is to tell. Trials that were not finished are handed back.
"""

from __future__ import annotations

import os
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from genbayes.campaign.responses import check_responses, show
from genbayes.campaign.trial import Outcome, Status, Trial
from genbayes.data.box import Point
from genbayes.errors import (
    GenBayesError,
    InvalidInput,
    LeaseLost,
    RepeatKept,
    ResultUndelivered,
    RunFailed,
    SimulatorBroken,
    StoreUnavailable,
    UnwritableFile,
)
from genbayes.writing import visible

if TYPE_CHECKING:
    from genbayes.campaign.campaign import Campaign

RENEWALS_PER_LEASE = 3  # two may fail before a lease lapses
T = TypeVar("T")
Listener = Callable[[Trial, Outcome, str], None]
WORKER_LEASE = 60.0  # seconds; renewed while the simulator runs, so only a killed worker lets it lapse
IDLE = 1.0  # seconds between two looks for trials that others have handed back or let lapse
STEP = 0.1  # seconds between two looks at the stop signal while asleep
POLL = 0.5  # seconds between two looks at the stop signal while runs are out
LONGEST_REASON = 4000  # characters kept of why a run failed


@dataclass
class Tally:
    """How many runs ended how, in one call.

    Attributes:
        n_done: Results that count.
        n_failed: Runs that failed.
        n_repeats: Results that came second for their trial.
        n_handed_back: Trials given back unfinished.
    """

    n_done: int = 0
    n_failed: int = 0
    n_repeats: int = 0
    n_handed_back: int = 0

    def to_dict(self) -> dict[str, int]:
        """For JSON."""
        return dict(vars(self))


def run_trials(
    campaign: Campaign,
    simulator: Callable[[Any], object],
    *,
    budget: int | None = None,
    seconds: float | None = None,
    executor: Executor | None = None,
    n_at_once: int | None = None,
    n_failures_in_row: int = 20,
    worker: str | None = None,
    lease_seconds: float | None = None,
    stop: StopSignal | None = None,
    waits: bool = False,
    wants_trial: bool = False,
    listen: Listener = lambda trial, outcome, what: None,
    announce: Callable[[Status], None] | None = None,
) -> Tally:
    """Run trials of a campaign until its budget, the time or the stop signal ends it.

    Args:
        campaign: Where trials come from and results go.
        simulator: A function of the inputs.
        budget: Trials in all; None for the campaign's.
        seconds: Time after which no further run is begun.
        executor: Where the simulator runs; None for here.
        n_at_once: Runs under way at once.
        n_failures_in_row: Failures one after another that stop it.
        worker: Who runs them; None for host and process.
        lease_seconds: How long a lease lasts unless renewed; None for a minute, or less if the campaign's is.
        stop: Set from elsewhere to end it; a worker has one, and waits for a database as long as it takes.
        waits: Whether to wait for trials of others, which may be handed back or lapse.
        wants_trial: Whether the simulator is a function of the trial instead.
        listen: Hears of every run that ended: trial, outcome, and the responses or the reason.
        announce: Hears, before the first run, where the campaign stands; None if nobody wants to know.

    Returns:
        How many runs ended how.
    """
    lease = min(campaign.settings.lease_seconds, WORKER_LEASE) if lease_seconds is None else lease_seconds
    ends_at = time.monotonic() + (float("inf") if seconds is None else seconds)
    run = Run(campaign, budget, ends_at, n_failures_in_row, worker, lease, stop, listen)
    if announce is not None:
        announce(run.insist(campaign.status, ""))
    at_once = 1 if executor is None else n_at_once or getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    argument = (lambda trial: trial) if wants_trial else (lambda trial: dict(trial.x))
    flying: dict[Future[object], Trial] = {}
    held: dict[int, Trial] = {}
    with Heartbeat(campaign, lease) as heartbeat:
        try:
            while True:
                for trial in run.take(at_once - len(flying)):
                    held[trial.lease] = trial
                    heartbeat.add(trial)
                    flying[_begin(executor, simulator, argument(trial))] = trial
                if not flying and not (waits and run.waits_for_others()):
                    return run.tally
                for future in _ended(flying):
                    trial = flying[future]
                    run.settle(trial, future)
                    del flying[future], held[trial.lease]
                    heartbeat.drop(trial)
        except Stopped:
            return run.tally
        finally:
            _tell_the_rest(run, flying)
            for trial in held.values():
                run.hand_back(trial)


@dataclass
class Run:
    """What `run_trials` is asked to do, and how far it has come."""

    campaign: Campaign
    budget: int | None
    ends_at: float
    n_failures_in_row: int
    worker: str | None
    lease_seconds: float
    stop: StopSignal | None
    listen: Listener
    tally: Tally = field(default_factory=Tally)
    failures_in_row: int = 0

    @property
    def is_over(self) -> bool:
        """Whether the time is up or somebody asked to stop."""
        return time.monotonic() >= self.ends_at or (self.stop is not None and self.stop.is_set())

    def take(self, n: int) -> list[Trial]:
        """Up to n trials to run, none if it is time to end."""
        if self.is_over or n <= 0:
            return []
        take = partial(self.campaign.take, worker=self.worker, lease_seconds=self.lease_seconds, budget=self.budget)
        return self.insist(lambda: take(n), "")

    def settle(self, trial: Trial, future: Future[object]) -> None:
        """Record what became of a run."""
        try:
            y = check_responses(future.result(), self.campaign.settings.responses)
        except (BrokenExecutor, SimulatorBroken):
            raise  # not the trial's fault
        except Exception as error:
            reason = _reason(error)
            outcome = self.insist(lambda: self.campaign.fail(trial, reason), f"trial {trial.number} failed")
            self.tally.n_failed += 1
            self.failures_in_row += 1
            self.listen(trial, outcome, reason)
            self._check_simulator(reason)
            return
        gave = f"y = {list(y) if len(y) > 1 else y[0]!r}"
        at_stake = f"trial {trial.number} gave {gave} under lease {trial.lease}; tell it when the database is back"
        outcome = self.insist(lambda: self._tell(trial, y), at_stake)
        self.failures_in_row = 0
        self.tally.n_done += outcome != "repeat"
        self.tally.n_repeats += outcome == "repeat"
        self.listen(trial, outcome, show(y, self.campaign.settings.responses))

    def _tell(self, trial: Trial, y: tuple[float, ...]) -> Outcome:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RepeatKept)  # it is in the tally
            warnings.simplefilter("error", RunFailed)
            return self.campaign.tell(trial, y)

    def _check_simulator(self, reason: str) -> None:
        if self.failures_in_row >= self.n_failures_in_row:
            raise SimulatorBroken(
                f"The simulator failed {self.failures_in_row} times in a row; the last time: {reason.splitlines()[0]}"
            )

    def waits_for_others(self) -> bool:
        """Wait a moment for trials that others have out; False when there are none left, or it is time to end."""
        if self.is_over or not self.insist(self.campaign.status, "").n_out:
            return False
        pause = min(IDLE, self.lease_seconds / 4)
        if self.stop is None:
            time.sleep(pause)
            return True
        return not self.stop.wait(pause)

    def hand_back(self, trial: Trial) -> None:
        """Give up a trial that was not finished; if the database is out of reach, its lease will lapse."""
        with suppress(GenBayesError):
            self.tally.n_handed_back += self.campaign.release(trial)

    def insist(self, action: Callable[[], T], otherwise: str) -> T:
        """Do what needs the database; a worker tries until it is told to stop, others say what was at stake."""
        while True:
            try:
                return action()
            except (StoreUnavailable, UnwritableFile) as error:
                if self.stop is None or self.stop.wait(IDLE):
                    raise type(error)(f"{error}; {otherwise}" if otherwise else str(error)) from error


class Heartbeat:
    """Renews the leases it is given until they are taken away from it.

    A lease that is lost meanwhile is let go: its run goes on, since the first result counts, whoever brings it.

    Args:
        campaign: Whose trials they are.
        lease_seconds: How long a lease lasts.
    """

    def __init__(self, campaign: Campaign, lease_seconds: float) -> None:
        self._campaign = campaign
        self._pause = lease_seconds / RENEWALS_PER_LEASE
        self._trials: dict[int, Trial] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="genbayes-leases", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(timeout=self._pause)  # a renewal under way may wait for the database; it does no harm

    def add(self, trial: Trial) -> None:
        """Renew the lease of a trial from now on."""
        with self._lock:
            self._trials[trial.lease] = trial

    def drop(self, trial: Trial) -> None:
        """Renew it no more."""
        with self._lock:
            self._trials.pop(trial.lease, None)

    def _work(self) -> None:
        while not self._over.wait(self._pause):
            with self._lock:
                trials = list(self._trials.values())
            for trial in trials:
                self._renew(trial)

    def _renew(self, trial: Trial) -> None:
        try:
            self._campaign.renew(trial)
        except LeaseLost:
            self.drop(trial)
        except GenBayesError:  # the database is out of reach: try again at the next turn
            return


class SimulationFailed(Exception):
    """A simulator says that a run failed; the text is the reason that is recorded."""


class Stopped(BaseException):
    """A run was given up because the worker was told to stop; its trial is handed back."""


class StopSignal:
    """A flag that a signal handler may set; `threading.Event` could wait for itself there."""

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        """From now on everything comes to its end."""
        self._is_set = True

    def is_set(self) -> bool:
        """Whether it is time to end."""
        return self._is_set

    def wait(self, seconds: float) -> bool:
        """Sleep, but wake when the flag is set; returns whether it is."""
        until = time.monotonic() + seconds
        while not self._is_set and time.monotonic() < until:
            time.sleep(min(STEP, max(0.0, until - time.monotonic())))
        return self._is_set


def _tell_the_rest(run: Run, flying: dict[Future[object], Trial]) -> None:
    """Results that were there when something else went wrong are told all the same."""
    for future, trial in flying.items():
        if not future.cancel() and future.done() and future.exception() is None:
            try:
                run.settle(trial, future)
            except GenBayesError as error:
                warnings.warn(str(error), ResultUndelivered, stacklevel=2)


def _begin(executor: Executor | None, simulator: Callable[[Any], object], argument: Trial | Point) -> Future[object]:
    if executor is not None:
        return executor.submit(simulator, argument)
    future: Future[object] = Future()
    try:
        future.set_result(simulator(argument))
    except Exception as error:  # what ends the process, such as Ctrl-C, ends the campaign's run as well
        future.set_exception(error)
    return future


def _ended(flying: dict[Future[object], Trial]) -> list[Future[object]]:
    return list(wait(flying, timeout=POLL, return_when=FIRST_COMPLETED).done) if flying else []


def _reason(error: Exception) -> str:
    """Why a run failed, for those who read the status; the end of a long text says most."""
    is_said = isinstance(error, (SimulationFailed, InvalidInput))
    text = visible(str(error) if is_said else "".join(traceback.format_exception_only(error)).strip())
    return text if len(text) <= LONGEST_REASON else "..." + text[-LONGEST_REASON:]
