"""Comma- and tab-separated text to a frame whose index is the line of the file on which each row stands.

pandas parses; this module refuses what pandas would quietly mend (repeated or missing names, too many values on a
line), so that every later message can name a line. Which file, and what it is for, is left to `tables`.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

from genbayes.errors import InvalidInput, UnreadableFile

if TYPE_CHECKING:
    import pandas as pd


def parse_delimited(content: bytes, name: str, separator: str = ",") -> pd.DataFrame:
    r"""The table in a file's bytes; numbers stay numbers, `NA` and empty cells are missing, all else is text.

    Args:
        content: What the file holds, UTF-8.
        name: Its name, for messages.
        separator: What stands between two values.

    Returns:
        One row a record; the index counts lines as an editor does, the header being line 1.

    Example:
        >>> parse_delimited(b"x,y\n1,2\n\n3,4\n", "runs.csv").index.tolist()
        [2, 4]
    """
    import pandas as pd

    text = _decode(content, name)
    if not text.strip():
        raise InvalidInput(f"table must have a header and rows, got the empty file {name!r}")
    try:
        _check_header(next(_records(text, separator))[1], name, separator)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # else surplus values would be dropped
            frame = pd.read_csv(
                io.StringIO(text),
                sep=separator,
                index_col=False,  # else a surplus first value would become an index
                skipinitialspace=True,
                low_memory=False,  # one kind per column, whatever the length of the file
            )
    except (csv.Error, pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise UnreadableFile(_explain(str(error), name)) from error
    frame.columns = frame.columns.str.strip()
    frame.index = pd.Index(_lines(text, separator, len(frame)), name="line")
    return frame


def _decode(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UnreadableFile(
            f"table must be UTF-8 text, got another encoding on line {line} of {name!r}; save it as CSV UTF-8"
        ) from error


def _check_header(header: list[str], name: str, separator: str) -> None:
    names = [column.strip() for column in header]
    if separator == "," and len(names) == 1 and ";" in names[0]:
        raise InvalidInput(f"columns must be separated by commas, got semicolons in {name!r}; save it with commas")
    if "" in names:
        raise InvalidInput(
            f"columns must have names, got none for column {names.index('') + 1} of {name!r}; "
            "name it, or leave it out if it only counts the rows"
        )
    twice = next((column for i, column in enumerate(names) if column in names[:i]), None)
    if twice is not None:
        raise InvalidInput(f"columns must have different names, got {twice!r} twice in {name!r}; rename one of them")


def _explain(complaint: str, name: str) -> str:
    """Pandas' complaint about the shape of a file in our words."""
    counts = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", complaint)
    if counts:
        expected, line, seen = counts.groups()
        return f"each line must have {expected} values as the header, got {seen} on line {line} of {name!r}; repair it"
    if "EOF inside string" in complaint or "field larger" in complaint:
        return f"each quoted text must end with a quote, got an open one in {name!r}; close it"
    return f"each line must have as many values as the header, got more in {name!r}; name every column"


def _lines(text: str, separator: str, n: int) -> list[int] | range:
    """The line on which each of the n rows begins; blank lines and line breaks within quotes shift them."""
    if text.count("\n") + (not text.endswith("\n")) == n + 1:
        return range(2, n + 2)
    starts = [line for line, _ in _records(text, separator)][1:]
    return starts if len(starts) == n else range(2, n + 2)


def _records(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Records that are not blank, each with the line on which it begins."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    start = 1
    for record in reader:
        if len(record) > 1 or "".join(record).strip():
            yield start, record
        start = reader.line_num + 1
