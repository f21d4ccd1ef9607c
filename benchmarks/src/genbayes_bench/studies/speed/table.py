"""Run named measurements, print each line as it comes and one table at the end, and write them as JSON."""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

from genbayes_bench.studies.speed.picture import draw_times
from genbayes_bench.studies.speed.result import Result

__all__ = ["run_parts"]

Parts = Mapping[str, Callable[[], Iterator[Result]]]


def run_parts(parts: Parts, title: str, description: str) -> list[Result]:
    """Run the parts named on the command line, or all."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *parts], default=[], metavar="part", help=", ".join(parts))
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--plot", type=Path, help="draw the times of the models to this file")
    arguments = parser.parse_args()
    console, machine = Console(width=180), describe_machine()
    results: list[Result] = []
    for name in arguments.parts or parts:
        for result in parts[name]():
            results.append(result)
            line = f"{name}: {result.what}: {result.measured} (target {result.target}) {result.detail}"
            console.print(line, highlight=False)
    console.print(as_table(results, f"{title} on {machine}"))
    if arguments.json:
        figures = {"machine": machine, "results": [result.to_dict() for result in results]}
        arguments.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    if arguments.plot:
        draw_times([result for result in results if result.series], arguments.plot)
    return results


def describe_machine() -> str:
    import torch

    processor = platform.processor() or platform.machine()
    return f"{processor}, {torch.get_num_threads()} threads, torch {torch.__version__}"


def as_table(results: list[Result], title: str) -> Table:
    table = Table("what", "measured", "target", "met", "detail", title=title, show_lines=True)
    for r in results:
        verdict = "" if r.met is None else "yes" if r.met else "NO"
        table.add_row(r.what, r.measured, r.target, verdict, r.detail)
    return table
