"""`genbayes fit`: a table of runs to a model file, and on request a report on rows that were held out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genbayes.cli.console import (
    check_paths,
    interruptible,
    print_facts,
    print_json,
    print_next,
    print_scores,
    print_sentence,
    print_start,
)
from genbayes.cli.fitting import HeldOut, fit_without_some, model_maker
from genbayes.cli.options import (
    AsJson,
    Categorical,
    DropMissing,
    Inputs,
    Jobs,
    Quiet,
    ResponseBounds,
    RunsFile,
    Seed,
    Target,
    TimeLimit,
    parse_bounds,
    parse_names,
    parse_weights,
    read_runs,
    shell_word,
    split_runs,
)

if TYPE_CHECKING:
    from genbayes.diagnostics import Assessment

OF_NETWORKS = "Options of --model network"
Output = Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write, such as model.gb.")]
ModelName = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="One model, such as gp or network; the automatic choice unless given."),
]
ScoredPage = Annotated[
    Path | None, typer.Option(metavar="PAGE", help="Also write an HTML page, scored on 20% of the rows, held out.")
]
Members = Annotated[
    int | None, typer.Option(min=1, metavar="K", help="Networks in the ensemble.", rich_help_panel=OF_NETWORKS)
]
Recipe = Annotated[str | None, typer.Option(metavar="fast|paper", help="How to train.", rich_help_panel=OF_NETWORKS)]
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|A,B,C", help="default, quantile-dominant, auto, or three numbers.", rich_help_panel=OF_NETWORKS
    ),
]
Epochs = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Passes over the rows.", rich_help_panel=OF_NETWORKS)
]


def fit(
    runs: RunsFile,
    target: Target,
    output: Output,
    model: ModelName = None,
    inputs: Inputs = None,
    categorical: Categorical = None,
    bounds: ResponseBounds = None,
    time_limit: TimeLimit = None,
    jobs: Jobs = None,
    drop_missing: DropMissing = False,
    seed: Seed = 0,
    report: ScoredPage = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    members: Members = None,
    recipe: Recipe = None,
    weights: Weights = None,
    epochs: Epochs = None,
) -> None:
    """Learn from a table of runs and write a model file.

    Example: genbayes fit runs.csv --target y -o model.gb
    """
    print_start(f"Reading {runs.name} ...", quiet or as_json)
    from genbayes.validation import check_jobs  # after the first line, which must not wait for NumPy

    settings = {
        "categorical": parse_names(categorical),
        "y_bounds": parse_bounds(bounds),
        "n_members": members,
        "recipe": recipe,
        "weights": parse_weights(weights),
        "n_epochs": epochs,
        "time_limit": time_limit,
        "n_jobs": check_jobs(jobs),
    }
    check_paths([runs], {"--output": output, "--report": report})
    table = read_runs(runs, target=[target], inputs=parse_names(inputs), categorical=parse_names(categorical))
    make = model_maker(model, settings, seed, quiet=quiet)
    started = time.perf_counter()
    X, y, dropped = split_runs(table, target, parse_names(inputs), parse_names(categorical), drop_missing)
    with interruptible(f"{output} {'was not changed' if output.exists() else 'was not written'}"):
        held = None if report is None else fit_without_some(make, X, y, seed, quiet=quiet or as_json)
        fitted = make().fit(X, y)
        fitted.save(output)
    scores = None if held is None or report is None else _write_report(held, report, runs, target)
    seconds = round(time.perf_counter() - started, 3)
    facts = {
        "model": str(output),
        "rows": len(y),
        "dropped": dropped,
        "inputs": list(X.columns),
        "target": target,
        "seconds": seconds,
    }
    if as_json:
        print_json(
            facts
            | {"summary": fitted.summary(), "report": report and str(report), "scores": scores and scores.to_dict()}
        )
    elif not quiet:
        _show(facts, fitted.summary(), scores, held, report)


def _write_report(held: HeldOut, report: Path, runs: Path, target: str) -> Assessment:
    from genbayes.report import write_assessment

    return write_assessment(
        report,
        held.model,
        held.X,
        held.y,
        title=f"{target} of {runs.name}",
        scored_on=held.scored_on,
        target=target,
        notes=[*held.beyond, f"The model file was afterwards fitted to all {len(held.everywhere):,} rows."],
        everywhere=held.everywhere,
    )


def _show(
    facts: dict[str, Any],
    summary: dict[str, str],
    scores: Assessment | None,
    held: HeldOut | None,
    report: Path | None,
) -> None:
    shown = {"rows": f"{facts['rows']:,}", "inputs": ", ".join(facts["inputs"]), "target": facts["target"]}
    shown = shown | {name: value for name, value in summary.items() if name not in shown}
    print_facts(f"Fitted in {facts['seconds']:.1f} s and written to {facts['model']}", shown)
    if scores is not None and held is not None:
        print_scores(scores, "\nScored on the rows held out, before the final fit to all rows")
        for sentence in held.beyond:
            print_sentence(sentence)
    model, target = shell_word(facts["model"]), shell_word(facts["target"])
    print_next(
        *([] if report is None else [f"Open {report} in a browser"]),
        f"genbayes predict {model} new.csv --quantiles 0.05,0.5,0.95 -o out.csv",
        f"genbayes evaluate {model} held_out.csv --target {target}",
    )
