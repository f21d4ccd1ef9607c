"""A worker: runs any program for trial after trial, until the budget is spent or somebody ends it.

SIGTERM and Ctrl-C end it cleanly: the program is ended with all its children, the trial is handed back, and another
worker can have it at once. A worker that is killed outright lets its lease lapse, and a guardian ends its program; no
more than that run is lost. How a program is called is in `command`, how it is ended in `process`.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from genbayes.campaign.campaign import Campaign
from genbayes.campaign.command import Command
from genbayes.campaign.running import IDLE, StopSignal, Tally, run_trials
from genbayes.campaign.trial import Outcome, Status, Trial
from genbayes.errors import InvalidInput, StoreRefused, StoreUnavailable

SIGNALS = (signal.SIGTERM, signal.SIGINT)


def wait_for_campaign(
    url: str,
    name: str,
    *,
    seconds: float | None = None,
    announce: Callable[[str], None] = lambda why: None,
) -> Campaign | None:
    """Open a campaign as soon as its database is there; a worker may start before it.

    Args:
        url: Where the campaign is kept.
        name: What it is called.
        seconds: How long to wait; None for as long as it takes.
        announce: Hears why it waits, once for each reason.

    Returns:
        The campaign; None where SIGTERM or Ctrl-C came first.

    Raises:
        StoreRefused: Waiting would not help: there is no such database, or the password is wrong.
        StoreUnavailable: The time was up.
    """
    stop, told, until = StopSignal(), "", time.monotonic() + (float("inf") if seconds is None else seconds)
    with _until_signalled(stop):
        while not stop.is_set():
            try:
                return Campaign.open(url, name)
            except StoreRefused:
                raise
            except StoreUnavailable as error:
                if time.monotonic() > until:
                    raise
                if str(error) != told:
                    told = str(error)
                    announce(told)
            stop.wait(IDLE)
    return None


def work(
    campaign: Campaign,
    words: Sequence[str],
    *,
    timeout: float | None = None,
    retries: int = 0,
    key: str | None = None,
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
        key: The name of the response where the last line is a JSON object; None for the campaign's names.
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
    names = _check_key(key, campaign.settings.responses)
    command = Command(words, campaign.space, timeout, retries, names, file, stop)
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


def _check_key(key: str | None, names: Sequence[str]) -> Sequence[str]:
    """The names to look for in a JSON line."""
    if key is None:
        return names
    if len(names) > 1:
        raise InvalidInput(
            f"key must not be given for several responses, whose names are the keys ({', '.join(names)}), got {key!r}"
        )
    return [key]
