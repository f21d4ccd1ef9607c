"""`genbayes fit`: a table of runs to a model file, and on request a report on rows that were held out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genbayes.cli.console import (
    check_paths,
    interruptible,
    print_facts,
    print_json,
    print_news,
    print_next,
    print_scores,
    shows_progress,
)
from genbayes.cli.options import (
    AsJson,
    Categorical,
    Epochs,
    Inputs,
    ResponseBounds,
    RunsFile,
    Seed,
    Target,
    parse_bounds,
    parse_names,
    parse_weights,
    read_runs,
    shell_word,
)
from genbayes.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from genbayes import QuantileSurrogate
    from genbayes.arrays import FloatArray
    from genbayes.diagnostics import Assessment


HELD_OUT = 0.2  # share of the rows that a report is scored on


def fit(
    runs: RunsFile,
    target: Target,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write, such as model.gb.")
    ],
    inputs: Inputs = None,
    categorical: Categorical = None,
    bounds: ResponseBounds = None,
    members: Annotated[int | None, typer.Option(min=1, metavar="K", help="Networks in the ensemble.")] = None,
    recipe: Annotated[str | None, typer.Option(metavar="fast|paper", help="How to train.")] = None,
    weights: Annotated[
        str | None, typer.Option(metavar="NAME|A,B,C", help="default, quantile-dominant, auto, or three numbers.")
    ] = None,
    epochs: Epochs = None,
    seed: Seed = 0,
    report: Annotated[
        Path | None, typer.Option(metavar="PAGE", help="Also write an HTML page, scored on 20% of the rows, held out.")
    ] = None,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but warnings and errors.")] = False,
) -> None:
    """Learn from a table of runs and write a model file.

    Example: genbayes fit runs.csv --target y -o model.gb
    """
    settings = {
        "categorical": parse_names(categorical),
        "y_bounds": parse_bounds(bounds),
        "n_members": members,
        "recipe": recipe,
        "weights": parse_weights(weights),
        "n_epochs": epochs,
        "random_state": seed,
        "verbose": shows_progress(quiet),
    }
    given = {name: value for name, value in settings.items() if value is not None}
    check_paths([runs], {"--output": output, "--report": report})
    started = time.perf_counter()
    X, y = read_runs(runs, target, parse_names(inputs), parse_names(categorical))
    with interruptible(f"{output} {'is as it was' if output.exists() else 'was not written'}"):
        trial = None if report is None else _fit_trial(X, y, given, quiet=quiet or as_json)
        model = _new_model(given).fit(X, y)
        model.save(output)
    scores = None if trial is None else _write_report(trial, report, runs, target)
    seconds = round(time.perf_counter() - started, 3)
    facts = {"model": str(output), "rows": len(y), "inputs": list(X.columns), "target": target, "seconds": seconds}
    if as_json:
        print_json(facts | {"report": report and str(report), "scores": scores and scores.to_dict()})
    elif not quiet:
        _show(facts, model.summary(), scores, report)


def _new_model(settings: dict[str, Any]) -> QuantileSurrogate:
    from genbayes import QuantileSurrogate

    return QuantileSurrogate(**settings)


@dataclass(frozen=True)
class _Trial:
    """A model fitted to most rows, and the rows held out to score it on."""

    model: QuantileSurrogate
    X: pd.DataFrame
    y: FloatArray
    n: int  # rows in all


def _fit_trial(X: pd.DataFrame, y: FloatArray, settings: dict[str, Any], *, quiet: bool) -> _Trial:
    from genbayes.data import hold_out
    from genbayes.data.columns import MIN_ROWS

    learn, held = hold_out(len(y), HELD_OUT, settings["random_state"])
    if len(learn) < MIN_ROWS:
        raise InvalidInput(
            f"At least {MIN_ROWS} runs are needed beside those held out for the report; there are {len(learn)}"
        )
    print_news(f"For the report: fitting {len(learn)} rows; {len(held)} are held out for scoring.", quiet)
    model = _new_model(settings).fit(X.iloc[learn], y[learn])
    print_news(f"For the model file: fitting all {len(y)} rows.", quiet)
    return _Trial(model, X.iloc[held], y[held], len(y))


def _write_report(trial: _Trial, report: Path | None, runs: Path, target: str) -> Assessment:
    from genbayes.report import write_assessment

    assert report is not None
    return write_assessment(
        report,
        trial.model,
        trial.X,
        trial.y,
        title=f"{target} of {runs.name}",
        scored_on=f"{len(trial.y)} of {trial.n} rows, held out at random",
        target=target,
        notes=[f"The model file was afterwards fitted to all {trial.n} rows."],
    )


def _show(facts: dict[str, Any], summary: dict[str, str], scores: Assessment | None, report: Path | None) -> None:
    shown = {"rows": f"{facts['rows']:,}", "inputs": ", ".join(facts["inputs"]), "target": facts["target"]}
    shown = shown | {name: value for name, value in summary.items() if name not in shown}
    print_facts(f"Fitted in {facts['seconds']:.1f} s and written to {facts['model']}", shown)
    if scores is not None:
        print_scores(scores, "\nScored on the rows held out, before the final fit to all rows")
    model, target = shell_word(facts["model"]), shell_word(facts["target"])
    print_next(
        *([] if report is None else [f"Open {report} in a browser"]),
        f"genbayes predict {model} new.csv --quantiles 0.05,0.5,0.95 -o out.csv",
        f"genbayes evaluate {model} held_out.csv --target {target}",
    )
