"""How results are drawn, from arrays: panels, curves over the number of runs, ranks and ratios, surfaces.

Sizes are those of a two-column paper, 7 inches for both columns, lettering of 8 to 9 points as it will be printed. A
series has a colour of Okabe and Ito (2008), a marker and a dash of its own, so that it can be told apart without
colour. Every function draws on the axis it is given, or on a new figure, and returns the axis.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.plotting.style import BLUE, FONT_SIZE, INK, MUTED, ORANGE, RULE, axes_for, dress, label_axes, shorten
from genbayes.writing import check_writable, write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAGE = 7.0  # inches: both columns
GREEN, PINK, AMBER, SKY = "#009e73", "#cc79a7", "#e69f00", "#56b4e9"
WINE = "#882255"  # of Tol (2021): dark where the others are light

MOST_MARKERS = 12  # on longer curves only some points are marked
NARROW = 100.0  # upper over lower end of an axis that may show a single power of ten
SMALLEST_PLAIN = 1e-3  # lowest end of an axis that is labelled without powers of ten
APART = 0.11  # rows between the markers of one method and the next
DASH = (0, (4, 3))
CROWDED = 6.0  # ratio of the ends of an axis
FARTHEST = 4.0  # ratios beyond this, or below its inverse, are drawn at the edge
COLOUR_MAP = "cividis"  # evenly lighter from end to end, for any common colour blindness (Nunez et al. 2018)
Floats = Sequence[float] | FloatArray


@dataclass(frozen=True)
class SeriesStyle:
    """How a series is drawn: colour, marker and dash."""

    colour: str
    marker: str
    dash: str | tuple[int, tuple[int, ...]]


STYLES = (
    SeriesStyle(BLUE, "o", "-"),
    SeriesStyle(ORANGE, "s", "-"),
    SeriesStyle(GREEN, "^", (0, (6, 2))),
    SeriesStyle(PINK, "D", (0, (4, 2))),
    SeriesStyle(AMBER, "v", (0, (5, 1, 1, 1))),
    SeriesStyle(SKY, "P", (0, (3, 1))),
    SeriesStyle(INK, "X", (0, (1, 1))),
    SeriesStyle(WINE, "p", (0, (2, 2))),
)


def new_panels(
    n_rows: int, n_columns: int, size: tuple[float, float], *, shared: bool = False, legend: float = 0.0
) -> list[Axes]:
    """Dressed axes of one new figure, row by row.

    Args:
        n_rows: Rows of panels.
        n_columns: Columns of panels.
        size: Width and height of the figure in inches.
        shared: Whether all panels have the same limits, with labels at the left and the bottom only.
        legend: Share of the height that is left free above the panels.

    Example:
        >>> len(new_panels(2, 2, (7.0, 5.0), shared=True))
        4
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    if legend:
        engine = figure.get_layout_engine()
        assert engine is not None
        engine.set(rect=(0.0, 0.0, 1.0, 1.0 - legend))  # type: ignore[call-arg]
    axes = figure.subplots(n_rows, n_columns, sharex=shared, sharey=shared, squeeze=False)
    for ax in axes.flat:
        dress(ax)
    return list(axes.flat)


def name_panel(ax: Axes, name: str) -> None:
    """A short name above the left end of a panel, taken literally."""
    ax.set_title(name, loc="left", fontsize=FONT_SIZE, color=INK, parse_math=False)


