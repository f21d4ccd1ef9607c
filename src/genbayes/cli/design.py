"""`genbayes design`: a campaign from the shell: create, add, ask, tell, fail, status, export."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genbayes.cli.console import (
    GAP,
    check_paths,
    column_widths,
    print_facts,
    print_json,
    print_next,
    print_sentence,
    print_table,
    shows_progress,
    standard_output,
)
from genbayes.cli.options import AsJson, Page, Seed, shell_word
from genbayes.errors import InvalidInput, ResponseNotFinite
from genbayes.writing import visible

if TYPE_CHECKING:
    from genbayes.campaign import Campaign, Trial
    from genbayes.campaign.learning_curve import LearningCurve


app = typer.Typer(
    help="Choose the next runs of a simulator, and lose none.",
    epilog="Begin with: genbayes design create sqlite:///rocket.db rocket --input mach=0.2:6",
    context_settings={"help_option_names": ["-h", "--help"]},
)

UrlArgument = Annotated[
    str, typer.Argument(metavar="URL", help="Database: sqlite:///file.db or postgresql://user@host/database.")
]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The campaign.")]
NumberArgument = Annotated[int, typer.Argument(metavar="TRIAL", help="Number of the trial.")]
Lease = Annotated[int | None, typer.Option(metavar="TOKEN", help="The lease that ask gave.")]


@app.callback(invoke_without_command=True)
def options(context: typer.Context) -> None:
    """Answer what needs no command."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def create(
    url: UrlArgument,
    name: NameArgument,
    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input", metavar="NAME=...", help="mach=0.2:6, n=1:8:int, rate=1e-3:1:log or gas=He,O2; repeat."
        ),
    ] = None,
    space: Annotated[Path | None, typer.Option(metavar="FILE", help="The inputs in a JSON or TOML file.")] = None,
    n_initial: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Initial trials; ten for each input unless given.")
    ] = None,
    initial: Annotated[str, typer.Option(metavar="latin|sobol", help="How the initial trials are spread.")] = "latin",
    lease_seconds: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long a trial is reserved for whoever asked for it.")
    ] = 86_400.0,
    budget: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Trials in all; no limit unless given.")
    ] = None,
    max_attempts: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Lapsed leases after which a trial is given up; five unless given, 0 for no limit.",
        ),
    ] = None,
    proposer: Annotated[
        str | None, typer.Option(metavar="random|model", help="Who proposes after the initial ones.")
    ] = None,
    responses: Annotated[
        str, typer.Option(metavar="NAMES", help="What a run gives, between commas; proposals look at the first.")
    ] = "y",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Begin a campaign with an initial design.

    Example: genbayes design create sqlite:///rocket.db rocket --input mach=0.2:6 --input alpha=-5:30
    """
    from genbayes.campaign import Campaign
    from genbayes.cli.spaces import parse_space, read_space

    if bool(inputs) == (space is not None):
        raise InvalidInput(
            "inputs must be given by one of --input and --space, got " + ("both" if inputs else "neither")
        )
    box = read_space(space) if space is not None else parse_space(inputs or [])
    settings: dict[str, Any] = {"n_initial": n_initial, "initial": initial, "lease_seconds": lease_seconds}
    names = [name.strip() for name in responses.split(",")]
    settings |= {"budget": budget, "random_state": seed, "responses": names}
    settings |= {} if max_attempts is None else {"max_attempts": max_attempts or None}
    settings |= {"proposer": proposer} if proposer else {}
    campaign = Campaign.create(url, name, box, **settings)
    if as_json:
        print_json({"url": campaign.url, "space": box.to_json(), "responses": names, **campaign.status().to_dict()})
        return
    spread = {"latin": "a Latin hypercube", "sobol": "a Sobol sequence"}[initial]
    facts = {"inputs": ", ".join(box.names), "initial trials": f"{campaign.settings.n_initial}, {spread}"}
    facts |= {"responses": ", ".join(names)} if names != ["y"] else {}
    print_facts(f"Campaign {name} in {campaign.url}", facts | {"budget": str(budget or "no limit")})
    where = f"{shell_word(url)} {shell_word(name)}"
    words = " ".join(f"{{{each}}}" for each in box.names)
    print_next(f"genbayes design ask {where}", f"genbayes worker {where} -- ./simulate.sh {words}")


@app.command()
def add(
    url: UrlArgument,
    name: NameArgument,
    points: Annotated[Path, typer.Argument(metavar="POINTS", help="Table with one column per input: CSV or Parquet.")],
    as_json: AsJson = False,
) -> None:
    """Add trials at inputs of your own; they are handed out before any that are proposed.

    Example: genbayes design add sqlite:///rocket.db rocket points.csv
    """
    from genbayes.data import read_table, select_inputs

    campaign = _open(url, name)
    table = select_inputs(read_table(points, campaign.space.text_choices), campaign.space.names)
    numbers = campaign.add(table)
    if as_json:
        print_json({"trials": numbers})
    else:
        print(f"Added {len(numbers)} trials, {numbers[0]} to {numbers[-1]}")


@app.command()
def ask(
    url: UrlArgument,
    name: NameArgument,
    n: Annotated[int, typer.Option("-n", min=1, metavar="N", help="How many trials.")] = 1,
    worker: Annotated[str | None, typer.Option(metavar="NAME", help="Who asks; host and process unless given.")] = None,
    lease_seconds: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="How long they are reserved; the campaign's setting unless given."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take the next trials to run; record their results with `tell`.

    Example: genbayes design ask sqlite:///rocket.db rocket -n 3 --json
    """
    campaign = _open(url, name)
    trials = campaign.ask(n, worker=worker, lease_seconds=lease_seconds)
    if as_json:
        print_json({"trials": [trial.to_dict() for trial in trials]})
        return
    columns = ["trial", *campaign.space.names, "lease"]
    rows = [_trial_row(trial) for trial in trials]
    if sum(column_widths(columns, rows)) + GAP * (len(columns) - 1) + 2 <= standard_output().width:
        print_table("", columns, rows)
    else:
        for row in rows:
            print_facts(f"trial {row[0]}", dict(zip(columns[1:], row[1:], strict=True)))
    first, responses = trials[0], campaign.settings.responses
    value = "VALUE" if len(responses) == 1 else shell_word(",".join(responses).upper())
    print_next(
        f"genbayes design tell {shell_word(url)} {shell_word(name)} {first.number} --y {value} --lease {first.lease}"
    )


