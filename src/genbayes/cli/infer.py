"""`genbayes infer`: the posterior of a simulator's parameters, from a table of simulations and an observation."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genbayes.cli.console import (
    check_paths,
    interruptible,
    print_facts,
    print_json,
    print_next,
    print_sentence,
    print_start,
    print_table,
    shows_progress,
)
from genbayes.cli.options import AsJson, DropMissing, Quiet, Seed, parse_names, read_runs, require_room, shell_word
from genbayes.errors import InvalidInput, OutsideSimulations

if TYPE_CHECKING:
    import pandas as pd

    from genbayes.inference import Posterior, PosteriorEstimator

app = typer.Typer(
    help="Learn the parameters of a simulator from what was observed.",
    epilog="Begin with: genbayes infer fit sims.csv --theta a,b --y s1,s2 -o posterior.gb",
    context_settings={"help_option_names": ["-h", "--help"]},
)
SHOWN_OBSERVATIONS = 10  # in a terminal
OBSERVATION = "observation"  # column that numbers the observations among the draws, unless a parameter has the name


@app.callback(invoke_without_command=True)
def options(context: typer.Context) -> None:
    """Answer what needs no command."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def fit(
    simulations: Annotated[
        Path, typer.Argument(metavar="SIMS", help="Table of simulations, one per row: CSV or Parquet.")
    ],
    theta: Annotated[str, typer.Option(metavar="A,B,...", help="Columns that hold the parameters.")],
    y: Annotated[str, typer.Option("--y", metavar="S1,S2,...", help="Columns that hold the responses.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="POSTERIOR", help="File to write, such as posterior.gb.")
    ],
    prior: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A=...",
            help="a=0:2 (uniform), a=0.1:10:log, or SciPy's with its numbers: a=norm(0,1); once per parameter. "
            "The box that the parameters fill unless given.",
        ),
    ] = None,
    drop_missing: DropMissing = False,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn the posterior from a table of simulations, parameters drawn from the prior, and write a file.

    Example: genbayes infer fit sims.csv --theta a,b --y s1,s2 -o posterior.gb
    """
    print_start(f"Reading {simulations.name} ...", quiet or as_json)
    check_paths([simulations], {"--output": output})
    parameters, responses = _columns(theta, "--theta"), _columns(y, "--y")
    both = [name for name in parameters if name in responses]
    if both:
        raise InvalidInput(f"--theta and --y must name different columns, got {both[0]!r} in both")
    table = read_runs(simulations, theta=parameters, y=responses)
    from genbayes import PosteriorEstimator  # after what is quickly said, which must not wait for SciPy
    from genbayes.cli.spaces import parse_prior
    from genbayes.data import drop_missing as leave_out
    from genbayes.data import select_numbers

    known = None if not prior else parse_prior(prior, parameters)
    kept = leave_out(table, [*parameters, *responses]) if drop_missing else table
    drawn, simulated = select_numbers(kept, parameters, "theta"), select_numbers(kept, responses, "y")
    started = time.perf_counter()
    with interruptible(f"{output} {'was not changed' if output.exists() else 'was not written'}"):
        estimator = PosteriorEstimator(known, verbose=shows_progress(quiet or as_json), random_state=seed)
        estimator.fit(drawn, simulated)
        estimator.save(output)
        report = estimator.report_
    seconds = round(time.perf_counter() - started, 3)
    facts = {
        "file": str(output),
        "pairs": estimator.n_pairs_,
        "dropped": len(table) - len(kept),
        "theta": parameters,
        "y": responses,
        "seconds": seconds,
    }
    if as_json:
        print_json(facts | {"prior": estimator.prior_.to_dict(), "report": report.to_dict()})
    elif not quiet:
        _show_fit(facts, estimator)


@app.command()
def sample(
    posterior: Annotated[Path, typer.Argument(metavar="POSTERIOR", help="File that infer fit wrote.")],
    observed: Annotated[
        Path, typer.Argument(metavar="OBSERVED", help="Table of observations, one per row: CSV or Parquet.")
    ],
    n: Annotated[int, typer.Option("--number", "-n", min=2, metavar="N", help="Draws for each observation.")] = 1000,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="TABLE", help="Table of draws to write: CSV or Parquet.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="PAGE", help="Also write an HTML page about one observation.")
    ] = None,
    row: Annotated[int, typer.Option(min=1, metavar="N", help="Which observation the page is about.")] = 1,
    predictive: Annotated[
        Path | None,
        typer.Option(metavar="TABLE", help="Responses simulated with draws, for the page's predictive check."),
    ] = None,
    strict: Annotated[bool, typer.Option(help="Refuse observations outside what was simulated.")] = False,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Draw parameters from the posterior given each observation of a table.

    Example: genbayes infer sample posterior.gb observed.csv -n 10000 -o draws.parquet --report page.html
    """
    from genbayes.data import check_table_path, write_table

    reads = [posterior, observed, *([predictive] if predictive else [])]
    check_paths(reads, {"--output": output, "--report": report})
    if output is not None:
        check_table_path(output)
    if predictive is not None and report is None:
        raise InvalidInput(f"--predictive must go with --report, got {predictive.name!r} without a page to show it on")
    require_room(n, 1, "--number")
    estimator = _load(posterior)
    table = _responses(estimator, observed)
    require_room(n, len(table), "--number", estimator.prior_.k)
    if row > len(table):
        raise InvalidInput(f"--row must be at most {len(table)}, the observations in {observed.name}, got {row}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutsideSimulations)  # said here, in the numbers and options of a terminal
        given = estimator.condition(table)
    s = estimator.summary_(estimator.summary_.read_observed(table)[0])
    estimator.warn_outside(s, strict=strict, word=OBSERVATION)
    draws = _table_of_draws(given, n, seed)
    if output is not None:
        write_table(draws, output)
    if report is not None:
        _write_report(report, estimator, table, row, observed, predictive)
    summary = _summary(given)
    if as_json:
        files = {"output": output and str(output), "report": report and str(report)}
        print_json({"draws": n, **files, "outside": given.outside.tolist(), "observations": summary})
    else:
        _show_sample(summary, output, report)


def _columns(text: str, option: str) -> list[str]:
    names = parse_names(text) or []
    if not names or len(set(names)) < len(names):
        raise InvalidInput(f"{option} must name different columns, got {text!r}; try a,b")
    return names


def _load(path: Path) -> PosteriorEstimator:
    from genbayes import PosteriorEstimator, load

    found = load(path)
    if not isinstance(found, PosteriorEstimator):
        raise InvalidInput(f"POSTERIOR must be a file that infer fit wrote, got {type(found).__name__} in {path.name}")
    return found


def _responses(estimator: PosteriorEstimator, path: Path) -> pd.DataFrame:
    """The responses of a table, whose columns may stand in any order and beside others if they have names."""
    from genbayes.data import read_table, select_numbers
    from genbayes.inference.summaries import SetSummary
    from genbayes.validation import list_some, suggest

    if isinstance(estimator.summary_, SetSummary):
        raise InvalidInput("POSTERIOR must take one observation a row, got one that takes sets; use it in Python")
    table = read_table(path)
    names = list(estimator.observation_names_ or table.columns)  # those that were summarised may have had no names
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise InvalidInput(
            f"{path.name} must have a column for each response of infer fit ({list_some(names)}), got none for "
            f"{missing[0]!r}{suggest(missing[0], table.columns)}"
        )
    return select_numbers(table, names, f"responses in {path.name}")


def _table_of_draws(posterior: Posterior, n: int, seed: int) -> pd.DataFrame:
    """One row a draw; observations are numbered from 1 where there are several."""
    import numpy as np
    import pandas as pd

    draws = np.atleast_3d(posterior.sample(n, random_state=seed)).reshape(-1, n, len(posterior.names))
    table = pd.DataFrame(draws.reshape(-1, draws.shape[2]), columns=list(posterior.names))
    if len(draws) > 1:
        table.insert(0, _number_column(posterior.names), np.repeat(np.arange(1, len(draws) + 1), n))
    return table


def _number_column(names: Sequence[str]) -> str:
    """A name for the numbers of observations that no parameter has.

    Example:
        >>> _number_column(["a", "b"]), _number_column(["a", "observation"])
        ('observation', 'observation_number')
    """
    name = OBSERVATION
    while name in names:
        name += "_number"
    return name


def _write_report(
    page: Path, estimator: PosteriorEstimator, table: pd.DataFrame, row: int, observed: Path, predictive: Path | None
) -> None:
    from genbayes.report import write_inference

    simulated = None if predictive is None else _responses(estimator, predictive).to_numpy()
    which = f"row {row} of {observed.name}" if len(table) > 1 else observed.name
    y = table.iloc[row - 1].to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutsideSimulations)  # said once already, for all rows; the page says it too
        write_inference(page, estimator, y, title=f"Posterior given {which}", predictive=simulated)


