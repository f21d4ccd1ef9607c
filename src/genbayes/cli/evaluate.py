"""`genbayes evaluate`: how good a model is on rows it has not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from genbayes.cli.console import print_json, print_next
from genbayes.cli.scores import print_scores

__all__ = ["evaluate"]


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Model file that fit wrote.")],
    held_out: Annotated[
        Path, typer.Argument(metavar="HELD_OUT", help="Table of runs the model has not seen: CSV or Parquet.")
    ],
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column with the observed responses.")],
    report: Annotated[Path | None, typer.Option(metavar="PAGE", help="Also write an HTML page with pictures.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object for scripts.")] = False,
) -> None:
    """Score a model on runs it has not seen: CRPS, RMSE, coverage, PIT.

    Example: genbayes evaluate model.gb held_out.csv --target y --report report.html
    """
    from genbayes import load
    from genbayes.analysis import assess
    from genbayes.data import read_table, split_target
    from genbayes.reports import write_assessment
    from genbayes.writing import check_writable

    if report is not None:
        check_writable(report)
    surrogate = load(model)
    X, y = split_target(read_table(held_out), target, list(surrogate.feature_names_in_))
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
