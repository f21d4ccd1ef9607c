"""Picture: a figure of the report with its words, and what all of them share.

A figure whose records are not there yet says so in one sentence instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from genbayes.plotting.style import FONT_SIZE, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Picture", "look_of", "share_legend"]

LEGEND_COLUMNS = 4
# the order of LOOKS: methods that often meet in one figure are as different as can be
LOOK_ORDER = ("gbc", "auto", "gp", "het-gp", "jump-gp", "gbc-paper", "boosted", "gbc-aug")


@dataclass(frozen=True)
class Picture:
    """A figure with its words.

    Attributes:
        name: File name without its ending, and prefix of its identifiers on the page.
        title: Headline.
        caption: How to read it.
        missing: Why there is no figure, should there be none.
        figure: The figure; None if its records are not there.
    """

    name: str
    title: str
    caption: str
    missing: str
    figure: Figure | None = None

    def drawn_on(self, ax: Axes) -> Picture:
        """The same with the figure that an axis belongs to."""
        figure = ax.get_figure(root=True)
        assert figure is not None
        return replace(self, figure=figure)


def look_of(method: str) -> int:
    """The number of a method's look, the same in every figure.

    Example:
        >>> look_of("gbc"), look_of("auto")
        (0, 1)
    """
    return LOOK_ORDER.index(method) if method in LOOK_ORDER else len(LOOK_ORDER) - 1


def share_legend(axes: Sequence[Axes], columns: int = LEGEND_COLUMNS) -> None:
    """One legend above all panels, naming each series once."""
    labelled: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            labelled.setdefault(label, handle)
    figure = axes[0].get_figure(root=True)
    assert figure is not None
    figure.legend(
        list(labelled.values()),
        list(labelled),
        loc="upper center",
        ncols=min(columns, len(labelled)),
        frameon=False,
        fontsize=FONT_SIZE - 0.5,
        labelcolor=INK,
        handlelength=2.4,
    )
