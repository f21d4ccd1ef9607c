"""Fit and prediction time against the number of rows, one line a model, both axes logarithmic."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from genbayes.plotting.style import dress, label_axes
from genbayes_bench.studies.speed.result import Result

__all__ = ["draw_times"]

# Okabe and Ito (2008), and marks, so that nine lines are told apart without colour too
COLOURS = ("#d55e00", "#0072b2", "#56b4e9", "#009e73", "#cc79a7", "#e69f00", "#1f2933", "#66727f", "#8c6d31")
MARKS = "osD^vPX*h"


def draw_times(results: Sequence[Result], path: Path) -> Path:
    """Draw the series "n", "fit" and "predict" of the results to a file."""
    figure = Figure(figsize=(9.6, 4.0), dpi=160, layout="constrained")
    panels = figure.subplots(1, 2, sharex=True)
    for ax, part, title in zip(panels, ("fit", "predict"), ("fit (s)", "predict 1,000 rows (s)"), strict=True):
        dress(ax)
        for result, colour, mark in zip(results, COLOURS, MARKS, strict=False):
            series = result.series or {}
            name = result.what.split(":")[0]
            ax.plot(series["n"], series[part], color=colour, marker=mark, markersize=4, linewidth=1.3, label=name)
        ax.set_xscale("log")
        ax.set_yscale("log")
        label_axes(ax, "training rows n", title)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=8)
    figure.savefig(path)
    return path
