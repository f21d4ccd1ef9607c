"""How `genbayes bench run` shows where it is: a bar on a terminal, a line a record elsewhere, on standard error."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from genbayes.cli.console import print_news, shows_progress
from genbayes_bench.locks import running_in
from genbayes_bench.plan import format_time
from genbayes_bench.runner import Progress

SECONDS_BETWEEN_LOOKS = 1.0  # at what is being run
SHOWN = 3  # jobs named at once


@contextmanager
def show_run(results: Path, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """A function to call with the progress of a run, shown while the block runs."""
    if quiet:
        yield lambda progress: None
    elif not shows_progress():
        yield lambda progress: print_news(line_of(progress))
    else:
        with _bar(results) as show:
            yield show


def line_of(progress: Progress) -> str:
    """One line on the latest job, with how far the run is and how long it may still take."""
    done = f"{progress.n_done:,} of {progress.n_jobs:,}"
    outcome = progress.outcome
    if progress.waiting:
        return f"waiting for {progress.waiting:,} records that another runner is making"
    if outcome is None:
        return f"{done} records are there"
    record = outcome.record
    if record is None:
        how = outcome.trouble or "another runner is making it"
    elif record.error is not None:
        how = f"failed, {record.error}"
    else:
        name = "crps" if "crps" in record.scores else next(iter(record.scores))
        how = f"{name.upper()} {record.scores[name]:.4g} in {record.fit_seconds:.1f} s"
    return f"{outcome.job}: {how} ({done}, {format_time(progress.seconds_left)} left)"


@contextmanager
def _bar(results: Path) -> Iterator[Callable[[Progress], None]]:
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.SpinnerColumn(),
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(bar_width=20),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
        rich.TextColumn("{task.fields[left]} left"),
    )
    over = threading.Event()
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None, left="unknown time")

        def look() -> None:
            while not over.wait(SECONDS_BETWEEN_LOOKS):
                bar.update(task, description=_running(results))

        def show(progress: Progress) -> None:
            left = format_time(progress.seconds_left)
            bar.update(task, completed=progress.n_done, total=progress.n_jobs, left=left)
            outcome = progress.outcome
            if outcome is not None and (outcome.record is None or outcome.record.error):
                bar.console.print(line_of(progress), markup=False, highlight=False, soft_wrap=True)

        looker = threading.Thread(target=look, daemon=True)
        looker.start()
        try:
            yield show
        finally:
            over.set()
            looker.join()


def _running(results: Path) -> str:
    """What is being run, read off the locks: "bgp2 gp 3, star gbc 0"."""
    jobs = running_in(results)
    more = f" and {len(jobs) - SHOWN} more" if len(jobs) > SHOWN else ""
    return ", ".join(jobs[:SHOWN]) + more if jobs else "starting"
