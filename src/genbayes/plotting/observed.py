"""Predicted against observed: is the middle of the predictions right, and do the intervals hold?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.plotting.style import BLUE, INK, ORANGE, axes_for, label_axes, place_legend, shorten, spans_decades
from genbayes.validation import check_array, check_column

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MOST_WHISKERS", "plot_observed"]

MOST_WHISKERS = 600  # rows drawn one by one; beyond, density and typical intervals
FEWEST_HEXAGONS, MOST_HEXAGONS = 20, 36  # along the horizontal axis
LONGEST_TARGET = 26  # characters, so that the word before it stays whole
N_GROUPS = 24  # groups of rows, by predicted median, whose typical interval is drawn


def plot_observed(
    y: ArrayLike,
    median: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    ax: Axes | None = None,
    target: str = "y",
    interval: str = "90% interval",
) -> Axes:
    """Observations over predicted medians, with the intervals and the line where both agree.

    Observations stand on the vertical axis, so that a calibrated model scatters evenly about the line
    (Piñeiro et al. 2008). Up to a few hundred rows each has its whisker, and misses are orange; beyond, hexagons
    show density (shade grows with the square root of the count) and two lines the median ends of the intervals.

    Args:
        y: Observations, shape (n,).
        median: Predictive medians, shape (n,).
        lower: Lower ends of the intervals, shape (n,).
        upper: Upper ends, shape (n,).
        ax: Axis to draw on; None for a new figure.
        target: Name of the response, with its unit.
        interval: What the intervals are, for the legend.

    Returns:
        The axis.

    Example:
        >>> ax = plot_observed([1, 2, 9], [1, 2, 3], [0, 1, 2], [2, 3, 4], target="thrust (N)")
        >>> ax.get_ylabel()
        'observed thrust (N)'
    """
    y = check_array(y, "y", "(n,)")
    median, lower, upper = (
        check_column(values, name, len(y)) for values, name in ((median, "median"), (lower, "lower"), (upper, "upper"))
    )
    ax = axes_for(ax)
    logarithmic = spans_decades(y) and bool((lower > 0).all())
    if logarithmic:
        ax.set(xscale="log", yscale="log")
    if len(y) <= MOST_WHISKERS:
        draw_whiskers(ax, y, median, lower, upper, interval)
    else:
        draw_density(ax, y, median, logarithmic)
        draw_typical_interval(ax, median, lower, upper, interval)
    ends = [float(median.min()), float(median.max())]
    ax.plot(ends, ends, color=INK, linewidth=0.9, linestyle=(0, (4, 3)), zorder=4)
    label_axes(ax, f"predicted {shorten(target, LONGEST_TARGET)}", f"observed {shorten(target, LONGEST_TARGET)}")
    place_legend(ax)
    return ax


def draw_whiskers(
    ax: Axes, y: FloatArray, median: FloatArray, lower: FloatArray, upper: FloatArray, interval: str
) -> None:
    """One whisker and one dot a row; dots outside their interval are orange."""
    alpha = 0.45 if len(y) <= 100 else 0.22
    ax.vlines(median, lower, upper, color=BLUE, alpha=alpha, linewidth=1.2 if len(y) <= 100 else 0.8, label=interval)
    held = (lower <= y) & (y <= upper)
    size = 14.0 if len(y) <= 100 else 6.0
    ax.scatter(median[held], y[held], s=size, color=BLUE, linewidths=0, zorder=3)
    ax.scatter(median[~held], y[~held], s=size, color=ORANGE, linewidths=0, label="outside it", zorder=3)


def draw_density(ax: Axes, y: FloatArray, median: FloatArray, logarithmic: bool) -> None:
    """Hexagons of one colour whose opacity grows with the square root of the count."""
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm, to_rgba

    shades = LinearSegmentedColormap.from_list("density", [to_rgba(BLUE, 0.12), to_rgba(BLUE, 1.0)])
    across = int(np.clip(np.sqrt(len(y)), FEWEST_HEXAGONS, MOST_HEXAGONS))
    scale: Literal["linear", "log"] = "log" if logarithmic else "linear"
    ax.hexbin(
        median,
        y,
        gridsize=(across, across * 3 // 5),
        mincnt=1,
        cmap=shades,
        norm=PowerNorm(0.5),
        linewidths=0,
        xscale=scale,
        yscale=scale,
    )


def draw_typical_interval(ax: Axes, median: FloatArray, lower: FloatArray, upper: FloatArray, interval: str) -> None:
    """Median lower and upper ends among rows of similar predicted median."""
    groups = np.array_split(np.argsort(median, kind="stable"), N_GROUPS)
    middle = [float(np.median(median[rows])) for rows in groups]
    for ends, label in ((lower, f"typical {interval}"), (upper, None)):
        typical = [float(np.median(ends[rows])) for rows in groups]
        ax.plot(middle, typical, color=ORANGE, linewidth=1.3, label=label)
