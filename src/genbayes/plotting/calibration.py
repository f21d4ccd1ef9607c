"""Calibration curve: how often central intervals hold the truth, over the level they promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genbayes.plotting.style import BLUE, INK, ORANGE, axes_for, label_axes, place_legend
from genbayes.validation import check_column, check_tau

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_calibration"]


def plot_calibration(
    nominal: ArrayLike, observed: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, ax: Axes | None = None
) -> Axes:
    """Observed coverage of central intervals over their nominal level, with the band of luck.

    Below the diagonal intervals are too narrow (overconfident), above it too wide. Levels outside the band are
    orange. `genbayes.metrics.share_band` gives a simultaneous band.

    Args:
        nominal: Levels strictly between 0 and 1, increasing, shape (j,).
        observed: Share of observations held at each level, shape (j,).
        lower: Lower end of the band, shape (j,).
        upper: Upper end of the band, shape (j,).
        ax: Axis to draw on; None for a new figure.

    Returns:
        The axis.

    Example:
        >>> ax = plot_calibration([0.25, 0.5, 0.75], [0.2, 0.5, 0.8], [0.1, 0.3, 0.5], [0.4, 0.7, 0.9])
        >>> ax.get_xlabel()
        'nominal level of the interval'
    """
    nominal = np.atleast_1d(check_tau(nominal))
    observed, lower, upper = (
        check_column(values, name, len(nominal))
        for values, name in ((observed, "observed"), (lower, "lower"), (upper, "upper"))
    )
    outside = (observed < lower) | (observed > upper)
    ax = axes_for(ax)
    x, label = np.r_[0, nominal, 1], "95% band if calibrated"  # at 0 and 1 coverage is certain
    ax.fill_between(x, np.r_[0, lower, 1], np.r_[0, upper, 1], color=INK, alpha=0.12, linewidth=0, label=label)
    ax.plot([0, 1], [0, 1], color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    ax.plot(x, np.r_[0, observed, 1], color=BLUE, linewidth=1.4)
    if outside.any():
        ax.scatter(nominal[outside], observed[outside], s=12, color=ORANGE, linewidths=0, zorder=3, label="outside")
    ax.set(xlim=(0, 1), ylim=(0, 1))
    label_axes(ax, "nominal level of the interval", "share of rows held")
    place_legend(ax)
    return ax
