"""The one look of every picture: palette, axes without ornament, labels that cannot break a figure; figures as SVG.

Colours are those of Okabe and Ito (2008), told apart by people with any common colour blindness. Nothing global
is changed: axes made here are dressed one by one, axes of a caller keep the caller's style.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from genbayes.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
POINTS_TO_PIXELS = 96 / 72
NO_METADATA = {"Creator": None, "Date": None, "Format": None, "Type": None}
NOT_NEEDED = re.compile(r"<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL)
TAG = re.compile(r"<[^>]+>")
REFERENCE = re.compile(r'(?:url\(|xlink:href=")#([^)"]+)')
IDENTIFIER = re.compile(r' id="([^"]+)"')
FONT_FAMILY = re.compile(r"font-family: [^;\"]*;? ?|(?<=font: )[^;\"]*?(?=\d)|(?<=px) '[^;\"]*")
COORDINATES = re.compile(r' (?:d|x|y)="[^"]*"')
LONG_FRACTION = re.compile(r"(\.\d\d)\d+")


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


@contextmanager
def default_settings() -> Iterator[None]:
    """Draw with Matplotlib's own defaults, whatever the user's configuration file says (TeX, dark styles)."""
    import matplotlib.style

    with matplotlib.style.context("default"):
        yield


def to_svg(figure: Figure, name: str, description: str) -> str:
    """An `<svg>` element for an HTML page; the same figure gives the same text.

    Matplotlib writes a stand-alone document. Inside a page its prolog, metadata and namespaces are not needed, its
    style sheet would leak, its identifiers would clash with those of the next figure: these are taken out or renamed.
    The palette's colours become `var(--blue, #0072b2)` and so on, so that a page may restyle them for a dark
    screen. Characters that Matplotlib's font lacks are left to the browser.

    Args:
        figure: What to draw.
        name: A word unique within the page; it prefixes every identifier.
        description: What is seen, for readers who do not see it.

    Returns:
        The element.

    Example:
        >>> from genbayes.plotting.style import new_axes
        >>> to_svg(new_axes().figure, "empty", "an empty axis")[:41]
        '<svg role="img" aria-label="an empty axis'
    """
    import matplotlib

    page = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(page, format="svg", transparent=True, metadata=NO_METADATA)
    text = NOT_NEEDED.sub("", page.getvalue())
    used = set(REFERENCE.findall(text))
    body = TAG.sub(lambda tag: clean_tag(tag.group(), name, used), text[text.index("<svg") :])
    width, height = figure.get_size_inches() * 72
    shape = f'viewBox="0 0 {width:g} {height:g}" style="max-width: {width * POINTS_TO_PIXELS:.0f}px"'
    return f'<svg role="img" aria-label="{escape(description)}" {shape}>' + body[body.index(">") + 1 :]


def clean_tag(tag: str, name: str, used: set[str]) -> str:
    """One tag with identifiers of its own, the page's font and colours, and no digits below a hundredth of a point."""
    tag = IDENTIFIER.sub(lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", tag)
    tag = tag.replace('xlink:href="#', f'href="#{name}-').replace("url(#", f"url(#{name}-")
    tag = FONT_FAMILY.sub("", tag)
    for word, colour in PALETTE.items():
        tag = tag.replace(colour, f"var(--{word}, {colour})")
    return COORDINATES.sub(lambda found: LONG_FRACTION.sub(r"\1", found.group()), tag)
