"""Training curve: did the loss settle, and did the score on held-out rows follow?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genbayes.plotting.style import BLUE, ORANGE, axes_for, label_axes, place_legend
from genbayes.validation import check_array, check_column

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_training"]

STEEP = 20.0  # a curve that falls by this factor is drawn on a logarithmic axis


def plot_training(
    epochs: ArrayLike,
    loss: ArrayLike,
    held_out: tuple[ArrayLike, ArrayLike] | None = None,
    *,
    ax: Axes | None = None,
    ylabel: str = "loss",
) -> Axes:
    """Training loss by epoch, and the score of held-out rows with its best epoch marked.

    Args:
        epochs: Epochs at which the loss was noted, shape (e,).
        loss: The loss there, shape (e,).
        held_out: Epochs and scores of held-out rows, each (h,).
        ax: Axis to draw on; None for a new figure.
        ylabel: Name of the vertical axis.

    Returns:
        The axis.

    Example:
        >>> ax = plot_training([1, 2, 3], [3.0, 2.0, 1.5], held_out=([1, 3], [2.5, 2.4]))
        >>> [line.get_label() for line in ax.lines]
        ['training loss', 'held-out CRPS']
    """
    epochs = check_array(epochs, "epochs", "(n,)")
    loss = check_column(loss, "loss", len(epochs))
    ax = axes_for(ax)
    ax.plot(epochs, loss, color=BLUE, linewidth=1.3, label="training loss")
    drawn = loss
    if held_out is not None:
        when = check_array(held_out[0], "held_out[0]", "(n,)")
        score = check_column(held_out[1], "held_out[1]", len(when))
        best = int(np.argmin(score))
        ax.plot(when, score, color=ORANGE, linewidth=1.3, label="held-out CRPS")
        ax.scatter(when[best], score[best], s=24, color=ORANGE, linewidths=0, zorder=3, label=f"best: {when[best]:.0f}")
        drawn = np.r_[loss, score]
        place_legend(ax)
    if drawn.min() > 0 and drawn.max() > STEEP * drawn.min():
        ax.set_yscale("log")
    label_axes(ax, "epoch", ylabel)
    return ax