@app.command()
def tell(
    url: UrlArgument,
    name: NameArgument,
    number: NumberArgument,
    y: Annotated[str, typer.Option(metavar="VALUE", help="The result of the run; several as 0.1,0.2 or as JSON.")],
    lease: Lease = None,
    as_json: AsJson = False,
) -> None:
    """Record the result of a run; NaN and infinity are none and fail the trial.

    Example: genbayes design tell sqlite:///rocket.db rocket 17 --y 0.013 --lease 42
    """
    from genbayes.campaign.responses import check_responses, parse_line, show

    campaign, trial = _open(url, name), _trial(number, lease)
    names = campaign.settings.responses
    try:
        values = check_responses(parse_line(y), names)
    except ResponseNotFinite as error:
        outcome = campaign.fail(trial, str(error))
        fate = "was recorded as failed" if outcome in ("failed", "again") else "was not changed"
        raise InvalidInput(f"{error}; trial {number} {fate}") from error
    except InvalidInput as error:  # a slip of whoever typed it says nothing of the run
        raise InvalidInput(f"{error}; trial {number} was not changed") from error
    _show_outcome(number, campaign.tell(trial, values), as_json, f"y = {y}" if len(names) == 1 else show(values, names))


@app.command()
def fail(
    url: UrlArgument,
    name: NameArgument,
    number: NumberArgument,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why there is no result.")] = "no reason given",
    lease: Lease = None,
    as_json: AsJson = False,
) -> None:
    """Record that a run failed.

    Example: genbayes design fail sqlite:///rocket.db rocket 17 --reason diverged --lease 42
    """
    _show_outcome(number, _open(url, name).fail(_trial(number, lease), reason), as_json)


