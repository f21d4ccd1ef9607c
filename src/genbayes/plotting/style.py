"""The one look of every picture: palette, axes without ornament, labels that cannot break a figure.

Colours are those of Okabe and Ito (2008), told apart by people with any common colour blindness. Nothing global
is changed: axes made here are dressed one by one, axes of a caller keep the caller's style.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from genbayes.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "BLUE",
    "INK",
    "MUTED",
    "ORANGE",
    "PALETTE",
    "RULE",
    "axes_for",
    "dress",
    "label_axes",
    "new_axes",
    "place_legend",
    "set_category_ticks",
    "shorten",
    "spans_decades",
]

INK = "#1f2933"
MUTED = "#66727f"
RULE = "#d5dbe1"
BLUE = "#0072b2"  # what the model says
ORANGE = "#d55e00"  # what deserves attention
PALETTE = {"ink": INK, "muted": MUTED, "rule": RULE, "blue": BLUE, "orange": ORANGE}

SIZE = (5.0, 3.3)  # inches; half a page wide, readable on a telephone
FONT_SIZE = 9.0
N_TICKS = 6
LONGEST_LABEL = 36  # characters that fit along the shorter axis
LONGEST_TICK = 12
LEGEND_HANDLE, LEGEND_LETTER = 0.42, 0.072  # inches
WIDE = 100.0  # 95% over 5% quantile beyond which a linear axis hides most points


def axes_for(ax: Axes | None, size: tuple[float, float] = SIZE) -> Axes:
    """The caller's axis as it is, or a dressed one on a new figure."""
    return new_axes(size) if ax is None else ax


def new_axes(size: tuple[float, float] = SIZE) -> Axes:
    """One dressed axis on a new figure that belongs to no window and no global list.

    Example:
        >>> new_axes((4, 3)).figure.get_size_inches()
        array([4., 3.])
    """
    from matplotlib.figure import Figure

    ax = Figure(figsize=size, layout="constrained").add_subplot()
    dress(ax)
    return ax


def dress(ax: Axes) -> None:
    """Two thin spines, few ticks, a faint horizontal grid."""
    from matplotlib.ticker import MaxNLocator, ScalarFormatter

    ax.set_facecolor("none")
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set(color=MUTED, linewidth=0.7)
    ax.tick_params(labelsize=FONT_SIZE, labelcolor=INK, color=MUTED, width=0.7, length=3)
    ax.grid(axis="y", color=RULE, linewidth=0.6)
    ax.set_axisbelow(True)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(N_TICKS, steps=[1, 2, 2.5, 5, 10]))
        formatter = ScalarFormatter()
        formatter.set_powerlimits((-3, 4))
        axis.set_major_formatter(formatter)
        axis.get_offset_text().set(fontsize=FONT_SIZE - 1, color=MUTED)
    ax.yaxis.get_offset_text().set_horizontalalignment("right")  # above the tick labels, beside the legend


def label_axes(ax: Axes, xlabel: str, ylabel: str) -> None:
    """Names of both axes, shortened and taken literally: a dollar sign in a column name is no formula."""
    ax.set_xlabel(shorten(xlabel), parse_math=False, fontsize=FONT_SIZE, color=INK)
    ax.set_ylabel(shorten(ylabel), parse_math=False, fontsize=FONT_SIZE, color=INK)


def place_legend(ax: Axes) -> None:
    """A legend above the axis, where it can cover nothing; in two columns where one row would be too wide."""
    _, labels = ax.get_legend_handles_labels()
    inches = ax.get_window_extent().width / ax.figure.dpi
    needed = sum(LEGEND_HANDLE + LEGEND_LETTER * len(label) for label in labels)
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=len(labels) if needed <= inches else 2,
        frameon=False,
        fontsize=FONT_SIZE,
        labelcolor=INK,
        borderaxespad=0.2,
        handlelength=1.4,
        columnspacing=1.2,
        handletextpad=0.5,
    )


def set_category_ticks(ax: Axes, labels: list[str]) -> None:
    """One tick a category at 0, 1, 2, ...; long labels are shortened and slanted."""
    shown = [shorten(label, LONGEST_TICK) for label in labels]
    slanted = sum(map(len, shown)) + 2 * len(shown) > LONGEST_LABEL
    angle, anchor = (35, "right") if slanted else (0, "center")
    ax.set_xticks(range(len(shown)))
    ax.set_xticklabels(shown, rotation=angle, ha=anchor, rotation_mode="anchor" if slanted else "default")
    for tick in ax.get_xticklabels():
        tick.set_parse_math(False)
    ax.set_xlim(-0.6, len(shown) - 0.4)


def shorten(text: str, longest: int = LONGEST_LABEL) -> str:
    """At most `longest` characters on one line; the middle gives way, as both ends tell columns apart.

    Example:
        >>> shorten("pressure_at_the_inlet_kPa", 15)
        'pressur…let_kPa'
    """
    line = " ".join(text.split())
    if len(line) <= longest:
        return line
    kept = longest - 1
    return line[: (kept + 1) // 2] + "…" + line[len(line) - kept // 2 :]


def spans_decades(values: FloatArray) -> bool:
    """Whether a logarithmic axis serves these values: all positive, 95% quantile over a hundred times the 5% one.

    Example:
        >>> spans_decades(np.geomspace(1e-12, 1e12, 50)), spans_decades(np.linspace(0.001, 1.0, 50))
        (True, False)
    """
    if len(values) < 2 or not (values > 0).all():
        return False
    low, high = np.quantile(values, [0.05, 0.95])
    return bool(high / WIDE > low)
