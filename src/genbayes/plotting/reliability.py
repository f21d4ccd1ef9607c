"""Reliability of quantiles: how many observations fall below each, more or fewer than its level says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genbayes.plotting.style import BLUE, INK, ORANGE, axes_for, label_axes, place_legend
from genbayes.validation import check_column, check_tau

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_reliability"]

ROOM = 1.15  # the axis ends this much beyond band and curve


def plot_reliability(
    tau: ArrayLike, share: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, ax: Axes | None = None
) -> Axes:
    """Share of observations below each quantile minus its level, with the band of luck; zero is right.

    The difference, not the share itself, so that the band stays visible with thousands of rows (Saeilynoja, Buerkner
    and Vehtari 2022). Above zero quantiles are too high, below it too low; levels outside the band are orange.

    Args:
        tau: Levels strictly between 0 and 1, increasing, shape (m,).
        share: Share of observations below each quantile, shape (m,).
        lower: Lower end of the band of the share, shape (m,).
        upper: Upper end of the band of the share, shape (m,).
        ax: Axis to draw on; None for a new figure.

    Returns:
        The axis.

    Example:
        >>> ax = plot_reliability([0.25, 0.5, 0.75], [0.2, 0.5, 0.8], [0.1, 0.3, 0.5], [0.4, 0.7, 0.9])
        >>> ax.lines[1].get_ydata().round(2).tolist()
        [0.0, -0.05, 0.0, 0.05, 0.0]
    """
    tau = np.atleast_1d(check_tau(tau))
    share, lower, upper = (
        check_column(values, name, len(tau)) for values, name in ((share, "share"), (lower, "lower"), (upper, "upper"))
    )
    outside = (share < lower) | (share > upper)
    x = np.r_[0, tau, 1]
    excess, below, above = (np.r_[0, values - tau, 0] for values in (share, lower, upper))
    ax = axes_for(ax)
    ax.fill_between(x, below, above, color=INK, alpha=0.12, linewidth=0, label="95% band if calibrated")
    ax.axhline(0, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    ax.plot(x, excess, color=BLUE, linewidth=1.4)
    if outside.any():
        ax.scatter(tau[outside], (share - tau)[outside], s=12, color=ORANGE, linewidths=0, zorder=3, label="outside")
    reach = ROOM * max(float(np.abs(part).max()) for part in (excess, below, above))
    ax.set(xlim=(0, 1), ylim=(-reach, reach))
    label_axes(ax, "level of the quantile", "share of rows below − level")
    place_legend(ax)
    return ax
