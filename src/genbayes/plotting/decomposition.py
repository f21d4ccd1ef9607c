"""Where a CRPS comes from, as steps: uncertainty, less discrimination, plus miscalibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from genbayes.plotting.style import BLUE, INK, MUTED, ORANGE, axes_for, label_axes, place_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_decomposition"]

NAMES = ["uncertainty", "− discrimination", "+ miscalibration", "= CRPS"]


def plot_decomposition(
    miscalibration: float,
    discrimination: float,
    uncertainty: float,
    by_luck: float = 0.0,
    *,
    ax: Axes | None = None,
    xlabel: str = "unit of y",
) -> Axes:
    """Steps from the uncertainty of y to the mean CRPS, one bar a part.

    Args:
        miscalibration: MCB.
        discrimination: DSC.
        uncertainty: UNC; the CRPS is MCB - DSC + UNC.
        by_luck: Miscalibration of a calibrated forecast with as many rows, marked on the bar of MCB; 0 for no mark.
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
    if by_luck > 0:
        mark = recalibrated + by_luck
        ax.plot([mark, mark], [0.6, 1.4], color=INK, linewidth=1.6, label="as much by luck")
        place_legend(ax)
    ax.set_yticks(places, NAMES)
    ax.set_ylim(-0.6, 3.6)
    ax.set_xlim(0, 1.06 * max(uncertainty, recalibrated + max(miscalibration, by_luck)) or 1.0)
    ax.grid(axis="y", visible=False)
    ax.tick_params(axis="y", length=0)
    label_axes(ax, xlabel, "")
    return ax
