"""Fan charts: the predictive median with central bands, along a number or across categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.plotting.style import BLUE, INK, axes_for, label_axes, place_legend, set_category_ticks, spans_decades
from genbayes.validation import check_array, check_column, check_level

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Band = tuple[float, ArrayLike, ArrayLike]  # level, lower, upper

LIGHTEST, DARKEST = 0.18, 0.42  # opacity of the widest and the narrowest band
MOST_DOTS = 1_500  # observations drawn; more make a heavy page and a black cloud
DOT_SIZES = ((50, 20.0), (300, 9.0), (MOST_DOTS, 4.0))  # up to so many dots, so large


def plot_fan(
    x: ArrayLike,
    median: ArrayLike,
    bands: Sequence[Band],
    *,
    x_observed: ArrayLike | None = None,
    y_observed: ArrayLike | None = None,
    ax: Axes | None = None,
    xlabel: str = "x",
    ylabel: str = "y",
    legend: bool = True,
) -> Axes:
    """Median and central bands of a predictive distribution along one input, the widest band lightest.

    Args:
        x: Input values in any order, shape (n,).
        median: Predictive medians there, shape (n,).
        bands: One (level, lower, upper) a band, ends of shape (n,).
        x_observed: Inputs of observations, shape (j,); an even selection is drawn when there are thousands.
        y_observed: Their responses, shape (j,).
        ax: Axis to draw on; None for a new figure.
        xlabel: Name of the input, with its unit.
        ylabel: Name of the response, with its unit.
        legend: Whether to say what is what above the axis.

    Returns:
        The axis.

    Example:
        >>> ax = plot_fan([0, 1], [2, 3], [(0.5, [1, 2], [3, 4]), (0.9, [0, 1], [4, 5])], xlabel="time (ms)")
        >>> ax.get_xlabel(), len(ax.collections)
        ('time (ms)', 2)
    """
    if (x_observed is None) != (y_observed is None):
        raise InvalidInput("x_observed and y_observed must be given together, got one of them")
    x = check_array(x, "x", "(n,)")
    median = check_column(median, "median", len(x))
    ax = axes_for(ax)
    order = np.argsort(x, kind="stable")
    for level, lower, upper, alpha in widest_first(bands, len(x)):
        ax.fill_between(
            x[order], lower[order], upper[order], color=BLUE, alpha=alpha, linewidth=0, label=percent(level)
        )
    ax.plot(x[order], median[order], color=BLUE, linewidth=1.6, label="median")
    if x_observed is not None and y_observed is not None:
        draw_observed(ax, check_array(x_observed, "x_observed", "(n,)"), y_observed)
    if spans_decades(x):
        ax.set_xscale("log")
    ax.margins(x=0.02)
    label_axes(ax, xlabel, ylabel)
    if legend:
        place_legend(ax)
    return ax


def plot_fan_by_category(
    labels: Sequence[str],
    median: ArrayLike,
    bands: Sequence[Band],
    *,
    ax: Axes | None = None,
    xlabel: str = "x",
    ylabel: str = "y",
    legend: bool = True,
) -> Axes:
    """Median and central bands of a predictive distribution, one set of bars a category.

    Args:
        labels: The g categories.
        median: Predictive medians, shape (g,).
        bands: One (level, lower, upper) a band, ends of shape (g,).
        ax: Axis to draw on; None for a new figure.
        xlabel: Name of the input.
        ylabel: Name of the response, with its unit.
        legend: Whether to say what is what above the axis.

    Returns:
        The axis.

    Example:
        >>> ax = plot_fan_by_category(["He", "O2"], [1, 2], [(0.9, [0, 1], [2, 3])], xlabel="gas")
        >>> [tick.get_text() for tick in ax.get_xticklabels()]
        ['He', 'O2']
    """
    g = len(labels)
    median = check_column(median, "median", g)
    ax = axes_for(ax)
    place = np.arange(g)
    for level, lower, upper, alpha in widest_first(bands, g):
        ax.bar(place, upper - lower, 0.5, bottom=lower, color=BLUE, alpha=alpha, linewidth=0, label=percent(level))
    ax.hlines(median, place - 0.25, place + 0.25, color=BLUE, linewidth=1.6, label="median")
    set_category_ticks(ax, [str(label) for label in labels])
    label_axes(ax, xlabel, ylabel)
    if legend:
        place_legend(ax)
    return ax


def widest_first(bands: Sequence[Band], n: int) -> list[tuple[float, FloatArray, FloatArray, float]]:
    """Checked bands by falling level, each with its opacity."""
    checked = [
        (check_level(level), check_column(lower, "lower", n), check_column(upper, "upper", n))
        for level, lower, upper in bands
    ]
    checked.sort(key=lambda band: -band[0])
    opacity = np.linspace(LIGHTEST, DARKEST, len(checked))
    return [(*band, float(alpha)) for band, alpha in zip(checked, opacity, strict=True)]


def draw_observed(ax: Axes, x: FloatArray, y_observed: ArrayLike) -> None:
    """Observations as dots; of thousands, an even selection along x."""
    y = check_column(y_observed, "y_observed", len(x))
    label = "observed"
    if len(x) > MOST_DOTS:
        order = np.argsort(x, kind="stable")
        kept = order[np.linspace(0, len(x) - 1, MOST_DOTS).round().astype(int)]
        label, x, y = f"observed ({MOST_DOTS:,} of {len(x):,})", x[kept], y[kept]
    size = next(size for n, size in DOT_SIZES if len(x) <= n)
    ax.scatter(x, y, s=size, color=INK, alpha=0.55, linewidths=0, label=label, zorder=3)


def percent(level: float) -> str:
    """A level as people read it.

    Example:
        >>> percent(0.9), percent(0.995)
        ('90%', '99.5%')
    """
    return f"{100 * level:.4g}%"
