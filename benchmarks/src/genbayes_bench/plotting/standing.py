"""Where methods stand over many problems: average ranks with their critical difference, and ratios to rivals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genbayes.errors import InvalidInput
from genbayes.plotting.style import BLUE, FONT_SIZE, INK, MUTED, ORANGE, axes_for, label_axes, shorten
from genbayes.validation import check_column

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FARTHEST", "mark_rows", "plot_ranks", "plot_ratios", "round_ticks"]

LONGEST_NAME = 40
DASH = (0, (4, 3))
CROWDED = 6.0  # ratio of the ends of an axis
FARTHEST = 4.0  # ratios beyond this, or below its inverse, are drawn at the edge


def plot_ranks(
    names: Sequence[str],
    average: ArrayLike,
    critical: float,
    ours: Sequence[bool],
    *,
    ax: Axes | None = None,
    xlabel: str = "average rank over problems, less is better",
) -> Axes:
    """A dot an average rank, with a line half the critical difference to either side.

    Two methods whose lines do not overlap differ by Nemenyi's test at 5% (Demsar 2006); the shaded band is what cannot
    be told from the best.

    Args:
        names: Methods, the best first, k of them.
        average: Their average ranks, shape (k,).
        critical: Critical difference.
        ours: Which of them to mark.
        ax: Axis to draw on; None for a new figure.
        xlabel: Name of the horizontal axis.

    Returns:
        The axis.

    Example:
        >>> ax = plot_ranks(["auto", "gp"], [1.2, 1.8], 0.5, [True, False])
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['auto', 'gp']
    """
    average = check_column(average, "average", len(names))
    ax = axes_for(ax)
    best = float(average.min())
    ax.axvspan(best - critical / 2, best + critical / 2, color=INK, alpha=0.08, linewidth=0)
    for i, rank in enumerate(average):
        colour = ORANGE if ours[i] else BLUE
        ax.errorbar(rank, i, xerr=critical / 2, fmt="s" if ours[i] else "o", color=colour, markersize=5, linewidth=1.4)
    mark_rows(ax, names)
    ax.set_xlim(min(0.8, best - critical / 2 - 0.2), max(len(names), float(average.max()) + critical / 2) + 0.2)
    label_axes(ax, "", "")
    ax.set_xlabel(xlabel, fontsize=FONT_SIZE, color=INK)
    return ax


def plot_ratios(
    names: Sequence[str],
    mean: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    each: Sequence[Sequence[float]],
    *,
    ax: Axes | None = None,
    xlabel: str = "ratio of scores",
) -> Axes:
    """A diamond a geometric mean with its interval, and a faint dot a problem, on a logarithmic axis; 1 is equal.

    Args:
        names: What each row compares, k of them.
        mean: Geometric means, shape (k,).
        lower: Lower ends of their intervals, shape (k,).
        upper: Upper ends, shape (k,).
        each: Ratios of the problems behind each row.
        ax: Axis to draw on; None for a new figure.
        xlabel: Name of the horizontal axis.

    Returns:
        The axis.

    Example:
        >>> ax = plot_ratios(["auto / gp"], [0.8], [0.6], [1.0], [[0.5, 1.1]])
        >>> ax.get_xscale()
        'log'
    """
    mean, lower, upper = (
        check_column(values, name, len(names)) for values, name in ((mean, "mean"), (lower, "lower"), (upper, "upper"))
    )
    if len(each) != len(names):
        raise InvalidInput(f"each must have one list a name, got {len(each)} for {len(names)}")
    ax = axes_for(ax)
    ax.set_xscale("log")
    ax.axvline(1.0, color=INK, linewidth=0.9, linestyle=DASH)
    for i in range(len(names)):
        dots = np.clip(np.asarray(each[i], dtype=np.float64), 1 / FARTHEST, FARTHEST)
        ax.scatter(dots, np.full(len(dots), i), s=12, color=MUTED, alpha=0.6, linewidths=0, zorder=2)
        reach = np.clip([lower[i], mean[i], upper[i]], 1 / FARTHEST, FARTHEST)
        colour = ORANGE if lower[i] > 1 else BLUE
        ax.plot(reach[[0, 2]], [i, i], color=colour, linewidth=2.0, zorder=3)
        ax.plot(reach[1], i, marker="D", color=colour, markersize=6, markeredgecolor="white", zorder=4)
    mark_rows(ax, names)
    round_ticks(ax, [ratio for row in each for ratio in row] + [1.0, *lower, *upper])
    ax.set_xlabel(xlabel, fontsize=FONT_SIZE, color=INK)
    return ax


def mark_rows(ax: Axes, names: Sequence[str]) -> None:
    """Names beside the rows, the first at the top."""
    ax.set_yticks(np.arange(len(names)), [shorten(name, LONGEST_NAME) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(axis="y", visible=False)


def round_ticks(ax: Axes, shown: Sequence[float]) -> None:
    """Ratios as people say them, and limits that hold all that is shown."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    low, high = max(min(shown), 1 / FARTHEST) / 1.06, min(max(shown), FARTHEST) * 1.06
    near_one = (0.9, 1.1) if high < CROWDED * low else ()  # on a wide axis their labels would touch
    ticks = sorted(
        t for t in (0.25, 0.33, 0.5, 0.67, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, *near_one) if low <= t <= high
    )
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_major_formatter(FixedFormatter([f"{tick:g}" for tick in ticks]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlim(low, high)
