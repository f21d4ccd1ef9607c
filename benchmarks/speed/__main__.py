"""Run the measurements, all or those named on the command line, and print one table.

python -m benchmarks.speed                 everything, about half an hour on two cores
python -m benchmarks.speed members import  some of it
python -m benchmarks.speed --json out.json also as a file
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.speed.accuracy import measure_bgp, measure_friedman, measure_motorcycle
from benchmarks.speed.importing import measure_import
from benchmarks.speed.members import measure_members
from benchmarks.speed.prediction import measure_prediction
from benchmarks.speed.race import measure_race
from benchmarks.speed.result import Result
from benchmarks.speed.scaling import measure_scaling
from benchmarks.speed.threads import measure_threads

PARTS: dict[str, Callable[[], Iterator[Result]]] = {
    "import": measure_import,
    "prediction": measure_prediction,
    "members": measure_members,
    "threads": measure_threads,
    "scaling": measure_scaling,
    "bgp": measure_bgp,
    "friedman": measure_friedman,
    "motorcycle": measure_motorcycle,
    "race": measure_race,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[], metavar="part", help=", ".join(PARTS))
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    import torch

    console = Console(width=180)
    machine = (
        f"{platform.processor() or platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}"
    )
    results: list[Result] = []
    for name in arguments.parts or PARTS:
        for result in PARTS[name]():
            results.append(result)
            console.print(
                f"{name}: {result.what}: {result.measured} (target {result.target}) {result.detail}", highlight=False
            )
    table = Table(
        "what", "measured", "target", "met", "detail", title=f"Core of genbayes on {machine}", show_lines=True
    )
    for r in results:
        verdict = "" if r.met is None else "yes" if r.met else "NO"
        table.add_row(r.what, r.measured, r.target, verdict, r.detail)
    console.print(table)
    if arguments.json:
        figures = {"machine": machine, "results": [result.to_dict() for result in results]}
        arguments.json.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
