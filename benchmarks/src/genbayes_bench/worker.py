"""What a worker process does with a job: claim its record, make it, write it down, and tell how it went."""

from __future__ import annotations

import os
import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from genbayes.errors import InvalidInput, UnwritableFile
from genbayes_bench.claims import Claimed, claim
from genbayes_bench.job import Job
from genbayes_bench.measurement import measure
from genbayes_bench.record import Record, record_path, write_record
from genbayes_bench.registry import load_registry

__all__ = ["Orders", "Outcome", "perform"]

SPARE_MB = 16  # that must be free before a job starts, so that its record can be written when it ends
SECONDS_BETWEEN_LOOKS = 1.0  # at whether the runner still lives


@dataclass(frozen=True)
class Orders:
    """What holds for every job of a run.

    Attributes:
        folder: The results folder.
        n_threads: Threads of a job.
        retry_before: Failures recorded before this time, ISO 8601 in UTC, are tried again; empty for none.
        runner: Process that gives the orders.
    """

    folder: Path
    n_threads: int
    retry_before: str
    runner: int


@dataclass(frozen=True)
class Outcome:
    """How a job went.

    Attributes:
        job: The job.
        what: "made" a record; "known" already; "claimed" by somebody else; "unwritable", the record could not be kept.
        record: The record, where there is one.
        trouble: Why it could not be kept.
    """

    job: Job
    what: Literal["made", "known", "claimed", "unwritable"]
    record: Record | None = None
    trouble: str = ""


def perform(job: Job, orders: Orders) -> Outcome:
    """Make the record of a job unless it is there or somebody else is making it."""
    _follow(orders.runner)
    try:
        with claim(orders.folder, job.key):
            known = _known(orders, job)
            if known is not None:
                return Outcome(job, "known", known)
            _check_space(orders.folder)
            record = measure(job, load_registry(job.files), orders.n_threads)
            write_record(orders.folder, record)
    except Claimed:
        return Outcome(job, "claimed")
    except UnwritableFile as error:
        return Outcome(job, "unwritable", trouble=str(error))
    return Outcome(job, "made", record)


def _known(orders: Orders, job: Job) -> Record | None:
    """The record, if somebody has made it since the run was planned."""
    try:
        record = Record.from_json(record_path(orders.folder, job.key).read_text())
    except (OSError, InvalidInput, UnicodeDecodeError):  # none, or a damaged one: make it
        return None
    is_old_failure = record.error is not None and record.finished < orders.retry_before
    return None if is_old_failure else record


def _check_space(folder: Path) -> None:
    free = shutil.disk_usage(folder).free / 2**20
    if free < SPARE_MB:
        raise UnwritableFile(f"results must lie on a disk with {SPARE_MB} MB to spare, got {free:.0f} MB; free some")


_followed: set[int] = set()  # runners whose death ends this process


def _follow(runner: int) -> None:
    """End with the runner: a child whose parent was killed would otherwise go on, and hold its claims."""
    if os.getppid() != runner or runner in _followed:  # the runner itself, or a worker that a cluster keeps
        return
    _followed.add(runner)

    def watch() -> None:
        while os.getppid() == runner:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        os._exit(1)  # no clean-up: nothing is half-written at any moment

    threading.Thread(target=watch, daemon=True, name="follow the runner").start()
