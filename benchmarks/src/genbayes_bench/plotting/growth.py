"""Curves over the number of runs, on logarithmic axes: how time grows, how errors fall, how designs learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from genbayes.plotting.style import FONT_SIZE, axes_for, label_axes
from genbayes.validation import check_array, check_column
from genbayes_bench.plotting.panels import LOOKS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Curve", "plot_growth"]

FAINT = 0.16  # opacity of bands
MOST_MARKERS = 12  # on longer curves only some points are marked
NARROW = 100.0  # upper over lower end of an axis that may show a single power of ten
SMALLEST_PLAIN = 1e-3  # lowest end of an axis that is told without powers of ten


@dataclass(frozen=True)
class Curve:
    """One series over the number of runs.

    Attributes:
        name: What it is called.
        n: Numbers of runs, shape (j,).
        value: The value at each, shape (j,).
        look: Which look it has; its number in `LOOKS`, counted round and round.
        band: Lower and upper ends of a band, each (j,), or None.
        hollow: Whether its markers are hollow and its line thin: numbers of somebody else.
    """

    name: str
    n: ArrayLike
    value: ArrayLike
    look: int = 0
    band: tuple[ArrayLike, ArrayLike] | None = None
    hollow: bool = False


def plot_growth(
    curves: Sequence[Curve],
    *,
    ax: Axes | None = None,
    xlabel: str = "training runs",
    ylabel: str = "",
    log_x: bool = True,
    log_y: bool = True,
) -> Axes:
    """Lines with markers over the number of runs, one a series.

    Args:
        curves: The series.
        ax: Axis to draw on; None for a new figure.
        xlabel: Name of the horizontal axis.
        ylabel: Name of the vertical axis, with its unit.
        log_x: Whether the horizontal axis is logarithmic.
        log_y: Whether the vertical axis is.

    Returns:
        The axis; its legend is left to the caller, who may share one among panels.

    Example:
        >>> ax = plot_growth([Curve("GP", [500, 1000], [2.9, 9.7])], ylabel="seconds")
        >>> ax.get_xscale(), [line.get_label() for line in ax.lines]
        ('log', ['GP'])
    """
    ax = axes_for(ax)
    if log_x:
        ax.set_xscale("log")
    if log_y:
        ax.set_yscale("log")
    for curve in curves:
        _draw(ax, curve)
    label_axes(ax, xlabel, ylabel)
    if log_y:
        _label_narrow(ax)
    ax.tick_params(which="both", labelsize=FONT_SIZE)
    return ax


def _label_narrow(ax: Axes) -> None:
    """Plain labels at 1, 2 and 5 where few powers of ten lie on the axis."""
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

    low, high = ax.get_ylim()
    if low >= SMALLEST_PLAIN and high < NARROW * low:
        ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.yaxis.set_major_formatter(FormatStrFormatter("%g"))
        ax.yaxis.set_minor_formatter(NullFormatter())


def _draw(ax: Axes, curve: Curve) -> None:
    n = check_array(curve.n, "n", "(n,)")
    value = check_column(curve.value, "value", len(n))
    look = LOOKS[curve.look % len(LOOKS)]
    if curve.band is not None:
        lower, upper = (check_column(end, "band", len(n)) for end in curve.band)
        ax.fill_between(n, lower, upper, color=look.colour, alpha=FAINT, linewidth=0)
    ax.plot(
        n,
        value,
        color=look.colour,
        marker=look.marker,
        markersize=4.5,
        markevery=max(1, len(n) // MOST_MARKERS),
        markerfacecolor="white" if curve.hollow else look.colour,
        linestyle=":" if curve.hollow else look.dash,
        linewidth=1.0 if curve.hollow else 1.5,
        label=curve.name,
    )
