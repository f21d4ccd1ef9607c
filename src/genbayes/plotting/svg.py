"""A figure as SVG text that can stand inside an HTML page: small, self-contained, following the page's colours.

Matplotlib writes a stand-alone document. Inside a page its prolog, metadata and namespaces are not needed, its
style sheet would leak, its identifiers would clash with those of the next figure, and text set in the page's
own font is smaller, sharper and can be selected.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING

from genbayes.plotting.style import PALETTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["default_settings", "to_svg"]

POINTS_TO_PIXELS = 96 / 72
NO_METADATA = {"Creator": None, "Date": None, "Format": None, "Type": None}

NOT_NEEDED = re.compile(r"<metadata>.*?</metadata>|<style.*?</style>", re.DOTALL)
TAG = re.compile(r"<[^>]+>")
REFERENCE = re.compile(r'(?:url\(|xlink:href=")#([^)"]+)')
IDENTIFIER = re.compile(r' id="([^"]+)"')
FONT_FAMILY = re.compile(r"font-family: [^;\"]*;? ?|(?<=font: )[^;\"]*?(?=\d)|(?<=px) '[^;\"]*")
COORDINATES = re.compile(r' (?:d|x|y)="[^"]*"')
LONG_FRACTION = re.compile(r"(\.\d\d)\d+")


@contextmanager
def default_settings() -> Iterator[None]:
    """Draw with Matplotlib's own defaults, whatever the user's configuration file says (TeX, dark styles)."""
    import matplotlib.style

    with matplotlib.style.context("default"):
        yield


def to_svg(figure: Figure, name: str, description: str) -> str:
    """An `<svg>` element for an HTML page; the same figure gives the same text.

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
