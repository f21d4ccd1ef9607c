"""`genbayes bench`: benchmark problems, methods and studies listed and run, records packed and reported."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genbayes.cli.console import (
    check_paths,
    interruptible,
    print_facts,
    print_json,
    print_next,
    print_table,
    print_warning,
    standard_output,
)
from genbayes.cli.options import AsJson, parse_names, shell_word
from genbayes.errors import InvalidInput

if TYPE_CHECKING:
    from genbayes_bench.registry import Registry
    from genbayes_bench.report import Report
    from genbayes_bench.runner import Summary

app = typer.Typer(
    help="Measure methods on benchmark problems; stop and go on at any time.",
    epilog="Begin with: genbayes bench run quick",
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
PROTOCOLS = ("paper", "part", "quick")
RESULTS = Path("benchmarks-results")
SHOWN_FAILURES = 10

Files = Annotated[
    list[Path] | None,
    typer.Option("--with", metavar="FILE", help="Python file with problems or methods of your own; repeatable."),
]


@app.callback(invoke_without_command=True)
def options(context: typer.Context) -> None:
    """Answer what needs no command."""
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command("list")
def listing(files: Files = None, as_json: AsJson = False) -> None:
    """Show every problem, method and study.

    Example: genbayes bench list
    """
    from genbayes_bench.registry import load_registry

    registry = load_registry([str(file) for file in files or []])
    problems, methods, studies = _problems(registry), _methods(registry), _studies()
    if as_json:
        print_json({"problems": problems, "methods": methods, "studies": studies})
        return
    print_table("Problems", ["problem", "n", "d", "replicates", "what it is"], [_problem_row(p) for p in problems])
    print_table("Where they come from", ["problem", "data", "source"], [_source_row(p) for p in problems])
    print_table("Methods", ["method", "family", "what it is"], [[m["name"], m["family"], m["title"]] for m in methods])
    print_table("Studies", ["study", "what it asks"], [[s["name"], "; ".join(s["titles"])] for s in studies])


def _problems(registry: Registry) -> list[dict[str, Any]]:
    found = []
    for problem in registry.problems.values():
        protocol = registry.protocol(problem.name, "paper")
        found.append(
            {
                "name": problem.name,
                "title": problem.title,
                "n_train": list(protocol.sizes),
                "n_test": protocol.n_test,
                "n_inputs": problem.n_inputs,
                "n_replicates": protocol.n_replicates,
                "kind": problem.kind,
                "source": problem.source,
                "table": protocol.source,
                "standin": problem.standin,
                "absent": problem.absent,
            }
        )
    return found


def _methods(registry: Registry) -> list[dict[str, Any]]:
    from genbayes_bench.studies import VARIANTS

    shown = [method for name, method in registry.methods.items() if name not in VARIANTS]
    return [{"name": m.name, "family": m.family, "title": m.title} for m in shown]


def _studies() -> list[dict[str, Any]]:
    from genbayes_bench.studies import STUDIES

    return [{"name": name, "titles": [study.title for study in own]} for name, own in STUDIES.items()]


def _problem_row(p: dict[str, Any]) -> tuple[str, ...]:
    sizes = p["n_train"]
    n = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    return p["name"], n, str(p["n_inputs"]), str(p["n_replicates"]), p["title"]


def _source_row(p: dict[str, Any]) -> tuple[str, ...]:
    data = "stand-in" if p["standin"] else "real"
    notes = [p["source"], p["standin"], f"ABSENT: {p['absent']}" if p["absent"] else None]
    return p["name"], data, "; ".join(note for note in notes if note)


@app.command("run")
def run(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="paper|part|quick|NAME...",
            help="A protocol, names of problems or studies, or both: quick bgp2; design, all for groups of problems.",
        ),
    ],
    methods: Annotated[str | None, typer.Option(metavar="A,B,...", help="Methods; the main ones unless given.")] = None,
    replicates: Annotated[
        str | None, typer.Option(metavar="N|FIRST:END", help="How many replicates, or which: 5, 10:20.")
    ] = None,
    results: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder of the records.")] = RESULTS,
    jobs: Annotated[int | None, typer.Option(min=1, metavar="N", help="Jobs at once; all cores unless given.")] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Threads of a job; cores over jobs unless given.")
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run again what failed.")] = False,
    files: Files = None,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Run what is missing from a folder of records; stop it at any time and start it again.

    Example: genbayes bench run quick --jobs 2
    """
    from joblib import cpu_count

    from genbayes_bench import runner
    from genbayes_bench.progress import show_run

    protocol = _protocol(what)
    kept = f"records that were finished are kept in {results}; the same command goes on from there"
    with interruptible(kept), show_run(results, quiet) as show:
        summary = runner.run_benchmark(
            [word for word in what if word not in PROTOCOLS],
            protocol=protocol,
            methods=parse_names(methods),
            replicates=parse_replicates(replicates),
            results=results,
            n_jobs=jobs or cpu_count(),
            n_threads=threads,
            retry_failed=retry_failed,
            files=[str(file) for file in files or []],
            on_progress=show,
        )
    for sentence in summary.complaints:
        print_warning(sentence)
    if as_json:
        print_json(_as_json(summary, results, protocol))
    elif not quiet:
        _show_summary(summary, results)


