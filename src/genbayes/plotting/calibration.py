"""Calibration seen: PIT histogram, reliability of quantiles, coverage of intervals, parts of the CRPS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genbayes.errors import InvalidInput
from genbayes.plotting.style import BLUE, INK, MUTED, N_TICKS, ORANGE, axes_for, label_axes, place_legend
from genbayes.validation import check_array, check_column, check_tau

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = ["uncertainty", "− discrimination", "+ miscalibration", "= CRPS"]
ROOM = 1.15  # the axis ends this much beyond band and curve


def plot_pit(counts: ArrayLike, band: tuple[float, float] | None = None, *, ax: Axes | None = None) -> Axes:
    """Histogram of PIT values with the range of a calibrated model; bars outside are orange.

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
        raise InvalidInput(f"counts must be zero or positive, one per bin, got {got}")
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


def plot_reliability(
    tau: ArrayLike, share: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, ax: Axes | None = None
) -> Axes:
    """Share of observations below each quantile minus its level, with the band of a calibrated model; zero is right.

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


def plot_calibration(
    nominal: ArrayLike, observed: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, ax: Axes | None = None
) -> Axes:
    """Observed coverage of central intervals over their nominal level, with the band of a calibrated model.

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


def plot_decomposition(
    miscalibration: float,
    discrimination: float,
    uncertainty: float,
    by_chance: float = 0.0,
    *,
    ax: Axes | None = None,
    xlabel: str = "unit of y",
) -> Axes:
    """Steps from the uncertainty of y to the mean CRPS, one bar a part.

    Args:
        miscalibration: MCB.
        discrimination: DSC.
        uncertainty: UNC; the CRPS is MCB - DSC + UNC.
        by_chance: Miscalibration of a calibrated forecast with as many rows, marked on the bar of MCB; 0 for no mark.
        ax: Axis to draw on; None for a new figure.
        xlabel: Text at the horizontal axis.

    Returns:
        The axis.

    Example:
        >>> [round(float(bar.get_width()), 2) for bar in plot_decomposition(0.1, 0.6, 1.0).patches]
        [1.0, 0.6, 0.1, 0.5]
    """
    recalibrated = uncertainty - discrimination
    starts = [0.0, recalibrated, recalibrated, 0.0]
    widths = [uncertainty, discrimination, miscalibration, recalibrated + miscalibration]
    ax = axes_for(ax)
    places = [3, 2, 1, 0]
    ax.barh(places, widths, left=starts, height=0.62, color=[MUTED, BLUE, ORANGE, INK], alpha=0.65, linewidth=0)
    ax.vlines(recalibrated, 0.69, 2.31, color=INK, linewidth=0.7, linestyle=(0, (2, 2)))  # where two bars meet
    if by_chance > 0:
        mark = recalibrated + by_chance
        ax.plot([mark, mark], [0.6, 1.4], color=INK, linewidth=1.6, label="expected by chance")
        place_legend(ax)
    ax.set_yticks(places, NAMES)
    ax.set_ylim(-0.6, 3.6)
    ax.set_xlim(0, 1.06 * max(uncertainty, recalibrated + max(miscalibration, by_chance)) or 1.0)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)
    label_axes(ax, xlabel, "")
    return ax
