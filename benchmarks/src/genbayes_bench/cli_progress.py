"""How `genbayes bench run` shows where it is: a bar on a terminal, a line a record elsewhere, on standard error."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from genbayes.cli.console import print_news, shows_progress

if TYPE_CHECKING:
    from genbayes_bench.runner import News

__all__ = ["line_of", "show_run"]

SECONDS_BETWEEN_LOOKS = 1.0  # at what is being run
SHOWN = 3  # jobs named at once


@contextmanager
def show_run(results: Path, quiet: bool) -> Iterator[Callable[[News], None]]:
    """A function to call with news of a run, shown while the block runs."""
    if quiet:
        yield lambda news: None
    elif not shows_progress():
        yield lambda news: print_news(line_of(news))
    else:
        with _bar(results) as tell:
            yield tell


def line_of(news: News) -> str:
    """One line on the latest job, with how far the run is and how long it may still take."""
    from genbayes_bench.forecast import told_time

    place = f"{news.n_done:,} of {news.n_jobs:,}, {told_time(news.seconds_left)} left"
    outcome = news.outcome
    if news.waiting:
        return f"waiting for {news.waiting:,} records that another runner is making"
    if outcome is None:
        return f"{news.n_done:,} of {news.n_jobs:,} records are there"
    record = outcome.record
    if record is None:
        how = outcome.trouble or "another runner is making it"
    elif record.error is not None:
        how = f"failed, {record.error}"
    else:
        how = f"CRPS {record.scores['crps']:.4g} in {record.fit_seconds:.1f} s"
    return f"{outcome.job}: {how} ({place})"


@contextmanager
def _bar(results: Path) -> Iterator[Callable[[News], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from genbayes_bench.forecast import told_time

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]} left"),
    )
    over = threading.Event()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None, left="unknown time")

        def look() -> None:
            while not over.wait(SECONDS_BETWEEN_LOOKS):
                bar.update(task, description=_running(results))

        def tell(news: News) -> None:
            bar.update(task, completed=news.n_done, total=news.n_jobs, left=told_time(news.seconds_left))
            if news.outcome is not None and (news.outcome.record is None or news.outcome.record.error):
                bar.console.print(line_of(news), markup=False, highlight=False, soft_wrap=True)

        looker = threading.Thread(target=look, daemon=True)
        looker.start()
        try:
            yield tell
        finally:
            over.set()
            looker.join()


def _running(results: Path) -> str:
    """What is being run, read off the claims: "bgp2 gp 3, star gbc 0"."""
    from genbayes_bench.claims import running_in

    jobs = running_in(results)
    more = f" and {len(jobs) - SHOWN} more" if len(jobs) > SHOWN else ""
    return ", ".join(jobs[:SHOWN]) + more if jobs else "starting"
