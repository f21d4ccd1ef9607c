"""Scores of several models side by side, with their standard errors: which is best, and is it by luck?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genbayes.plotting.style import BLUE, INK, ORANGE, axes_for, label_axes, shorten
from genbayes.validation import check_column

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_scores"]

LONGEST_NAME = 44
FAR = 2.5  # times the best score: what is worse is drawn at the edge, lest it squeeze the others


def plot_scores(
    names: Sequence[str],
    mean: ArrayLike,
    standard_error: ArrayLike,
    chosen: Sequence[bool],
    *,
    ax: Axes | None = None,
    xlabel: str = "CRPS on unseen rows",
) -> Axes:
    """A dot and a line of one standard error for each model, the first at the top, the chosen ones orange.

    Args:
        names: What the models are called.
        mean: Mean scores, less is better, shape (k,).
        standard_error: Their standard errors, shape (k,).
        chosen: Which models were chosen.
        ax: Axis to draw on; None for a new figure.
        xlabel: What is scored.

    Returns:
        The axis.

    Example:
        >>> ax = plot_scores(["GP", "network"], [1.0, 1.2], [0.1, 0.1], [True, False])
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['GP', 'network']
    """
    mean, error = check_column(mean, "mean", len(names)), check_column(standard_error, "standard_error", len(names))
    ax = axes_for(ax)
    edge = FAR * float(mean.min())
    for i in range(len(names)):
        colour = ORANGE if chosen[i] else BLUE
        shown = min(float(mean[i]), edge)
        ax.errorbar(shown, i, xerr=float(error[i]), fmt="o", color=colour, markersize=5, linewidth=1.4)
        if mean[i] > edge:
            ax.annotate(f"{mean[i]:.3g}", (edge, i), xytext=(0, 5), textcoords="offset points", ha="center", fontsize=7)
    ax.axvline(float(mean.min()), color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    ax.set_yticks(np.arange(len(names)), [shorten(name, LONGEST_NAME) for name in names])
    ax.set_ylim(len(names) - 0.5, -0.5)
    label_axes(ax, xlabel, "")
    return ax
