"""`genbayes worker`: run any program for trial after trial of a campaign, until the budget is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from genbayes.cli.console import print_facts, print_json, print_news
from genbayes.cli.design import NameArgument, UrlArgument
from genbayes.cli.options import AsJson

if TYPE_CHECKING:
    from genbayes.campaign import Status, Tally


def worker(
    url: UrlArgument,
    name: NameArgument,
    command: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND...", help="Program and arguments; {mach} is an input.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Trials in all; the campaign's unless given.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0, metavar="S", help="Time after which no new run starts.")
    ] = None,
    timeout: Annotated[float | None, typer.Option(min=0, metavar="S", help="Time one run may take.")] = None,
    retries: Annotated[int, typer.Option(min=0, metavar="N", help="How often a failed run is tried again.")] = 0,
    key: Annotated[
        str | None, typer.Option(metavar="NAME", help="The response in a JSON line; y, or as the campaign calls it.")
    ] = None,
    file: Annotated[
        str | None, typer.Option(metavar="PATH", help="Read the response from this file; {number} is the trial.")
    ] = None,
    lease_seconds: Annotated[
        float | None, typer.Option(metavar="S", help="Lease, renewed while the program runs; a minute unless given.")
    ] = None,
    called: Annotated[str | None, typer.Option("--name", metavar="NAME", help="What to call this worker.")] = None,
    wait: Annotated[bool, typer.Option(help="Stay while other workers have trials out, which may come back.")] = True,
    failures_in_row: Annotated[int, typer.Option(min=1, metavar="N", help="Failures in a row that end it.")] = 20,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print no line for each run.")] = False,
) -> None:
    """Run a program for one trial after another; any number of workers, on any number of machines.

    The response is its last line of output: a number, or a JSON object;
    several are a JSON object or array. The inputs are also on its standard input,
    as JSON. SIGTERM and Ctrl-C end the worker cleanly and hand its trial back.

    Example: genbayes worker sqlite:///rocket.db rocket --timeout 600 -- ./simulate.sh {mach} {alpha}
    """
    from genbayes.campaign import Tally
    from genbayes.campaign.worker import wait_for_campaign, work

    campaign = wait_for_campaign(url, name, seconds=seconds, announce=lambda why: print_news(f"waiting: {why}", quiet))
    if campaign is None:
        _show(Tally(), as_json)
        return
    tally = work(
        campaign,
        command or [],
        timeout=timeout,
        retries=retries,
        key=key,
        file=file,
        budget=budget,
        seconds=seconds,
        lease_seconds=lease_seconds,
        worker=called,
        waits=wait,
        n_failures_in_row=failures_in_row,
        listen=lambda trial, outcome, what: print_news(_say(trial.number, outcome, what), quiet),
        announce=None if quiet else lambda status: print_news(tell_end(status, budget or status.budget, seconds)),
    )
    _show(tally, as_json)


def _show(tally: Tally, as_json: bool) -> None:
    if as_json:
        print_json(tally.to_dict())
        return
    facts = {"done": str(tally.n_done), "failed": str(tally.n_failed), "repeats": str(tally.n_repeats)}
    print_facts("This worker's runs", facts | {"handed back": str(tally.n_handed_back)})


def tell_end(status: Status, budget: int | None, seconds: float | None) -> str:
    """When a worker that begins now will end, in one line.

    Args:
        status: Where the campaign stands.
        budget: Trials in all; None for no limit.
        seconds: Time after which no further run is begun; None for no limit.

    Returns:
        The line.

    Example:
        >>> from genbayes.campaign import Status
        >>> status = Status("a", 5, 1, 1, 4, 0, 1, 0, 0, budget=20)
        >>> tell_end(status, 20, None)
        'budget: 14 of 20 runs left, 1 of them handed out'
        >>> tell_end(status, None, 600.0)
        'no budget: no new run starts after 600 s'
        >>> tell_end(status, None, None)
        'no budget: runs until stopped (Ctrl-C); --budget N or --seconds S sets a limit'
    """
    time = "" if seconds is None else f"no new run starts after {seconds:g} s"
    if budget is None:
        return "no budget: " + (time or "runs until stopped (Ctrl-C); --budget N or --seconds S sets a limit")
    left = max(0, budget - status.n_done - status.n_failed)
    out = f", {min(left, status.n_out)} of them handed out" if left and status.n_out else ""
    return f"budget: {left} of {budget} runs left{out}" + (f"; {time}" if time else "")


def _say(number: int, outcome: str, what: str) -> str:
    kept = " (kept as a repeat)" if outcome == "repeat" else ""
    return f"trial {number}: {' '.join(what.split())}{kept}"
