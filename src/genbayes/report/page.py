"""A tiny builder of self-contained HTML pages: no scripts, nothing fetched from elsewhere; numbers as people read them.

Text is escaped unless it already is `Html`, so nothing that a user can name (columns, files, categories) can
break a page or put code into it.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from genbayes.plotting import to_svg
from genbayes.plotting.style import PALETTE
from genbayes.writing import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
PLAIN = range(-3, 6)  # powers of ten written out
DARK = {"ink": "#e6e9ed", "muted": "#9aa6b2", "rule": "#37424e", "blue": "#56b4e9", "orange": "#f0a132"}
LIGHT_PAPER = "--paper: #f6f7f9; --card: #ffffff;"
DARK_PAPER = "--paper: #14191f; --card: #1c232b;"


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


def write_page(path: str | os.PathLike[str], title: str, subtitle: str, blocks: Iterable[Html]) -> Path:
    """Write a page, whole or not at all; its footer has the day."""
    footer = f"Written by genbayes on {datetime.now(UTC):%d %B %Y}."
    return write_atomically(path, page(title, subtitle, blocks, footer).encode())


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
    kind = "panels four" if len(drawings) == 4 else "panels"  # in threes, the fourth would stand alone
    shown = join(Html(f'<div class="{kind}">\n'), *drawings, Html("</div>\n")) if len(drawings) > 1 else drawings[0]
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


def format_number(value: float, digits: int = 4) -> str:
    r"""A number with at most `digits` significant digits, with a power of ten where it is huge or tiny, on one line.

    Example:
        >>> format_number(1234.5678), format_number(1.5e-12), format_number(0.0)
        ('1,235', '1.5\u202f×\u202f10⁻¹²', '0')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    power = _power(value)
    if power in PLAIN:
        decimals = max(0, digits - 1 - power)
        text = f"{value:,.{decimals}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    return f"{float(mantissa):g}{_times(int(exponent))}"


def format_with_error(value: float, error: float) -> str:
    r"""A number with its standard error, rounded where the error has two digits.

    Example:
        >>> format_with_error(1.23456, 0.0456), format_with_error(2.5e-12, 1e-13)
        ('1.235\xa0±\xa00.046', '(2.50\xa0±\xa00.10)\u202f×\u202f10⁻¹²')
    """
    if error <= 0 or not math.isfinite(error):
        return f"{format_number(value)} ± {format_number(error)}"
    power = _power(max(abs(value), error))
    shift = 0 if power in PLAIN else power
    decimals = max(0, 1 - (_power(error) - shift))
    text = f"{value / 10.0**shift:,.{decimals}f}\u00a0±\u00a0{error / 10.0**shift:,.{decimals}f}"
    return f"({text}){_times(shift)}" if shift else text


def format_share(share: float) -> str:
    """A share in percent.

    Example:
        >>> format_share(0.895), format_share(1.0), format_share(0.0004)
        ('89.5%', '100%', '0.04%')
    """
    return f"{100 * share:.3g}%"


def _power(value: float) -> int:
    return math.floor(math.log10(abs(value)))


def _times(power: int) -> str:
    return f"\u202f×\u202f10{str(power).translate(SUPERSCRIPT)}"


def variables(colours: dict[str, str]) -> str:
    """Colours as CSS variables."""
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


STYLESHEET = f"""
:root {{ color-scheme: light dark; {variables(PALETTE)} {LIGHT_PAPER} }}
@media (prefers-color-scheme: dark) {{ :root {{ {variables(DARK)} {DARK_PAPER} }} }}
""" + """
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); overflow-wrap: anywhere;
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1140px; margin: 0 auto; padding: 40px 20px 28px; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 4px; letter-spacing: -0.01em; }
h2 { font-size: 1.05rem; line-height: 1.3; margin: 0 0 10px; }
.subtitle { color: var(--muted); margin: 0 0 22px; }
.verdict { font-size: 1.1rem; line-height: 1.6; max-width: 62em; margin: 0 0 22px; padding-left: 16px;
  border-left: 4px solid var(--blue); }
.verdict.attention { border-color: var(--orange); }
.notes { margin: -6px 0 22px; padding-left: 20px; color: var(--muted); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(165px, 1fr)); gap: 12px; margin: 0 0 16px; }
.tile, .card { background: var(--card); border: 1px solid var(--rule); border-radius: 8px; }
.tile { padding: 12px 14px; }
.tile dt { color: var(--muted); font-size: 0.82rem; }
.tile dd { margin: 0; }
.tile .value { font-size: 1.25rem; font-weight: 600; line-height: 1.35; font-variant-numeric: tabular-nums; }
.tile .hint { color: var(--muted); font-size: 0.8rem; line-height: 1.35; }
.tile.attention .value { color: var(--orange); }
.card { margin: 0 0 16px; padding: 18px 20px; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(330px, 1fr)); gap: 16px; margin: 0 0 16px; }
.columns .card { margin: 0; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(270px, 1fr)); gap: 8px 12px;
  justify-items: center; align-items: start; }
.panels.four { grid-template-columns: repeat(auto-fit, minmax(220px, 1fr)); }
figure { margin: 0; }
figcaption { color: var(--muted); font-size: 0.88rem; line-height: 1.5; margin-top: 10px; max-width: 62em; }
figcaption b { color: var(--ink); font-weight: 600; }
svg { display: block; width: 100%; height: auto; margin: 0 auto; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
svg text { fill: var(--ink); font-family: system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; }
th, td { text-align: left; vertical-align: top; padding: 6px 12px 6px 0; border-bottom: 1px solid var(--rule); }
tr:last-child > * { border-bottom: 0; }
th { font-weight: 500; color: var(--muted); width: 34%; }
.grid { font-size: 0.82rem; }
.grid th, .grid td { width: auto; overflow-wrap: normal; padding-right: 8px; }
.grid td:last-child { color: var(--muted); }
.contents { display: flex; flex-wrap: wrap; gap: 4px 14px; margin: 0 0 22px; font-size: 0.88rem; }
.contents a { color: var(--blue); text-decoration: none; }
.contents a:hover { text-decoration: underline; }
.card:has(.grid) { overflow-x: auto; }
footer { color: var(--muted); font-size: 0.82rem; margin-top: 20px; }
@media (max-width: 640px) {
  main { padding: 22px 12px; } .card { padding: 14px 12px; } .columns { grid-template-columns: 1fr; }
}
@media print {
  :root { color-scheme: light; PRINT_COLOURS }
  body { background: none; } main { max-width: none; padding: 0; }
  html { font-size: 12px; }
  .panels, .columns { grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); }
  .card, .tile { break-inside: avoid; padding: 10px 12px; }
  .card:has(.grid) { overflow: visible; break-inside: auto; }
  .grid { font-size: 0.72rem; } .grid tr { break-inside: avoid; }
  .contents { display: none; }
}
""".replace("PRINT_COLOURS", f"{variables(PALETTE)} {LIGHT_PAPER}")
