"""Runner: makes the records that are missing from a results folder, many at once, and survives being stopped.

Jobs go through joblib, so `parallel_config(backend="dask")` or "ray" spreads them over a cluster whose machines share
the folder. A record is written whole as soon as it is made; what a killed run was making is made again by the next.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from genbayes.errors import InvalidInput, UnwritableFile
from genbayes.models.registry import RegisteredModel, adopt_models, registered_here
from genbayes_bench.locks import Locked, is_locked, lock, lock_path, remove_stale
from genbayes_bench.measure import measure, record_failure
from genbayes_bench.plan import Forecast, Job, LeftOut, make_plan
from genbayes_bench.problems.problem import PAPER
from genbayes_bench.record import Key, Record, open_results, record_path, write_record
from genbayes_bench.registry import load_registry

SPARE_MB = 16  # that must be free before a job starts, so that its record can be written when it ends
SECONDS_BETWEEN_LOOKS = 1.0  # at whether the runner still lives, and at records that somebody else is making
CRASHED = "the process ended without a word while it ran, twice; it may have run out of memory"


@dataclass(frozen=True)
class Outcome:
    """How a job went.

    Attributes:
        job: The job.
        what: "made" a record; "known" already; "locked" by somebody else; "unwritable", the record could not be kept.
        record: The record, where there is one.
        trouble: Why it could not be kept.
    """

    job: Job
    what: Literal["made", "known", "locked", "unwritable"]
    record: Record | None = None
    trouble: str = ""


@dataclass(frozen=True)
class Progress:
    """How far a run is, after each job.

    Attributes:
        outcome: How the job went; None before the first.
        n_done: Records that are there.
        n_jobs: Records that were asked for.
        seconds_left: Time until all are there, or None while nothing is known.
        waiting: Records that somebody else is making, once nothing else is left.
    """

    outcome: Outcome | None
    n_done: int
    n_jobs: int
    seconds_left: float | None
    waiting: int = 0


@dataclass
class Summary:
    """What became of a run.

    Attributes:
        records: Every record that was asked for, whoever made it and when.
        n_made: Those made by this run.
        left_out: What does not apply or cannot be drawn here.
        complaints: Files of the folder that hold no record.
    """

    records: list[Record] = field(default_factory=list)
    n_made: int = 0
    left_out: tuple[LeftOut, ...] = ()
    complaints: list[str] = field(default_factory=list)

    @property
    def failed(self) -> list[Record]:
        """Records with an error."""
        return [record for record in self.records if record.error is not None]


def run_benchmark(
    names: Sequence[str] = (),
    *,
    protocol: str = PAPER,
    methods: Sequence[str] | None = None,
    replicates: range | None = None,
    results: Path | str = "benchmarks-results",
    n_jobs: int | None = None,
    n_threads: int | None = None,
    retry_failed: bool = False,
    files: Sequence[str] = (),
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Summary:
    """Make every record that is asked for and missing.

    Args:
        names: Problems, studies, or "emulation", "design" or "all"; none for all emulation problems.
        protocol: "paper", "part" or "quick".
        methods: Names of methods; None for those of the study or the protocol that apply.
        replicates: Numbers of replicates; None for as many as the protocol and the method say.
        results: Folder of the records, made if it is absent; runners may share it.
        n_jobs: Jobs at once; None for what joblib's `parallel_config` says, else 1.
        n_threads: Threads of a job; None for an equal share of the cores.
        retry_failed: Whether records with an error are made again.
        files: Python files with problems, protocols and methods of your own.
        on_progress: Called after each job.

    Returns:
        The records, and what was left out.
    """
    from joblib import cpu_count, effective_n_jobs

    registry = load_registry(files)
    plan = make_plan(registry, names, protocol, methods, replicates, [str(Path(file).resolve()) for file in files])
    folder, n_at_once = Path(results).resolve(), effective_n_jobs(n_jobs)
    retry_before = datetime.now(UTC).isoformat(timespec="seconds") if retry_failed else ""
    threads = n_threads or max(1, cpu_count() // n_at_once)
    orders = _Orders(folder, threads, retry_before, os.getpid(), registered_here())
    summary = _Run(orders, plan.jobs, n_jobs, n_at_once, on_progress).finish()
    summary.left_out = plan.left_out
    return summary


@dataclass(frozen=True)
class _Orders:
    """What holds for every job of a run.

    Attributes:
        folder: The results folder.
        n_threads: Threads of a job.
        retry_before: Failures recorded before this time, ISO 8601 in UTC, are tried again; empty for none.
        runner: Process that gives the orders.
        models: Models that this process registered, which the workers' processes do not know.
    """

    folder: Path
    n_threads: int
    retry_before: str
    runner: int
    models: tuple[RegisteredModel, ...]


class _Run:
    """One run: what is known, what is left, and how to get it done."""

    def __init__(
        self,
        orders: _Orders,
        jobs: Sequence[Job],
        n_jobs: int | None,
        n_at_once: int,
        on_progress: Callable[[Progress], None],
    ) -> None:
        self.orders, self.jobs, self.n_jobs, self.n_at_once = orders, jobs, n_jobs, n_at_once
        self.on_progress = on_progress
        wanted = {job.key for job in jobs}
        records, self.complaints = open_results(orders.folder)
        remove_stale(orders.folder)
        self.forecast = Forecast(records)
        self.known: dict[Key, Record] = {
            r.key: r for r in records if r.key in wanted and not (orders.retry_before and r.error is not None)
        }
        self.n_made = 0
        self.trouble = ""

    def finish(self) -> Summary:
        """Run what is missing until nothing is."""
        self._announce(None)
        while left := self._left():
            self._dispatch(left)
            if self.trouble:
                raise UnwritableFile(
                    f"{self.trouble}; {len(self.known)} of {len(self.jobs)} records are safe, run the same again"
                )
            self._wait()
        return Summary(list(self.known.values()), self.n_made, complaints=self.complaints)

    def _left(self) -> list[Job]:
        return [job for job in self.jobs if job.key not in self.known]

    def _lock_path(self, job: Job) -> Path:
        return lock_path(self.orders.folder, job.key)

    def _dispatch(self, jobs: list[Job]) -> None:
        """Run jobs at once; if a worker process dies, those that were running are tried one by one."""
        from joblib.externals.loky.process_executor import BrokenProcessPool

        try:
            for outcome in self._outcomes(jobs, self.n_jobs):
                self._take(outcome)
        except BrokenProcessPool:
            paths = {job: self._lock_path(job) for job in self._left()}
            abandoned = [job for job, path in paths.items() if path.exists() and not is_locked(path)]
            if not abandoned:
                raise
            for job in abandoned:
                try:
                    for outcome in self._outcomes([job], 2, backend="loky"):
                        self._take(outcome)
                except BrokenProcessPool:
                    record = record_failure(job, load_registry(job.files), CRASHED)
                    write_record(self.orders.folder, record)
                    paths[job].unlink(missing_ok=True)
                    self._take(Outcome(job, "made", record))

    def _outcomes(self, jobs: list[Job], n_jobs: int | None, backend: str | None = None) -> Iterator[Outcome]:
        """Outcomes as they come, or, from a backend that cannot tell earlier, all at the end."""
        from joblib import Parallel, delayed
        from joblib.parallel import get_active_backend

        def tasks() -> Iterator[Any]:
            for job in jobs:
                if self.trouble:
                    return
                yield delayed(_perform)(job, self.orders)

        active, _ = get_active_backend()
        way = "generator_unordered" if backend or active.supports_return_generator else "list"
        yield from Parallel(n_jobs=n_jobs, backend=backend, batch_size=1, return_as=way)(tasks())

    def _take(self, outcome: Outcome) -> None:
        if outcome.record is not None:
            self.known[outcome.job.key] = outcome.record
            self.forecast.learn(outcome.record)
        self.n_made += outcome.what == "made"
        self.trouble = self.trouble or outcome.trouble
        self._announce(outcome)

    def _announce(self, outcome: Outcome | None, waiting: int = 0) -> None:
        seconds = self.forecast.seconds_left(self._left(), self.n_at_once)
        self.on_progress(Progress(outcome, len(self.known), len(self.jobs), seconds, waiting))

    def _wait(self) -> None:
        """Until one of the records that others are making is there, or its maker has died."""
        left = self._left()
        if left:
            self._announce(None, waiting=len(left))
        while left and all(is_locked(self._lock_path(job)) for job in left):
            time.sleep(SECONDS_BETWEEN_LOOKS)


def _perform(job: Job, orders: _Orders) -> Outcome:
    """What a worker does: make the record of a job unless it is there or somebody else is making it."""
    _follow(orders.runner)
    adopt_models(orders.models)
    try:
        with lock(lock_path(orders.folder, job.key)):
            known = _known(orders, job)
            if known is not None:
                return Outcome(job, "known", known)
            free = shutil.disk_usage(orders.folder).free / 2**20
            if free < SPARE_MB:
                return Outcome(
                    job,
                    "unwritable",
                    trouble=f"results must lie on a disk with {SPARE_MB} MB to spare, got {free:.0f} MB; free some",
                )
            record = measure(job, load_registry(job.files), orders.n_threads)
            write_record(orders.folder, record)
    except Locked:
        return Outcome(job, "locked")
    except UnwritableFile as error:
        return Outcome(job, "unwritable", trouble=str(error))
    return Outcome(job, "made", record)


def _known(orders: _Orders, job: Job) -> Record | None:
    """The record, if somebody has made it since the run was planned."""
    try:
        record = Record.from_json(record_path(orders.folder, job.key).read_text())
    except (OSError, InvalidInput, UnicodeDecodeError):  # none, or a damaged one: make it
        return None
    is_old_failure = record.error is not None and record.finished < orders.retry_before
    return None if is_old_failure else record


_followed: set[int] = set()  # runners whose death ends this process


def _follow(runner: int) -> None:
    """End with the runner: a child whose parent was killed would otherwise go on, and hold its locks."""
    if os.getppid() != runner or runner in _followed:  # the runner itself, or a worker that a cluster keeps
        return
    _followed.add(runner)

    def watch() -> None:
        while os.getppid() == runner:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        os._exit(1)  # no clean-up: nothing is half-written at any moment

    threading.Thread(target=watch, daemon=True, name="follow the runner").start()
