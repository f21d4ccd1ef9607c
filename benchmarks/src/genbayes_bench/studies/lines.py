"""Measured lines: one figure each with its target; parts that yield them, run and printed one after another.

For what is not a method on a problem: seconds, memory, ratios of times, accuracies of a part of a model.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from genbayes.writing import check_writable, write_atomically
from genbayes_bench.record import make_folder

T = TypeVar("T")


@dataclass(frozen=True)
class Line:
    """One line of the table.

    Attributes:
        what: What was measured.
        measured: The figure, with its standard error where it has one.
        target: What it must reach.
        met: Whether it does; None for a line without a target.
        detail: Figures behind the figure.
        series: Figures that can be drawn, by name.
    """

    what: str
    measured: str
    target: str = ""
    met: bool | None = None
    detail: str = ""
    series: Mapping[str, Sequence[float]] | None = None


Part = Callable[[], Iterable[Line]]


def run_parts(parts: Mapping[str, Part], title: str, json_path: Path | None, plot_path: Path | None) -> list[Line]:
    """Run parts, print each line as it comes and one table at the end, and write them as JSON or a picture if asked."""
    from rich.console import Console
    from rich.table import Table

    if json_path is not None:
        make_folder(json_path.parent, "--json", str(json_path))
        check_writable(json_path)  # before minutes of measuring, so that none are lost
    console, machine = Console(width=180), describe_machine()
    table = Table("what", "measured", "target", "met", "detail", title=f"{title} on {machine}", show_lines=True)
    lines = []
    for name, part in parts.items():
        for line in part():
            lines.append(line)
            target = f" (target {line.target})" if line.target else ""
            console.print(f"{name}: {line.what}: {line.measured}{target} {line.detail}", highlight=False)
            verdict = "" if line.met is None else "yes" if line.met else "NO"
            table.add_row(line.what, line.measured, line.target, verdict, line.detail)
    console.print(table)
    if json_path is not None:
        plain = [{name: value for name, value in asdict(line).items() if name != "series" or value} for line in lines]
        text = json.dumps({"machine": machine, "results": plain}, indent=1, ensure_ascii=False)
        write_atomically(json_path, (text + "\n").encode())
    if plot_path is not None:
        draw_times([line for line in lines if line.series and "fit" in line.series], plot_path)
    return lines


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What the work returns, and its wall time in seconds."""
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def mean_text(values: ArrayLike, digits: int = 3) -> str:
    """Mean and standard error.

    Example:
        >>> mean_text([1.0, 2.0, 3.0], 2)
        '2.00 ± 0.58'
    """
    found = np.asarray(values, dtype=np.float64)
    error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
    return f"{found.mean():.{digits}f} ± {error:.{digits}f}"


def describe_machine() -> str:
    """Processor, threads and torch, for the title."""
    import torch

    processor = platform.processor() or platform.machine()
    return f"{processor}, {torch.get_num_threads()} threads, torch {torch.__version__}"


def draw_times(lines: Sequence[Line], path: Path) -> Path:
    """Draw the series "n", "fit" and "predict" of the lines to a file, one line a model, both axes logarithmic."""
    from genbayes_bench.report.figures import share_legend
    from genbayes_bench.report.plots import Curve, new_panels, plot_growth, save_picture

    axes = new_panels(1, 2, (9.6, 4.0), legend=0.2)
    for ax, part, label in zip(axes, ("fit", "predict"), ("fit (s)", "predict 1,000 rows (s)"), strict=True):
        curves = [_curve(i, line, part) for i, line in enumerate(lines)]
        plot_growth([Curve(*curve) for curve in curves], ax=ax, xlabel="training rows n", ylabel=label)
    share_legend(axes, columns=5)
    figure = axes[0].get_figure(root=True)
    assert figure is not None
    return save_picture(figure, path)


def _curve(i: int, line: Line, part: str) -> tuple[str, Sequence[float], Sequence[float], int]:
    assert line.series is not None
    return line.what.partition(":")[0], line.series["n"], line.series[part], i