def _summary(posterior: Posterior) -> list[dict[str, Any]]:
    """Mean, sd and 90% interval of each parameter given each observation."""
    columns = posterior.summary(0.9)[["mean", "sd", "q0.05", "q0.95"]].to_numpy()
    return [
        {
            name: {"mean": mean, "sd": sd, "interval_90": [lower, upper]}
            for name, (mean, sd, lower, upper) in zip(posterior.names, rows, strict=True)
        }
        for rows in columns.reshape(-1, len(posterior.names), 4).tolist()
    ]


def _show_fit(facts: dict[str, Any], estimator: PosteriorEstimator) -> None:
    shown = {"pairs": f"{facts['pairs']:,}", "theta": ", ".join(facts["theta"]), "y": ", ".join(facts["y"])}
    print_facts(f"Fitted in {facts['seconds']:.1f} s and written to {facts['file']}", shown)
    for sentence in estimator.report_.sentences:
        print_sentence(sentence)
    print_next(f"genbayes infer sample {shell_word(facts['file'])} observed.csv -o draws.csv --report page.html")


def _show_sample(summary: list[dict[str, Any]], output: Path | None, report: Path | None) -> None:
    rows = [
        [str(number), name, *(f"{value:.5g}" for value in (of["mean"], of["sd"], *of["interval_90"]))]
        for number, parameters in enumerate(summary[:SHOWN_OBSERVATIONS], start=1)
        for name, of in parameters.items()
    ]
    hidden = len(summary) - SHOWN_OBSERVATIONS
    note = f"and {hidden:,} more observations; --json gives them all" if hidden > 0 else ""
    print_table("", [OBSERVATION, "parameter", "mean", "sd", "q0.05", "q0.95"], rows, note=note)
    if output is not None:
        print_facts("Written", {"draws": str(output), **({"page": str(report)} if report else {})})
    elif report is not None:
        print_facts("Written", {"page": str(report)})
