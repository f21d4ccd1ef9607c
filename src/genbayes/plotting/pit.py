"""PIT histogram: flat when the predictive laws are calibrated (Dawid 1984; Gneiting, Balabdaoui and Raftery 2007)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray, IntArray
from genbayes.errors import InvalidInput
from genbayes.plotting.style import BLUE, INK, N_TICKS, ORANGE, axes_for, label_axes, place_legend
from genbayes.validation import check_array, check_count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["pit_band", "pit_counts", "plot_pit"]

FEWEST_BINS, MOST_BINS = 4, 20
BAND_LEVEL = 0.95


def pit_counts(pit: ArrayLike) -> tuple[IntArray, FloatArray]:
    """Histogram of PIT values over [0, 1] with a number of bins that suits n: 2 n^(1/3), between 4 and 20.

    Args:
        pit: Values in [0, 1], shape (n,).

    Returns:
        Counts, shape (b,), and edges, shape (b + 1,).

    Example:
        >>> pit_counts([0.1, 0.2, 0.6])[0]
        array([2, 0, 1, 0])
    """
    pit = check_array(pit, "pit", "(n,)")
    outside = (pit < 0) | (pit > 1)
    if len(pit) == 0 or outside.any():
        got = "none" if len(pit) == 0 else repr(float(pit[outside][0]))
        raise InvalidInput(f"pit must hold values between 0 and 1, got {got}")
    n_bins = int(np.clip(round(2 * len(pit) ** (1 / 3)), FEWEST_BINS, MOST_BINS))
    counts, edges = np.histogram(pit, bins=n_bins, range=(0.0, 1.0))
    return counts.astype(np.int64), edges


def pit_band(n: int, n_bins: int) -> tuple[int, int]:
    """Central 95% range of the count in one bin when n values are uniform: quantiles of Binomial(n, 1 / n_bins).

    Args:
        n: Number of PIT values.
        n_bins: Number of equal bins.

    Returns:
        Lowest and highest count in the range.

    Example:
        >>> pit_band(100, 10)
        (5, 16)
    """
    from scipy.stats import binom  # slow to import

    tail = (1 - BAND_LEVEL) / 2
    low, high = binom.ppf([tail, 1 - tail], check_count(n, "n"), 1 / check_count(n_bins, "n_bins"))
    return int(low), int(high)


def plot_pit(pit: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """Histogram of PIT values with the range in which each bar stays with 95% chance under calibration.

    The range is pointwise: about one bar in twenty leaves it by luck. Bars outside are orange.

    Args:
        pit: Values in [0, 1], shape (n,).
        ax: Axis to draw on; None for a new figure.

    Returns:
        The axis.

    Example:
        >>> [int(bar.get_height()) for bar in plot_pit([0.1, 0.2, 0.6]).patches[:4]]
        [2, 0, 1, 0]
    """
    from matplotlib.ticker import MaxNLocator

    counts, edges = pit_counts(pit)
    n = int(counts.sum())
    low, high = pit_band(n, len(counts))
    colour = [BLUE if low <= count <= high else ORANGE for count in counts]
    ax = axes_for(ax)
    ax.bar(edges[:-1], counts, np.diff(edges) * 0.94, align="edge", color=colour, alpha=0.65, linewidth=0)
    ax.axhspan(low, high, facecolor=INK, alpha=0.12, linewidth=0, label="95% range of a bar if calibrated")
    ax.axhline(n / len(counts), color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    ax.yaxis.set_major_locator(MaxNLocator(N_TICKS, integer=True))
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.08 * max(int(counts.max()), high, 1))
    label_axes(ax, "probability integral transform", "rows")
    place_legend(ax)
    return ax
