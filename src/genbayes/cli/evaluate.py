"""`genbayes evaluate`: how good a model is on rows it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from genbayes.cli.console import check_paths, print_json, print_next, print_scores
from genbayes.cli.options import AsJson, DropMissing, ModelFile, Page, Target, load_surrogate, read_runs, with_text


def evaluate(
    model: ModelFile,
    held_out: Annotated[
        Path, typer.Argument(metavar="HELD_OUT", help="Table of runs the model has not seen: CSV, Parquet or .xlsx.")
    ],
    target: Target,
    report: Page = None,
    drop_missing: DropMissing = False,
    as_json: AsJson = False,
) -> None:
    """Score a model on runs it has not seen: CRPS, RMSE, coverage, PIT.

    Example: genbayes evaluate model.gb held_out.csv --target y --report report.html
    """
    check_paths([model, held_out], {"--report": report})
    table = read_runs(held_out, target=[target])
    from genbayes.data.columns import take_inputs_and_target
    from genbayes.diagnostics import assess
    from genbayes.report import write_assessment

    surrogate = load_surrogate(model)
    table = with_text(table, held_out, surrogate, target)
    X, y = take_inputs_and_target(surrogate, table, target, "drop" if drop_missing else "error")
    if report is None:
        scores = assess(surrogate, X, y)
    else:
        title, scored_on = f"{target} of {held_out.name}", f"the {len(y)} rows of {held_out.name}"
        scores = write_assessment(report, surrogate, X, y, title=title, scored_on=scored_on, target=target)
    if as_json:
        print_json({"model": str(model), "report": None if report is None else str(report), **scores.to_dict()})
        return
    print_scores(scores, f"{model.name} on the {len(y):,} rows of {held_out.name}")
    if report is not None:
        print_next(f"Open {report} in a browser")
