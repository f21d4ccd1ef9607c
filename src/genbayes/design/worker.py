"""A worker: runs a program for trial after trial, until the budget is spent or somebody ends it.

SIGTERM and Ctrl-C end it cleanly: the program is ended, the trial is handed back, and another worker can have it at
once. A worker that is killed outright lets its lease lapse; no more than that run is lost.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from genbayes.design.command import Command
from genbayes.design.running import StopSignal, Tally, run_trials
from genbayes.design.trial import Outcome, Status, Trial

if TYPE_CHECKING:
    from genbayes.design.campaign import Campaign

__all__ = ["work"]

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def work(
    campaign: Campaign,
    words: Sequence[str],
    *,
    timeout: float | None = None,
    retries: int = 0,
    key: str = "y",
    file: str | None = None,
    budget: int | None = None,
    seconds: float | None = None,
    lease_seconds: float | None = None,
    worker: str | None = None,
    waits: bool = True,
    n_failures_in_row: int = 20,
    listen: Callable[[Trial, Outcome, str], None] = lambda trial, outcome, what: None,
    announce: Callable[[Status], None] | None = None,
) -> Tally:
    """Run a program for one trial after another.

    Args:
        campaign: Where trials come from and results go.
        words: The program and its arguments, with `{name}` for an input.
        timeout: Seconds that one run may take.
        retries: How often a run that failed is tried again.
        key: The name of the response where the last line is a JSON object.
        file: A file to read the response from instead of the output.
        budget: Trials in all; None for the campaign's.
        seconds: Time after which no further run is begun.
        lease_seconds: How long a lease lasts before it must be renewed, which the worker does.
        worker: What the worker is called.
        waits: Whether to stay while other workers have trials out, which may come back.
        n_failures_in_row: Failures one after another that end it.
        listen: Hears of every run that ended.
        announce: Hears, before the first run, where the campaign stands; None if nobody wants to know.

    Returns:
        How many runs ended how.
    """
    stop = StopSignal()
    command = Command(words, campaign.space, timeout, retries, key, file, stop)
    with _until_signalled(stop):
        return run_trials(
            campaign,
            command,
            budget=budget,
            seconds=seconds,
            n_failures_in_row=n_failures_in_row,
            worker=worker,
            lease_seconds=lease_seconds,
            stop=stop,
            waits=waits,
            wants_trial=True,
            listen=listen,
            announce=announce,
        )


@contextmanager
def _until_signalled(stop: StopSignal) -> Iterator[None]:
    """Let signals set the flag within the block; only the main thread may say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def notice(number: int, frame: FrameType | None) -> None:
        stop.set()

    before = {number: signal.signal(number, notice) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
