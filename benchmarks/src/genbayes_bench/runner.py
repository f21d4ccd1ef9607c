"""Runner: makes the records that are missing from a results folder, many at once, and survives being stopped.

Jobs go through joblib, so `parallel_config(backend="dask")` or "ray" spreads them over a cluster whose machines share
the folder. A record is written whole as soon as it is made; what a killed run was making is made again by the next.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from genbayes.errors import UnwritableFile
from genbayes_bench.claims import claim_path, claims_of, clear_abandoned
from genbayes_bench.forecast import Forecast
from genbayes_bench.job import Job
from genbayes_bench.measurement import note_failure
from genbayes_bench.plan import LeftOut, make_plan
from genbayes_bench.problems.problem import PAPER
from genbayes_bench.record import Key, Record, open_results, write_record
from genbayes_bench.registry import load_registry
from genbayes_bench.worker import Orders, Outcome, perform

__all__ = ["News", "Summary", "run_benchmark"]

SECONDS_BETWEEN_LOOKS = 1.0  # at records that somebody else is making
CRASHED = "the process ended without a word while it ran, twice; it may have run out of memory"


@dataclass(frozen=True)
class News:
    """What a display is told after each job.

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


Tell = Callable[[News], None]


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
    tell: Tell | None = None,
) -> Summary:
    """Make every record that is asked for and missing.

    Args:
        names: Problems, or "emulation", "design" or "all"; none for all emulation problems.
        protocol: "paper" or "quick".
        methods: Names of methods; None for those of the protocol that apply.
        replicates: Numbers of replicates; None for as many as the protocol and the method say.
        results: Folder of the records, made if it is absent; runners may share it.
        n_jobs: Jobs at once; None for what joblib's `parallel_config` says, else 1.
        n_threads: Threads of a job; None for an equal share of the cores.
        retry_failed: Whether records with an error are made again.
        files: Python files with problems, protocols and methods of your own.
        tell: Called after each job.

    Returns:
        The records, and what was left out.
    """
    registry = load_registry(files)
    plan = make_plan(registry, names, protocol, methods, replicates, [str(Path(file).resolve()) for file in files])
    folder = Path(results).resolve()
    run = _Run(folder, list(plan.jobs), n_jobs, n_threads, retry_failed, tell or (lambda news: None))
    summary = run.finish()
    summary.left_out = plan.left_out
    return summary


class _Run:
    """One run: what is known, what is left, and how to get it done."""

    def __init__(
        self, folder: Path, jobs: list[Job], n_jobs: int | None, n_threads: int | None, retry: bool, tell: Tell
    ) -> None:
        from joblib import cpu_count, effective_n_jobs

        self.folder, self.jobs, self.tell = folder, jobs, tell
        self.n_jobs = n_jobs
        self.n_at_once = effective_n_jobs(n_jobs)
        threads = n_threads or max(1, cpu_count() // self.n_at_once)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self.orders = Orders(folder, threads, now if retry else "", os.getpid())
        wanted = {job.key for job in jobs}
        records, self.complaints = open_results(folder)
        clear_abandoned(folder)
        self.forecast = Forecast(records)
        self.known: dict[Key, Record] = {
            r.key: r for r in records if r.key in wanted and not (retry and r.error is not None)
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

    def _dispatch(self, jobs: list[Job]) -> None:
        """Run jobs at once; if a worker process dies, those that were running are tried one by one."""
        from joblib.externals.loky.process_executor import BrokenProcessPool

        try:
            for outcome in _outcomes(jobs, self.orders, self.n_jobs, lambda: bool(self.trouble)):
                self._note(outcome)
        except BrokenProcessPool:
            _, abandoned = claims_of(self.folder, [job.key for job in self._left()])
            if not abandoned:
                raise
            for job in [job for job in self._left() if job.key in abandoned]:
                self._try_alone(job)

    def _try_alone(self, job: Job) -> None:
        from joblib.externals.loky.process_executor import BrokenProcessPool

        try:
            for outcome in _outcomes([job], self.orders, 2, lambda: False, backend="loky"):
                self._note(outcome)
        except BrokenProcessPool:
            record = note_failure(job, load_registry(job.files), CRASHED)
            write_record(self.folder, record)
            claim_path(self.folder, job.key).unlink(missing_ok=True)
            self._note(Outcome(job, "made", record))

    def _note(self, outcome: Outcome) -> None:
        if outcome.record is not None:
            self.known[outcome.job.key] = outcome.record
            self.forecast.learn(outcome.record)
        self.n_made += outcome.what == "made"
        self.trouble = self.trouble or outcome.trouble
        self._announce(outcome)

    def _announce(self, outcome: Outcome | None, waiting: int = 0) -> None:
        seconds = self.forecast.seconds_left(self._left(), self.n_at_once)
        self.tell(News(outcome, len(self.known), len(self.jobs), seconds, waiting))

    def _wait(self) -> None:
        """Until one of the records that others are making is there, or its maker has died."""
        left = [job.key for job in self._left()]
        if left:
            self._announce(None, waiting=len(left))
        while left and len(claims_of(self.folder, left)[0]) == len(left):
            time.sleep(SECONDS_BETWEEN_LOOKS)


def _outcomes(
    jobs: list[Job], orders: Orders, n_jobs: int | None, is_stopped: Callable[[], bool], backend: str | None = None
) -> Iterator[Outcome]:
    """Outcomes as they come, or, from a backend that cannot tell earlier, all at the end."""
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    def tasks() -> Iterator[Any]:
        for job in jobs:
            if is_stopped():
                return
            yield delayed(perform)(job, orders)

    active, _ = get_active_backend()
    way = "generator_unordered" if backend or active.supports_return_generator else "list"
    yield from Parallel(n_jobs=n_jobs, backend=backend, batch_size=1, return_as=way)(tasks())
