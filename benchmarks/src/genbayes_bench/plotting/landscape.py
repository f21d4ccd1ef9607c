"""Every method on every problem in one picture: scores over that of a reference, one row a problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from genbayes.plotting.style import FONT_SIZE, INK, RULE, axes_for
from genbayes_bench.plotting.panels import LOOKS
from genbayes_bench.plotting.standing import FARTHEST, mark_rows, round_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_landscape"]

APART = 0.11  # rows between the markers of one method and the next


def plot_landscape(
    problems: Sequence[str],
    ratio: Mapping[str, Mapping[str, float]],
    looks: Mapping[str, int],
    *,
    ax: Axes | None = None,
    xlabel: str = "score over that of the strongest baseline",
) -> Axes:
    """One marker a method and problem on a logarithmic axis; left of 1 is better than the reference.

    Args:
        problems: Rows, the first at the top.
        ratio: Score over that of the reference, by method and then by problem; what is absent is not drawn.
        looks: Number in `LOOKS` of each method.
        ax: Axis to draw on; None for a new figure.
        xlabel: Name of the horizontal axis.

    Returns:
        The axis; its legend is left to the caller.

    Example:
        >>> ax = plot_landscape(["a", "b"], {"gp": {"a": 1.0, "b": 1.3}}, {"gp": 2})
        >>> [label.get_text() for label in ax.get_yticklabels()]
        ['a', 'b']
    """
    ax = axes_for(ax)
    ax.set_xscale("log")
    ax.axvline(1.0, color=INK, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    ax.hlines(np.arange(len(problems)), 1 / FARTHEST, FARTHEST, color=RULE, linewidth=0.6, zorder=0)
    shown = [1.0]
    for place, (method, by_problem) in enumerate(ratio.items()):
        shift = APART * (place - (len(ratio) - 1) / 2)  # so that equal scores do not hide one another
        look = LOOKS[looks[method] % len(LOOKS)]
        rows = [i for i, problem in enumerate(problems) if problem in by_problem]
        values = [float(np.clip(by_problem[problems[i]], 1 / FARTHEST, FARTHEST)) for i in rows]
        height = np.asarray(rows, dtype=np.float64) + shift
        ax.scatter(values, height, s=26, color=look.colour, marker=look.marker, linewidths=0, label=method, zorder=3)
        shown += values
    mark_rows(ax, problems)
    round_ticks(ax, shown)
    ax.set_xlabel(xlabel, fontsize=FONT_SIZE, color=INK)
    return ax