def save_picture(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure as PNG or SVG, by the ending of the name, whole or not at all.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     save_picture(new_panels(1, 1, (2.0, 2.0))[0].get_figure(), Path(folder) / "a.png").name
        'a.png'
    """
    import io

    target = check_writable(path)
    kind = target.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg"):
        raise InvalidInput(f"path must end in .png or .svg, got {str(target)!r}")
    content = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {}  # the same figure, the same file
    figure.savefig(content, format=kind, dpi=200, facecolor="white", metadata=metadata)
    return write_atomically(target, content.getvalue())


@dataclass(frozen=True)
class Curve:
    """One series over the number of runs.

    Attributes:
        name: What it is called.
        n: Numbers of runs, shape (j,).
        value: The value at each, shape (j,).
        look: How it looks; its number in `STYLES`, counted round and round.
        band: Lower and upper ends of a band, each (j,), or None.
        hollow: Whether its markers are hollow and its line thin: numbers of somebody else.
    """

    name: str
    n: Floats
    value: Floats
    look: int = 0
    band: tuple[Floats, Floats] | None = None
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
    style = STYLES[curve.look % len(STYLES)]
    if curve.band is not None:
        ax.fill_between(curve.n, *curve.band, color=style.colour, alpha=0.16, linewidth=0)
    ax.plot(
        curve.n,
        curve.value,
        color=style.colour,
        marker=style.marker,
        markersize=4.5,
        markevery=max(1, len(curve.n) // MOST_MARKERS),
        markerfacecolor="white" if curve.hollow else style.colour,
        linestyle=":" if curve.hollow else style.dash,
        linewidth=1.0 if curve.hollow else 1.5,
        label=curve.name,
    )


def plot_landscape(
    problems: Sequence[str],
    ratio: Mapping[str, Mapping[str, float]],
    looks: Mapping[str, int],
    *,
    ax: Axes | None = None,
    xlabel: str = "score over that of the strongest baseline",
) -> Axes:
    """One marker a method and problem on a logarithmic axis; left of 1 is better than the reference.

    Args:
        problems: Rows, the first at the top.
        ratio: Score over that of the reference, by method and then by problem; what is absent is not drawn.
        looks: Number in `STYLES` of each method.
        ax: Axis to draw on; None for a new figure.
        xlabel: Name of the horizontal axis.

    Returns:
        The axis; its legend is left to the caller.

    Example:
        >>> ax = plot_landscape(["a", "b"], {"gp": {"a": 1.0, "b": 1.3}}, {"gp": 2})
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['a', 'b']
    """
    ax = axes_for(ax)
    ax.set_xscale("log")
    ax.axvline(1.0, color=INK, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    ax.hlines(np.arange(len(problems)), 1 / FARTHEST, FARTHEST, color=RULE, linewidth=0.6, zorder=0)
    shown = [1.0]
    for place, (method, by_problem) in enumerate(ratio.items()):
        shift = APART * (place - (len(ratio) - 1) / 2)  # so that equal scores do not hide one another
        style = STYLES[looks[method] % len(STYLES)]
        rows = [i for i, problem in enumerate(problems) if problem in by_problem]
        values = [float(np.clip(by_problem[problems[i]], 1 / FARTHEST, FARTHEST)) for i in rows]
        height = np.asarray(rows, dtype=np.float64) + shift
        ax.scatter(values, height, s=26, color=style.colour, marker=style.marker, linewidths=0, label=method, zorder=3)
        shown += values
    mark_rows(ax, problems)
    round_ticks(ax, shown)
    ax.set_xlabel(xlabel, fontsize=FONT_SIZE, color=INK)
    return ax


def plot_ranks(
    names: Sequence[str],
    average: Floats,
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

    Example:
        >>> ax = plot_ranks(["auto", "gp"], [1.2, 1.8], 0.5, [True, False])
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['auto', 'gp']
    """
    ax = axes_for(ax)
    best = min(average)
    ax.axvspan(best - critical / 2, best + critical / 2, color=INK, alpha=0.08, linewidth=0)
    for i, rank in enumerate(average):
        colour = ORANGE if ours[i] else BLUE
        ax.errorbar(rank, i, xerr=critical / 2, fmt="s" if ours[i] else "o", color=colour, markersize=5, linewidth=1.4)
    mark_rows(ax, names)
    ax.set_xlim(min(0.8, best - critical / 2 - 0.2), max(len(names), max(average) + critical / 2) + 0.2)
    label_axes(ax, "", "")
    ax.set_xlabel(xlabel, fontsize=FONT_SIZE, color=INK)
    return ax


def plot_ratios(
    names: Sequence[str],
    mean: Floats,
    lower: Floats,
    upper: Floats,
    each: Sequence[Floats],
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

    Example:
        >>> ax = plot_ratios(["auto / gp"], [0.8], [0.6], [1.0], [[0.5, 1.1]])
        >>> ax.get_xscale()
        'log'
    """
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
    ax.set_yticks(np.arange(len(names)), [shorten(name, 40) for name in names])
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(axis="y", visible=False)


def round_ticks(ax: Axes, shown: Floats) -> None:
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


def plot_surface(
    x1: Floats,
    x2: Floats,
    values: Floats,
    limits: tuple[float, float],
    *,
    boundary: Floats | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Values on a grid, and the line a'x = 0 where the truth jumps.

    Args:
        x1: First coordinates of the grid, evenly spaced, shape (g,).
        x2: Second coordinates, shape (h,).
        values: One value a point, x2 varying fastest, shape (g h,).
        limits: Values of the darkest and the lightest colour, to be shared by panels.
        boundary: The vector a; None for no line.
        ax: Axis to draw on; None for a new figure.

    Example:
        >>> ax = plot_surface([0, 1], [0, 1], [0, 1, 2, 3], (0.0, 3.0), boundary=[1, -1])
        >>> len(ax.images), len(ax.lines)
        (1, 1)
    """
    table = np.asarray(values, dtype=np.float64).reshape(len(x1), len(x2))
    ax = axes_for(ax)
    extent = (float(x1[0]), float(x1[-1]), float(x2[0]), float(x2[-1]))
    ax.imshow(table.T, origin="lower", extent=extent, cmap=COLOUR_MAP, vmin=limits[0], vmax=limits[1], aspect="auto")
    _frame(ax, extent, boundary)
    return ax


def plot_points(
    X: ArrayLike,
    values: Floats,
    limits: tuple[float, float],
    *,
    boundary: Floats | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Values at scattered inputs in the same colours, such as the truth at test inputs.

    Args:
        X: Inputs, shape (n, 2).
        values: One value each, shape (n,).
        limits: Values of the darkest and the lightest colour.
        boundary: The vector a of a line a'x = 0; None for no line.
        ax: Axis to draw on; None for a new figure.

    Example:
        >>> len(plot_points([[0, 0], [1, 1]], [1.0, 2.0], (0.0, 3.0)).collections)
        1
    """
    X = np.asarray(X, dtype=np.float64)
    ax = axes_for(ax)
    ax.scatter(X[:, 0], X[:, 1], c=values, s=9, cmap=COLOUR_MAP, vmin=limits[0], vmax=limits[1], linewidths=0)
    (a, c), (b, d) = X.min(axis=0), X.max(axis=0)
    _frame(ax, (float(a), float(b), float(c), float(d)), boundary)
    return ax


def add_colour_bar(axes: Sequence[Axes], limits: tuple[float, float], label: str) -> None:
    """One bar of colours beside all of the panels."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    colours = ScalarMappable(Normalize(*limits), COLOUR_MAP)
    bar = axes[0].get_figure(root=True).colorbar(colours, ax=list(axes), shrink=0.9, pad=0.02)  # type: ignore[union-attr]
    bar.set_label(label, fontsize=FONT_SIZE, color=INK)
    bar.ax.tick_params(labelsize=FONT_SIZE - 1, labelcolor=INK)
    bar.outline.set_visible(False)


def _frame(ax: Axes, extent: tuple[float, float, float, float], boundary: Floats | None) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.grid(False)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(3, steps=[1, 2, 4, 5, 10]))
    label_axes(ax, "x1", "x2")
    if boundary is not None:
        from matplotlib.patheffects import withStroke

        (a, b), ends = boundary, np.array(extent[:2])
        halo = withStroke(linewidth=2.6, foreground="white")  # readable on dark and on light
        ax.plot(ends, -a / b * ends, color=INK, linewidth=1.2, linestyle=DASH, path_effects=[halo])
    ax.set(xlim=extent[:2], ylim=extent[2:])
