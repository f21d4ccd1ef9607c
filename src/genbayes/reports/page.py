"""A tiny builder of self-contained HTML pages: no scripts, nothing fetched from elsewhere.

Text is escaped unless it already is `Html`, so nothing that a user can name (columns, files, categories) can
break a page or put code into it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from genbayes.plotting import to_svg
from genbayes.reports.stylesheet import STYLESHEET

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Html",
    "Tile",
    "bullets",
    "card",
    "columns",
    "contents",
    "drawing",
    "figure",
    "grid",
    "join",
    "page",
    "paragraph",
    "strong",
    "table",
    "tiles",
]


class Html(str):
    """Text that is markup already; everything else is escaped before it enters a page."""

    __slots__ = ()


@dataclass(frozen=True)
class Tile:
    """One number with its name and what to make of it.

    Attributes:
        label: What is measured.
        value: The number, formatted.
        hint: A few words on how to judge it.
        attention: Whether to colour the number.
    """

    label: str
    value: str
    hint: str
    attention: bool = False


def join(*parts: str) -> Html:
    """Parts one after another, text escaped and markup kept.

    Example:
        >>> join("1 < 2 ", Html("<b>yes</b>"))
        '1 &lt; 2 <b>yes</b>'
    """
    return Html("".join(part if isinstance(part, Html) else escape(part) for part in parts))


def strong(text: str) -> Html:
    """Text that stands out.

    Example:
        >>> strong("<x>")
        '<strong>&lt;x&gt;</strong>'
    """
    return join(Html("<strong>"), text, Html("</strong>"))


def paragraph(*parts: str, kind: str = "") -> Html:
    """A paragraph of a class of the style sheet."""
    return join(Html(f'<p class="{escape(kind)}">'), *parts, Html("</p>\n"))


def bullets(items: Iterable[str], kind: str) -> Html:
    """A list of sentences."""
    lines = [join(Html("<li>"), item, Html("</li>\n")) for item in items]
    return join(Html(f'<ul class="{escape(kind)}">\n'), *lines, Html("</ul>\n"))


def tiles(items: Iterable[Tile]) -> Html:
    """A row of numbers, wrapping on narrow screens."""
    parts = [Html('<dl class="tiles">\n')]
    for item in items:
        parts.append(Html(f'<div class="tile{" attention" if item.attention else ""}">'))
        parts.append(join(Html("<dt>"), item.label, Html('</dt><dd class="value">'), item.value))
        parts.append(join(Html('</dd><dd class="hint">'), item.hint, Html("</dd></div>\n")))
    return join(*parts, Html("</dl>\n"))


def card(title: str, *blocks: Html) -> Html:
    """A titled box that `contents` can lead to."""
    beginning = Html(f'<section class="card" id="{_anchor(title)}"><h2>')
    return join(beginning, title, Html("</h2>\n"), *blocks, Html("</section>\n"))


def contents(titles: Mapping[str, str]) -> Html:
    """Links to boxes of the same page: their titles, each with what the link says.

    Example:
        >>> contents({"BGP, d = 2: 1,600 runs": "BGP"}).count('<a href="#bgp-d-2-1-600-runs">BGP</a>')
        1
    """
    links = [join(Html(f'<a href="#{_anchor(title)}">'), said, Html("</a>\n")) for title, said in titles.items()]
    return join(Html('<nav class="contents">\n'), *links, Html("</nav>\n"))


def _anchor(title: str) -> str:
    """A title as the name of a place in a page."""
    return "-".join(re.findall(r"\w+", title.lower()))


def figure(title: str, drawings: Sequence[Html], *caption: str) -> Html:
    """A titled box with one or more drawings and how to read them below."""
    shown = join(Html('<div class="panels">\n'), *drawings, Html("</div>\n")) if len(drawings) > 1 else drawings[0]
    below = join(Html("<figcaption><b>How to read this.</b> "), *caption, Html("</figcaption>"))
    return card(title, join(Html("<figure>"), shown, below, Html("</figure>\n")))


def drawing(ax: Axes, name: str, description: str) -> Html:
    """What is drawn on an axis; `name` must be unique within the page, the description is for who cannot see it."""
    figure = ax.get_figure(root=True)
    assert figure is not None  # new axes have one
    return Html(to_svg(figure, name, description))


def columns(*cards: Html) -> Html:
    """Boxes side by side where the screen is wide enough."""
    return join(Html('<div class="columns">\n'), *cards, Html("</div>\n"))


def table(rows: Iterable[tuple[str, str]]) -> Html:
    """Two columns: name and value."""
    lines = [
        join(Html('<tr><th scope="row">'), name, Html("</th><td>"), value, Html("</td></tr>\n")) for name, value in rows
    ]
    return join(Html("<table>\n"), *lines, Html("</table>\n"))


def grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Html:
    """Several columns under their names; the first names the row, the last one may wrap.

    Example:
        >>> "<td>2</td>" in grid(["a", "b"], [("1", "2")])
        True
    """
    names = [join(Html('<th scope="col">'), name, Html("</th>")) for name in head]
    lines = [join(Html("<tr>"), *names, Html("</tr>\n"))]
    for first, *others in rows:
        cells = [join(Html("<td>"), cell, Html("</td>")) for cell in others]
        lines.append(join(Html('<tr><th scope="row">'), first, Html("</th>"), *cells, Html("</tr>\n")))
    return join(Html('<table class="grid">\n'), *lines, Html("</table>\n"))


def page(title: str, subtitle: str, blocks: Iterable[Html], footer: str = "") -> str:
    """A whole HTML document.

    Example:
        >>> page("<b>", "", [])[:15], "<title>&lt;b&gt;</title>" in page("<b>", "", [])
        ('<!doctype html>', True)
    """
    return join(
        Html('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>'),
        title,
        Html(f"</title>\n<style>{STYLESHEET}</style>\n</head>\n<body>\n<main>\n<h1>"),
        title,
        Html("</h1>\n"),
        paragraph(subtitle, kind="subtitle"),
        *blocks,
        join(Html("<footer>"), footer, Html("</footer>\n")),
        Html("</main>\n</body>\n</html>\n"),
    )