@app.command()
def status(
    url: UrlArgument,
    name: NameArgument,
    curve: Annotated[
        bool, typer.Option("--curve", help="Also show how the error falls with the runs, by cross-validation.")
    ] = False,
    report: Page = None,
    response: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which of several responses; the first unless given.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show where a campaign stands.

    Example: genbayes design status sqlite:///rocket.db rocket --report rocket.html
    """
    from genbayes.campaign.responses import find_response
    from genbayes.report import write_campaign
    from genbayes.report.campaign import describe_status, tell_worth

    check_paths([], {"--report": report})
    campaign = _open(url, name)
    find_response(response, campaign.settings.responses)
    state = campaign.status()
    wanted = curve or report is not None
    learnt = campaign.learning_curve(response=response, verbose=shows_progress()) if wanted else None
    if report is not None and learnt is not None:
        write_campaign(report, campaign, state, learnt, response=response)
    if as_json:
        print_json(
            {"url": campaign.url, **state.to_dict()}
            | {"report": report and str(report), "learning_curve": learnt and learnt.to_dict()}
        )
        return
    print_facts(f"Campaign {name} in {campaign.url}", describe_status(state))
    if learnt is not None and learnt.reason:
        print_sentence(learnt.reason)
    elif learnt is not None:
        rows = [(f"{n:.0f}", f"{c:.4g}", f"{e:.2g}") for n, c, e in zip(*_columns(learnt), strict=True)]
        print_table(
            f"CRPS of unseen runs, by a {learnt.model}", ["runs", "CRPS", "± SE"], rows, note=tell_worth(learnt)
        )
    if report is not None:
        print_next(f"Open {report} in a browser")


@app.command()
def export(
    url: UrlArgument,
    name: NameArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="TABLE", help="CSV or Parquet file to write.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every trial, with state, worker and times.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write the runs as a table: inputs and responses of those that are done, ready for `genbayes fit`.

    Example: genbayes design export sqlite:///rocket.db rocket -o runs.csv
    """
    from genbayes.data import check_table_path, write_table

    if output is not None:
        check_table_path(output)
    campaign = _open(url, name)
    frame = campaign.to_frame()
    if not everything:
        frame = frame[frame["state"] == "done"][[*campaign.space.names, *campaign.settings.responses]]
    if output is not None:
        write_table(frame, output)
    if as_json:
        rows = None if output is not None else frame.astype(object).where(frame.notna(), None).to_dict("list")
        print_json({"rows": len(frame), "table": output and str(output), "columns": rows and _plain(rows)})
    elif output is None:
        words = {name: frame[name].map(visible, na_action="ignore") for name in ("worker", "reason") if name in frame}
        frame.assign(**words).to_csv(sys.stdout, index=False)
    else:
        print_facts(f"Wrote {len(frame):,} rows", {"table": str(output), "columns": ", ".join(frame.columns)})
        print_next(_fit_words(campaign, output, everything))


def _fit_words(campaign: Campaign, table: Path, everything: bool) -> str:
    """The command that fits a surrogate to a campaign's table; other responses and times are no inputs."""
    space, responses = campaign.space, campaign.settings.responses
    words = ["genbayes", "fit", str(table), "--target", responses[0]]
    words += ["--inputs", ",".join(space.names)] if everything or len(responses) > 1 else []
    words += ["--categorical", ",".join(space.categorical)] if space.categorical else []
    words += ["-o", "model.gb"]
    return " ".join(shell_word(word) for word in words)


def _open(url: str, name: str) -> Campaign:
    from genbayes.campaign import Campaign

    return Campaign.open(url, name)


def _trial(number: int, lease: int | None) -> Trial | int:
    from genbayes.campaign import Trial

    return number if lease is None else Trial(number, {}, lease)


def _trial_row(trial: Trial) -> list[str]:
    inputs = [f"{value:.6g}" if isinstance(value, float) else str(value) for value in trial.x.values()]
    return [str(trial.number), *inputs, str(trial.lease)]


def _show_outcome(number: int, outcome: str, as_json: bool, result: str = "") -> None:
    words = {
        "counted": f"Recorded trial {number}: {result}",
        "repeat": f"Trial {number} already has a result; {result} was kept as a repeat",
        "again": f"Trial {number}: already recorded, nothing changed",
        "failed": f"Recorded trial {number} as failed",
        "late": f"Trial {number} is done or belongs to another worker now; nothing changed",
    }
    if as_json:
        print_json({"trial": number, "outcome": outcome})
    else:
        print(words[outcome])


def _columns(learnt: LearningCurve) -> tuple[list[float], list[float], list[float]]:
    return learnt.n.tolist(), learnt.crps.tolist(), learnt.standard_error.tolist()


def _plain(columns: dict[Any, list[Any]]) -> dict[str, list[Any]]:
    """Times as text, which JSON can say."""
    return {str(name): [str(v) if hasattr(v, "isoformat") else v for v in values] for name, values in columns.items()}
