"""The report as one self-contained HTML page: a verdict, the tables and the figures behind it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from genbayes.plotting.style import default_settings, to_svg
from genbayes.report.page import Html, Tile, bullets, card, contents, figure, grid, join, page, paragraph, strong, tiles
from genbayes.writing import check_writable, write_atomically
from genbayes_bench.report.build import ABOUT, DIFFERENCES, Report
from genbayes_bench.report.figures import Picture
from genbayes_bench.report.labels import OURS, method_title
from genbayes_bench.report.tables import MARK, Bold, Table
from genbayes_bench.report.verdicts import count_verdicts

TITLE = "Benchmarks of genbayes"
SUBTITLE = (
    "Every benchmark of Polson and Sokolov, Generative Bayesian Computation (2026), and some from elsewhere: the "
    "paper's numbers, ours and the strongest baseline's on identical splits, wins and losses alike."
)


def write_page(report: Report, path: str | os.PathLike[str]) -> Path:
    """Write the page, whole or not at all.

    Args:
        report: What to tell.
        path: The file to write or replace.

    Returns:
        The file.
    """
    path = check_writable(path)
    with default_settings():
        standing = [_picture(picture) for picture in report.standing]
        figures = [_picture(picture) for picture in report.figures]
    blocks = [
        paragraph(report.headline, kind="verdict"),
        bullets(report.notes, kind="notes"),
        contents(_titles(report)),
        tiles(_tiles(report)),
        *(_table(table) for table in report.overview),
        *standing,
        *_sentences(DIFFERENCES, report.differences),
        *_sentences(ABOUT, report.about),
        *figures,
        *(_table(table) for table in report.problems),
    ]
    footer = f"Written by genbayes on {datetime.now(UTC):%d %B %Y} from records; nothing was trained for it."
    return write_atomically(path, page(TITLE, SUBTITLE, blocks, footer).encode())


def _titles(report: Report) -> dict[str, str]:
    """What the page holds, in its order, with a short name of each."""
    found = [table.title for table in report.overview] + [picture.title for picture in report.standing]
    found += [*([DIFFERENCES] if report.differences else []), ABOUT, *(picture.title for picture in report.figures)]
    tables = {table.title: table.title.partition(":")[0].removesuffix(f" {MARK}") for table in report.problems}
    return {title: title for title in found} | tables


def _tiles(report: Report) -> list[Tile]:
    found = []
    for method in OURS:
        counts = count_verdicts(report.lines, method)
        if sum(counts.values()):
            value = f"{counts['win']} · {counts['tie']} · {counts['loss']}"
            found.append(Tile(method_title(method), value, "wins · ties · losses against the strongest baseline"))
    return found


def _table(table: Table) -> Html:
    rows = [[_cell(cell) for cell in row] for row in table.rows]
    notes = [join(Html("<figcaption>"), note, Html("</figcaption>\n")) for note in table.notes]
    return card(table.title, grid(table.head, rows), *notes)


def _cell(cell: str) -> str:
    return strong(str(cell)) if isinstance(cell, Bold) else cell


def _picture(picture: Picture) -> Html:
    if picture.figure is None:
        return card(picture.title, paragraph(picture.missing))
    drawing = Html(to_svg(picture.figure, picture.name, picture.title))
    return figure(picture.title, [drawing], picture.caption)


def _sentences(title: str, sentences: Sequence[str]) -> list[Html]:
    return [card(title, bullets(sentences, kind="remarks"))] if sentences else []
