"""`genbayes compare`: the fit of `genbayes fit` with the table of scores in the foreground: which should I trust?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genbayes.cli.console import (
    check_paths,
    interruptible,
    print_json,
    print_next,
    print_sentence,
    print_start,
    print_table,
    standard_output,
)
from genbayes.cli.fitting import fit_without_some, model_maker
from genbayes.cli.options import (
    AsJson,
    Categorical,
    DropMissing,
    Inputs,
    Jobs,
    ResponseBounds,
    RunsFile,
    Seed,
    Target,
    TimeLimit,
    parse_bounds,
    parse_names,
    read_runs,
    shell_word,
    split_runs,
)

if TYPE_CHECKING:
    from genbayes.auto import SelectionReport

WIDE = 120  # columns of a terminal that has room for names in full


def compare(
    runs: RunsFile,
    target: Target,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="MODEL", help="Also write the chosen model to this file.")
    ] = None,
    inputs: Inputs = None,
    categorical: Categorical = None,
    bounds: ResponseBounds = None,
    candidates: Annotated[
        str | None, typer.Option(metavar="A,B,...", help="Surrogates to try, such as gp,iqn-deep; all unless given.")
    ] = None,
    time_limit: TimeLimit = None,
    jobs: Jobs = None,
    drop_missing: DropMissing = False,
    seed: Seed = 0,
    report: Annotated[
        Path | None,
        typer.Option(metavar="PAGE", help="Also write an HTML page; the choice is shown on 20% of the rows, held out."),
    ] = None,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Score every surrogate on rows it has not seen, and say which to trust.

    Example: genbayes compare runs.csv --target y --report compare.html
    """
    print_start(f"Reading {runs.name} ...", quiet or as_json)
    from genbayes.validation import check_jobs  # after the first line, which must not wait for NumPy

    check_paths([runs], {"--output": output, "--report": report})
    settings = {
        "candidates": parse_names(candidates),
        "time_limit": time_limit,
        "n_jobs": check_jobs(jobs),
        "categorical": parse_names(categorical),
        "y_bounds": parse_bounds(bounds),
    }
    table = read_runs(runs, target=[target], inputs=parse_names(inputs), categorical=parse_names(categorical))
    make = model_maker(None, settings, seed, quiet=quiet)
    X, y, dropped = split_runs(table, target, parse_names(inputs), parse_names(categorical), drop_missing)
    with interruptible("nothing was written"):
        held = None if report is None else fit_without_some(make, X, y, seed, quiet=quiet or as_json)
        model = make().fit(X, y)
    if output is not None:
        model.save(output)
    if report is not None and held is not None:
        from genbayes.report import write_comparison

        words: dict[str, Any] = {"title": f"{target} of {runs.name}", "target": target, "everywhere": X}
        write_comparison(report, model.report_, held.model, held.X, held.y, n_rows=len(y), **words)
    if as_json:
        written = {"model": output and str(output), "report": report and str(report)}
        told = {"runs": str(runs), "target": target, "rows": len(y), "dropped": dropped}
        print_json({**told, **written, **model.report_.to_dict()})
        return
    named = {"--inputs": inputs, "--categorical": categorical, "--bounds": bounds, "--candidates": candidates}
    limits = {"--time-limit": None if time_limit is None else f"{time_limit:g}", "--jobs": jobs, "--seed": seed or None}
    again = _command(runs, target, {**named, **limits}, drop_missing)
    title = f"Surrogates for {target} of {runs.name}, {len(y):,} rows, in {model.report_.seconds:.0f} s"
    _show(model.report_, title, again, output, report)


def _command(runs: Path, target: str, options: Mapping[str, object], drop_missing: bool) -> str:
    """The command that was given, without the files that it writes; options without a value are left out."""
    typed: list[object] = ["genbayes", "compare", runs, "--target", target]
    typed += [word for option, value in options.items() if value is not None for word in (option, value)]
    return " ".join(shell_word(str(word)) for word in [*typed, *(["--drop-missing"] if drop_missing else [])])


def _show(result: SelectionReport, title: str, again: str, output: Path | None, report: Path | None) -> None:
    """The scores, the choice and what to type next; `again` is the command that was given, without its files."""
    _print_scores(title, result)
    together = f"Chosen: CRPS {result.crps:.4g} ± {result.crps_se:.2g} on {result.n_scored:,} unseen rows."
    print_sentence(together, style="bold")
    for sentence in (
        result.tally,
        result.reason,
        result.trust,
        *([f"Few runs: {'; '.join(result.thin)}."] if result.thin else []),
    ):
        print_sentence(sentence)
    print_next(
        *([f"Open {report} in a browser"] if report is not None else [f"{again} --report compare.html"]),
        *(
            [f"genbayes predict {shell_word(str(output))} new.csv --quantiles 0.05,0.5,0.95 -o out.csv"]
            if output is not None
            else [f"{again} -o model.gb"]
        ),
    )


def _print_scores(title: str, result: SelectionReport) -> None:
    """A row for each surrogate; what it is called in full only where the terminal has room."""
    rows = []
    for name, what, crps, error, behind, n, seconds, weight, note in result.cells():
        score = crps if crps == "-" else f"{crps} ± {error}"
        rows.append([name, what, score, behind, n, seconds, note if weight == "-" and note else weight])
    columns = ["name", "surrogate", "CRPS", "behind", "rows", "s", "weight"]
    if standard_output().width < WIDE:
        columns, rows = [columns[0], *columns[2:]], [[row[0], *row[2:]] for row in rows]
    print_table(title, columns, rows)
