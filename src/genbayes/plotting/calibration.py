"""Calibration curve: how often central intervals hold the truth, over the level they promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.plotting.style import BLUE, INK, ORANGE, axes_for, label_axes, place_legend
from genbayes.validation import check_array, check_column, check_count, check_tau

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["calibration_band", "plot_calibration"]

BAND_LEVEL = 0.95


def calibration_band(nominal: ArrayLike, n: int) -> tuple[FloatArray, FloatArray]:
    """Simultaneous 95% band of observed coverage at j nominal levels when the model is calibrated.

    The count held at level l is Binomial(n, l); Bonferroni's inequality shares the 5% among the j levels, so a
    calibrated model leaves the band anywhere with at most 5% chance. Close to 0 and 1, where it matters, this
    is narrower than the Dvoretzky-Kiefer-Wolfowitz band.

    Args:
        nominal: Levels strictly between 0 and 1, shape (j,).
        n: Number of observations.

    Returns:
        Lower and upper coverage, each (j,).

    Example:
        >>> [float(end[0]) for end in calibration_band([0.9], 100)]
        [0.84, 0.95]
    """
    from scipy.stats import binom  # slow to import

    nominal = np.atleast_1d(check_tau(nominal))
    n = check_count(n, "n")
    tail = (1 - BAND_LEVEL) / (2 * len(nominal))
    return binom.ppf(tail, n, nominal) / n, binom.ppf(1 - tail, n, nominal) / n


def plot_calibration(nominal: ArrayLike, observed: ArrayLike, n: int, *, ax: Axes | None = None) -> Axes:
    """Observed coverage of central intervals over their nominal level, with a simultaneous 95% band.

    Below the diagonal intervals are too narrow (overconfident), above it too wide. Points outside the band
    of `calibration_band` are orange.

    Args:
        nominal: Levels strictly between 0 and 1, increasing, shape (j,).
        observed: Share of observations held at each level, shape (j,).
        n: Number of observations.
        ax: Axis to draw on; None for a new figure.

    Returns:
        The axis.

    Example:
        >>> ax = plot_calibration([0.25, 0.5, 0.75], [0.2, 0.5, 0.8], 40)
        >>> ax.get_xlabel()
        'nominal level of the interval'
    """
    nominal = check_array(nominal, "nominal", "(n,)")
    observed = check_column(observed, "observed", len(nominal))
    lower, upper = calibration_band(nominal, n)
    outside = (observed < lower) | (observed > upper)
    ax = axes_for(ax)
    ax.fill_between(  # at 0 and 1 coverage is certain
        np.r_[0, nominal, 1],
        np.r_[0, lower, 1],
        np.r_[0, upper, 1],
        color=INK,
        alpha=0.12,
        linewidth=0,
        label="95% band if calibrated",
    )
    ax.plot([0, 1], [0, 1], color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    ax.plot(np.r_[0, nominal, 1], np.r_[0, observed, 1], color=BLUE, linewidth=1.4)
    ax.scatter(nominal[~outside], observed[~outside], s=14, color=BLUE, linewidths=0, zorder=3)
    if outside.any():
        ax.scatter(nominal[outside], observed[outside], s=18, color=ORANGE, linewidths=0, zorder=3, label="outside")
    ax.set(xlim=(0, 1), ylim=(0, 1))
    label_axes(ax, "nominal level of the interval", "share of rows held")
    place_legend(ax)
    return ax
