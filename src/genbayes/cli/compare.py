"""`genbayes compare`: every surrogate scored on the same runs, which it has not seen: which should I trust?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genbayes.cli.console import (
    check_paths,
    interruptible,
    print_json,
    print_next,
    print_table,
    shows_progress,
    standard_output,
)
from genbayes.cli.options import (
    AsJson,
    Categorical,
    Inputs,
    ResponseBounds,
    RunsFile,
    Seed,
    Target,
    parse_bounds,
    parse_names,
    read_runs,
    shell_word,
)

if TYPE_CHECKING:
    from genbayes.auto import SelectionReport


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
    time_limit: Annotated[float | None, typer.Option(metavar="SECONDS", help="Time the comparison may take.")] = None,
    seed: Seed = 0,
    report: Annotated[Path | None, typer.Option(metavar="PAGE", help="Also write an HTML page.")] = None,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Score every surrogate on rows it has not seen, and say which to trust.

    Example: genbayes compare runs.csv --target y --report compare.html
    """
    from genbayes import AutoSurrogate
    from genbayes.report import write_comparison

    check_paths([runs], {"--output": output, "--report": report})
    settings: dict[str, Any] = {"candidates": parse_names(candidates), "time_limit": time_limit}
    settings |= {"categorical": parse_names(categorical), "y_bounds": parse_bounds(bounds), "random_state": seed}
    X, y = read_runs(runs, target, parse_names(inputs), parse_names(categorical))
    with interruptible("nothing was written"):
        model = AutoSurrogate(**settings, verbose=shows_progress(quiet)).fit(X, y)
    if output is not None:
        model.save(output)
    if report is not None:
        write_comparison(report, model.report_, title=f"{target} of {runs.name}", target=target, n_rows=len(y))
    if as_json:
        written = {"model": output and str(output), "report": report and str(report)}
        print_json({"runs": str(runs), "target": target, "rows": len(y), **written, **model.report_.to_dict()})
        return
    _show(model.report_, runs, target, len(y), output, report)


def _show(
    result: SelectionReport, runs: Path, target: str, n_rows: int, output: Path | None, report: Path | None
) -> None:
    from rich.text import Text

    title = f"Surrogates for {target} of {runs.name}, {n_rows:,} rows, in {result.seconds:.0f} s"
    columns = ["name", "surrogate", "CRPS", "± SE", "behind", "rows", "s", "weight", ""]
    print_table(title, columns, [entry.cells() for entry in result.entries])
    console = standard_output()
    together = f"Chosen: CRPS {result.crps:.4g} ± {result.crps_se:.2g} on {result.n_scored:,} unseen rows."
    console.print(Text(together, style="bold"), soft_wrap=True)
    for sentence in (result.reason, result.trust, *([f"Few runs: {'; '.join(result.thin)}."] if result.thin else [])):
        console.print(Text(sentence), soft_wrap=True)
    again = f"genbayes compare {shell_word(str(runs))} --target {shell_word(target)}"
    print_next(
        *([f"Open {report} in a browser"] if report is not None else [f"{again} --report compare.html"]),
        *(
            [f"genbayes predict {shell_word(str(output))} new.csv --quantiles 0.05,0.5,0.95 -o out.csv"]
            if output is not None
            else [f"{again} -o model.gb"]
        ),
    )
