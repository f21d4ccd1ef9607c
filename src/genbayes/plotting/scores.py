"""Predicted against observed, scores of several models with their standard errors, and the curve of a training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.plotting.style import (
    BLUE,
    FONT_SIZE,
    INK,
    ORANGE,
    axes_for,
    label_axes,
    place_legend,
    shorten,
    spans_decades,
)
from genbayes.validation import check_array, check_column

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_WHISKERS = 600  # rows drawn one by one; beyond, density and typical intervals
FEWEST_HEXAGONS, MOST_HEXAGONS = 20, 36  # along the horizontal axis
LONGEST_TARGET = 26  # characters, so that the word before it stays whole
N_GROUPS = 24  # groups of rows, by predicted median, whose typical interval is drawn
LONGEST_NAME = 44
FAR = 2.5  # times the best score: what is worse would squeeze the others, so an arrow at the edge says where it is
MANY_FAR = 0.4  # share of the models that are far, from which on the axis is logarithmic and all have their place
STEEP = 20.0  # a curve that falls by this factor is drawn on a logarithmic axis


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


def plot_scores(
    names: Sequence[str],
    mean: ArrayLike,
    standard_error: ArrayLike,
    chosen: Sequence[bool],
    *,
    ax: Axes | None = None,
    xlabel: str = "CRPS on unseen rows",
) -> Axes:
    """A dot and a line of one standard error for each model, the first at the top, the chosen ones orange.

    No value is drawn where it is not: one far behind the best is an arrow at the edge with the value in words, and
    where many are far behind, the axis is logarithmic.

    Args:
        names: What the models are called.
        mean: Mean scores, less is better, shape (k,).
        standard_error: Their standard errors, shape (k,).
        chosen: Which models were chosen.
        ax: Axis to draw on; None for a new figure.
        xlabel: What is scored.

    Returns:
        The axis.

    Example:
        >>> ax = plot_scores(["GP", "network"], [1.0, 1.2], [0.1, 0.1], [True, False])
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['GP', 'network']
    """
    mean, error = check_column(mean, "mean", len(names)), check_column(standard_error, "standard_error", len(names))
    ax = axes_for(ax)
    best = float(mean.min())
    far = (mean > FAR * best) & (best > 0)
    if far.mean() >= MANY_FAR:
        _logarithmic(ax)
        far[:] = False
    for i in range(len(names)):
        colour = ORANGE if chosen[i] else BLUE
        if far[i]:
            _point_beyond(ax, i, f"{mean[i]:.3g} ± {error[i]:.1g}", colour)
        else:
            ax.errorbar(mean[i], i, xerr=error[i], fmt="o", color=colour, markersize=5, linewidth=1.4)
    if far.any():
        ax.set_xlim(right=FAR * best)
    ax.axvline(best, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    ax.set_yticks(np.arange(len(names)), [shorten(name, LONGEST_NAME) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    label_axes(ax, xlabel, "")
    return ax


def _logarithmic(ax: Axes) -> None:
    """A logarithmic horizontal axis with plain numbers at 1, 2, 5 and their tenfolds."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


def _point_beyond(ax: Axes, row: int, words: str, colour: str) -> None:
    """An arrow at the right edge of a row, for a value that lies beyond it, with the value in words."""
    across = ax.get_yaxis_transform()  # x as a share of the axis, y in rows
    arrow = {"arrowstyle": "->", "color": colour, "linewidth": 1.4}
    ax.annotate(
        words,
        (1.0, row),
        (0.94, row),
        xycoords=across,
        textcoords=across,
        ha="right",
        va="center",
        fontsize=FONT_SIZE - 1,
        color=INK,
        arrowprops=arrow,
    )


def plot_training(
    epochs: ArrayLike,
    loss: ArrayLike,
    held_out: tuple[ArrayLike, ArrayLike] | None = None,
    *,
    kept: float | None = None,
    ax: Axes | None = None,
    ylabel: str = "loss",
) -> Axes:
    """Training loss by epoch, the score of held-out rows with its best epoch marked, and the epoch that was kept.

    Args:
        epochs: Epochs at which the loss was noted, shape (e,).
        loss: The loss there, shape (e,).
        held_out: Epochs and scores of held-out rows, each (h,).
        kept: Epoch whose weights were kept.
        ax: Axis to draw on; None for a new figure.
        ylabel: Name of the vertical axis.

    Returns:
        The axis.

    Example:
        >>> ax = plot_training([1, 2, 3], [3.0, 2.0, 1.5], held_out=([1, 3], [2.5, 2.4]))
        >>> [line.get_label() for line in ax.lines]
        ['training loss', 'held-out CRPS']
    """
    epochs = check_array(epochs, "epochs", "(n,)")
    loss = check_column(loss, "loss", len(epochs))
    ax = axes_for(ax)
    alone = held_out is None  # then the axis says what the line is
    ax.plot(epochs, loss, color=BLUE, linewidth=1.3, label=None if alone else "training loss")
    drawn = loss
    if held_out is not None:
        when = check_array(held_out[0], "held_out[0]", "(n,)")
        score = check_column(held_out[1], "held_out[1]", len(when))
        best = int(np.argmin(score))
        ax.plot(when, score, color=ORANGE, linewidth=1.3, label="held-out CRPS")
        ax.scatter(when[best], score[best], s=24, color=ORANGE, linewidths=0, zorder=3, label=f"best: {when[best]:.0f}")
        drawn = np.r_[loss, score]
    if kept is not None:
        ax.axvline(kept, color=ORANGE, linewidth=1.1, linestyle=(0, (4, 3)), label=f"kept: epoch {kept:.0f}")
    if held_out is not None or kept is not None:
        place_legend(ax)
    if drawn.min() > 0 and drawn.max() > STEEP * drawn.min():
        ax.set_yscale("log")
    label_axes(ax, "epoch", ylabel)
    return ax
