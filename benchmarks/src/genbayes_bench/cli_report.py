"""`genbayes bench report`: what the records of a results folder come to, as a page, as Markdown and as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genbayes.cli.console import check_paths, print_json, print_next, print_table, standard_output
from genbayes.cli.options import AsJson, shell_word

if TYPE_CHECKING:
    from genbayes_bench.report import Report

__all__ = ["report"]


def report(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="Folder of records that bench run or bench pack wrote.")
    ] = Path("benchmarks-results"),
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PAGE", help="Write one self-contained HTML page.")
    ] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the tables as Markdown.")] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write the figures as PNG and SVG into this folder.")
    ] = None,
    protocol: Annotated[
        str | None, typer.Option(metavar="NAME", help="paper or quick; the paper's where there are records of it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Turn records into tables and figures; trains nothing.

    Example: genbayes bench report benchmarks-results -o page.html --markdown tables.md --figures figures
    """
    from genbayes_bench.report import read_report, save_figures, write_markdown

    check_paths([], {"--output": output, "--markdown": markdown})
    told = read_report(results, protocol)
    if output is not None:
        from genbayes_bench.report_page import write_page

        write_page(told, output)
    if markdown is not None:
        write_markdown(told, markdown)
    pictures = [] if figures is None else save_figures(told, figures)
    if as_json:
        written = {"page": output and str(output), "markdown": markdown and str(markdown)}
        print_json({**_answer(told), **written, "figures": [str(path) for path in pictures]})
        return
    _show(told, results, output)


def _answer(told: Report) -> dict[str, Any]:
    from genbayes_bench.labels import OURS
    from genbayes_bench.lines import count_verdicts

    return {
        "protocol": told.results.protocol,
        "records": len(told.results.records),
        "failures": len(told.results.failures),
        "verdicts": {method: count_verdicts(told.lines, method) for method in OURS},
        "headline": told.headline,
        "remarks": list(told.remarks),
    }


def _show(told: Report, results: Path, output: Path | None) -> None:
    from rich.text import Text

    counts = told.overview[1]
    print_table(f"{len(told.results.records):,} records of {results}", list(counts.head), counts.rows)
    console = standard_output()
    for sentence in (told.headline, *told.notes):
        console.print(Text(sentence), soft_wrap=True)
    again = f"genbayes bench report {shell_word(results)}"
    print_next(f"Open {output} in a browser" if output is not None else f"{again} -o page.html --markdown tables.md")
