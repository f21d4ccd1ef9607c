"""Table: cells under their names, shown as HTML or Markdown, and how values become cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from genbayes.report.page import format_number, format_share, format_with_error
from genbayes_bench.labels import problem_title, standin_of
from genbayes_bench.paper_values import Published
from genbayes_bench.summary import Contest, Difference, Estimate

__all__ = [
    "MARK",
    "NONE",
    "Bold",
    "Table",
    "as_printed",
    "contest_title",
    "difference_text",
    "estimate_text",
    "relative_text",
    "to_markdown",
]

NONE = "–"
MARK = "†"  # a stand-in
SHARES = ("coverage", "coverage_f")


class Bold(str):
    """A cell that stands out."""

    __slots__ = ()


@dataclass(frozen=True)
class Table:
    """Cells under their names, with a title above and notes below."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()


def contest_title(contest: Contest) -> str:
    """A problem with the mark of a stand-in."""
    return problem_title(contest.problem) + (f" {MARK}" if standin_of(contest.problem) else "")


def to_markdown(table: Table, level: int = 3) -> str:
    r"""A table as Markdown, notes below it.

    Example:
        >>> print(to_markdown(Table("T", ["a", "b"], [["x|y", Bold("2")]], ["Note."])))
        ### T
        <BLANKLINE>
        | a | b |
        |---|---|
        | x\|y | **2** |
        <BLANKLINE>
        Note.
    """
    lines = [f"{'#' * level} {table.title}", "", _markdown_row(table.head), "|" + "---|" * len(table.head)]
    lines += [_markdown_row(row) for row in table.rows]
    for note in table.notes:
        lines += ["", note]
    return "\n".join(lines)


def estimate_text(found: Estimate | None, metric: str = "") -> str:
    r"""Mean and standard error, shares in percent.

    Example:
        >>> estimate_text(Estimate(0.9, None, 1), "coverage"), estimate_text(Estimate(1.2, 0.03, 5))
        ('90%', '1.200\xa0±\xa00.030')
    """
    if found is None:
        return NONE
    if metric in SHARES:
        return format_share(found.mean)
    return format_number(found.mean) if found.se is None else format_with_error(found.mean, found.se)


def as_printed(value: Published | None) -> str:
    """Mean and standard error of somebody else, with the digits of the source."""
    if value is None:
        return NONE
    if value.metric in SHARES:
        return format_share(value.mean)
    digits = max(len(repr(each).partition(".")[2]) for each in (value.mean, value.se or value.mean))
    error = "" if value.se is None else f"\u00a0±\u00a0{value.se:.{digits}f}"
    return f"{value.mean:,.{digits}f}{error}"


def difference_text(difference: Difference) -> str:
    r"""A verdict with its numbers.

    Example:
        >>> difference_text(Difference(-0.03, 0.01, 5, -0.02, 4, "win"))
        'win, −2.0\xa0±\xa00.7%'
    """
    return f"{difference.verdict}, {relative_text(difference)}"


def relative_text(difference: Difference) -> str:
    r"""A difference in percent of the rival's score, with its standard error.

    Example:
        >>> relative_text(Difference(-0.03, None, 1, -0.02, 1, "tie"))
        '−2.0%'
    """
    error = "" if difference.relative_se is None else f"\u00a0±\u00a0{100 * difference.relative_se:.1f}"
    percent = round(100 * difference.relative, 1) + 0.0  # what rounds to zero has no sign
    return f"{percent:+.1f}{error}%".replace("-", "−")


def _markdown_row(cells: Sequence[str]) -> str:
    plain = [str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells]
    bold = [f"**{text}**" if isinstance(cell, Bold) else text for text, cell in zip(plain, cells, strict=True)]
    return f"| {' | '.join(bold)} |"
