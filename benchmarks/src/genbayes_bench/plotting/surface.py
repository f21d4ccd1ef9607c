"""A predicted surface over two inputs, as an even map of colours that survives grey printing and colour blindness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genbayes.plotting.style import FONT_SIZE, INK, axes_for, label_axes
from genbayes.validation import check_array, check_column

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["add_colour_bar", "plot_points", "plot_surface"]

COLOURS = "cividis"  # evenly lighter from end to end, for any common colour blindness (Nunez et al. 2018)
DASH = (0, (4, 3))
N_TICKS = 3  # at most so many steps: panels are narrow


def plot_surface(
    x1: ArrayLike,
    x2: ArrayLike,
    values: ArrayLike,
    limits: tuple[float, float],
    *,
    boundary: Sequence[float] | None = None,
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

    Returns:
        The axis.

    Example:
        >>> ax = plot_surface([0, 1], [0, 1], [0, 1, 2, 3], (0.0, 3.0), boundary=[1, -1])
        >>> len(ax.images), len(ax.lines)
        (1, 1)
    """
    x1, x2 = check_array(x1, "x1", "(n,)"), check_array(x2, "x2", "(n,)")
    table = check_column(values, "values", len(x1) * len(x2)).reshape(len(x1), len(x2))
    ax = axes_for(ax)
    extent = (float(x1[0]), float(x1[-1]), float(x2[0]), float(x2[-1]))
    ax.imshow(table.T, origin="lower", extent=extent, cmap=COLOURS, vmin=limits[0], vmax=limits[1], aspect="auto")
    _frame(ax, extent, boundary)
    return ax


def plot_points(
    X: ArrayLike,
    values: ArrayLike,
    limits: tuple[float, float],
    *,
    boundary: Sequence[float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Values at scattered inputs in the same colours, such as the truth at test inputs.

    Args:
        X: Inputs, shape (n, 2).
        values: One value each, shape (n,).
        limits: Values of the darkest and the lightest colour.
        boundary: The vector a of a line a'x = 0; None for no line.
        ax: Axis to draw on; None for a new figure.

    Returns:
        The axis.

    Example:
        >>> len(plot_points([[0, 0], [1, 1]], [1.0, 2.0], (0.0, 3.0)).collections)
        1
    """
    X = check_array(X, "X", "(n, d)")
    values = check_column(values, "values", len(X))
    ax = axes_for(ax)
    ax.scatter(X[:, 0], X[:, 1], c=values, s=9, cmap=COLOURS, vmin=limits[0], vmax=limits[1], linewidths=0)
    (a, c), (b, d) = X.min(axis=0), X.max(axis=0)
    _frame(ax, (float(a), float(b), float(c), float(d)), boundary)
    return ax


def add_colour_bar(axes: Sequence[Axes], limits: tuple[float, float], label: str) -> None:
    """One bar of colours beside all of the panels."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    colours = ScalarMappable(Normalize(*limits), COLOURS)
    bar = axes[0].get_figure(root=True).colorbar(colours, ax=list(axes), shrink=0.9, pad=0.02)  # type: ignore[union-attr]
    bar.set_label(label, fontsize=FONT_SIZE, color=INK)
    bar.ax.tick_params(labelsize=FONT_SIZE - 1, labelcolor=INK)
    bar.outline.set_visible(False)


def _frame(ax: Axes, extent: tuple[float, float, float, float], boundary: Sequence[float] | None) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.grid(False)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(N_TICKS, steps=[1, 2, 4, 5, 10]))
    label_axes(ax, "x1", "x2")
    if boundary is not None:
        from matplotlib.patheffects import withStroke

        (a, b), ends = boundary, np.array(extent[:2])
        halo = withStroke(linewidth=2.6, foreground="white")  # readable on dark and on light
        ax.plot(ends, -a / b * ends, color=INK, linewidth=1.2, linestyle=DASH, path_effects=[halo])
    ax.set(xlim=extent[:2], ylim=extent[2:])