def parse_replicates(text: str | None) -> range | None:
    """How many replicates, or which: the first one and the one after the last.

    Example:
        >>> parse_replicates("5"), parse_replicates("10:20")
        (range(0, 5), range(10, 20))
    """
    if text is None:
        return None
    first, colon, end = text.partition(":")
    ends = (first, end) if colon else ("0", first)
    if not all(part.strip().isdecimal() for part in ends) or int(ends[0]) >= int(ends[1]):
        raise InvalidInput(f"--replicates must be a number or FIRST:END, got {text!r}; try 5 or 10:20")
    return range(int(ends[0]), int(ends[1]))


def _protocol(words: list[str]) -> str:
    named = list(dict.fromkeys(word for word in words if word in PROTOCOLS))
    if len(named) > 1:
        raise InvalidInput(f"a run must have one protocol, got {' and '.join(named)}; run one after the other")
    return named[0] if named else "paper"


def _as_json(summary: Summary, results: Path, protocol: str) -> dict[str, Any]:
    return {
        "results": str(results),
        "protocol": protocol,
        "records": len(summary.records),
        "made": summary.n_made,
        "failed": [
            {"problem": r.problem, "method": r.method, "replicate": r.replicate, "error": r.error}
            for r in summary.failed
        ],
        "left_out": [{"problem": x.problem, "method": x.method, "reason": x.reason} for x in summary.left_out],
        "complaints": summary.complaints,
    }


def _show_summary(summary: Summary, results: Path) -> None:
    known = len(summary.records) - summary.n_made
    facts = {"made now": f"{summary.n_made:,}", "made before": f"{known:,}", "failed": f"{len(summary.failed):,}"}
    print_facts(f"{len(summary.records):,} records in {results}", facts)
    if summary.left_out:
        rows = [[x.problem, x.method or "all", x.reason] for x in summary.left_out]
        print_table("\nLeft out", ["problem", "method", "why"], rows)
    if summary.failed:
        rows = [[r.problem, r.method, str(r.replicate), r.error or ""] for r in summary.failed[:SHOWN_FAILURES]]
        note = f"and {len(summary.failed) - SHOWN_FAILURES} more" if len(summary.failed) > SHOWN_FAILURES else ""
        print_table("\nFailed", ["problem", "method", "replicate", "error"], rows, note=note)
    again = ["the same with --retry-failed runs again what failed"] if summary.failed else []
    print_next(f"genbayes bench report {shell_word(results)} -o bench.html", *again)


@app.command("pack")
def pack(
    results: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the records.")] = RESULTS,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", help="Folder to write to; the same unless given."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Gather records into one file of JSON lines a problem, to be kept with the code.

    Records that the folder to write to holds already are kept; of two with the same key, the later one.

    Example: genbayes bench pack benchmarks-results -o benchmarks/results
    """
    from genbayes_bench.record import merge_results, pack_records

    target = output or results
    records, complaints = merge_results(results, target)
    for sentence in complaints:
        print_warning(sentence)
    written = pack_records(records, target)
    if as_json:
        print_json({"records": len(records), "files": [str(path) for path in written]})
        return
    sizes = {path.name: f"{path.stat().st_size / 1024:.0f} kB" for path in written}
    print_facts(f"{len(records):,} records in {len(written)} files of {target}", sizes)


@app.command("report")
def report(
    results: Annotated[
        Path, typer.Argument(metavar="RESULTS", help="Folder of records that bench run or bench pack wrote.")
    ] = RESULTS,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PAGE", help="Write one self-contained HTML page.")
    ] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the tables as Markdown.")] = None,
    figures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write the figures as PNG and SVG into this folder.")
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="paper, part or quick; the paper's where there are records of it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Turn records into tables and figures; trains nothing.

    Example: genbayes bench report benchmarks-results -o page.html --markdown tables.md --figures figures
    """
    from genbayes_bench.report import read_report, save_figures, write_markdown, write_page
    from genbayes_bench.report.posteriors import POSTERIORS
    from genbayes_bench.report.tables import COUNTS

    check_paths([], {"--output": output, "--markdown": markdown})
    found = read_report(results, protocol)
    if output is not None:
        write_page(found, output)
    if markdown is not None:
        write_markdown(found, markdown)
    pictures = [] if figures is None else save_figures(found, figures)
    if as_json:
        written = {"page": output and str(output), "markdown": markdown and str(markdown)}
        print_json({**_report_json(found), **written, "figures": [str(path) for path in pictures]})
        return
    title = f"{len(found.results.records):,} records of {results}"
    for table in (table for table in found.overview if table.title in (COUNTS, POSTERIORS)):
        print_table(title, list(table.head), table.rows)
        title = ""
    console = standard_output()
    for sentence in (found.headline, *found.notes):
        console.print(sentence, soft_wrap=True, markup=False, highlight=False)
    again = f"genbayes bench report {shell_word(results)}"
    print_next(f"Open {output} in a browser" if output is not None else f"{again} -o page.html --markdown tables.md")


def _report_json(found: Report) -> dict[str, Any]:
    from genbayes_bench.report.labels import OURS
    from genbayes_bench.report.verdicts import count_verdicts

    return {
        "protocol": found.results.protocol,
        "records": len(found.results.records),
        "failures": len(found.results.failures),
        "verdicts": {method: count_verdicts(found.lines, method) for method in OURS},
        "headline": found.headline,
        "differences": list(found.differences),
    }
