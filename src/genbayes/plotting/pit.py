"""PIT histogram: flat when the predictive laws are calibrated (Dawid 1984; Gneiting, Balabdaoui and Raftery 2007)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genbayes.errors import InvalidInput
from genbayes.plotting.style import BLUE, INK, N_TICKS, ORANGE, axes_for, label_axes, place_legend
from genbayes.validation import check_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_pit"]


def plot_pit(counts: ArrayLike, band: tuple[float, float] | None = None, *, ax: Axes | None = None) -> Axes:
    """Histogram of PIT values with the range of luck; bars outside are orange.

    Args:
        counts: Observations in each of b equal bins of [0, 1], shape (b,).
        band: Lowest and highest count of a calibrated forecast, as `genbayes.metrics.count_band` gives; None for none.
        ax: Axis to draw on; None for a new figure.

    Returns:
        The axis.

    Example:
        >>> [int(bar.get_height()) for bar in plot_pit([2, 0, 1, 0], (0, 3)).patches[:4]]
        [2, 0, 1, 0]
    """
    from matplotlib.ticker import MaxNLocator

    counts = check_array(counts, "counts", "(b,)")
    if len(counts) == 0 or counts.min() < 0:
        got = "none" if len(counts) == 0 else repr(float(counts.min()))
        raise InvalidInput(f"counts must be zero or positive, one a bin, got {got}")
    low, high = (0.0, float(counts.max())) if band is None else band
    colour = [BLUE if low <= count <= high else ORANGE for count in counts]
    edges = np.linspace(0, 1, len(counts) + 1)
    ax = axes_for(ax)
    ax.bar(edges[:-1], counts, np.diff(edges) * 0.94, align="edge", color=colour, alpha=0.65, linewidth=0)
    ax.axhline(counts.mean(), color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    if band is not None:
        ax.axhspan(low, high, facecolor=INK, alpha=0.12, linewidth=0, label="95% band of all bars if calibrated")
        place_legend(ax)
    ax.yaxis.set_major_locator(MaxNLocator(N_TICKS, integer=True))
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.08 * max(float(counts.max()), high, 1.0))
    label_axes(ax, "probability integral transform", "rows")
    return ax
