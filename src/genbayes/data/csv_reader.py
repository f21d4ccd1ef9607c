"""Delimited text to a frame whose index is the line of the file on which each row stands.

Commas, or semicolons or tabs as spreadsheets write them where the decimal sign is a comma. pandas parses; this module
refuses what pandas would quietly mend (repeated or missing names, too many values on a line), so that every later
message can name a line. Which file, and what it is for, is left to `tables`.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from genbayes.errors import InvalidInput, UnreadableFile

if TYPE_CHECKING:
    import pandas as pd


SEPARATOR_LINE = re.compile(r"sep=([;,\t|])\r?\n", re.IGNORECASE)
WITH_COMMA = re.compile(r'(?:^|[;\t])[ "]*[+-]?\d+,\d+(?:[eE][+-]?\d+)?[ "]*(?=[;\t\r]|$)', re.MULTILINE)
WITH_POINT = re.compile(r'(?:^|[;\t])[ "]*[+-]?\d*\.\d+(?:[eE][+-]?\d+)?[ "]*(?=[;\t\r]|$)', re.MULTILINE)


def parse_delimited(
    content: bytes, name: str, separator: str | None = None, text_columns: Collection[str] = ()
) -> pd.DataFrame:
    r"""The table in a file's bytes; numbers stay numbers, `NA` and empty cells are missing, all else is text.

    Args:
        content: What the file holds: UTF-8, or UTF-16 with the mark that spreadsheets begin it with.
        name: Its name, for messages.
        separator: What stands between two values; None to read it off the header: semicolons, tabs or commas. Between
            semicolons and tabs the decimal sign may be a comma, if it is so throughout.
        text_columns: Columns whose cells are text as they stand, 01 for one; a missing cell is missing there, too.

    Returns:
        One row a record; the index counts lines as an editor does, the header being line 1.

    Example:
        >>> parse_delimited(b"x,y\n1,2\n\n3,4\n", "runs.csv").index.tolist()
        [2, 4]
        >>> parse_delimited(b"x;y\n0,5;2\n", "runs.csv").to_dict("list")
        {'x': [0.5], 'y': [2]}
    """
    import pandas as pd

    text = _decode(content, name)
    if not text.strip():
        raise InvalidInput(f"table must have a header and rows, got the empty file {name!r}")
    if (told := SEPARATOR_LINE.match(text)) is not None:  # as Excel writes and reads it; the lines keep their numbers
        separator, text = told[1], "\n" + text[told.end() :]
    try:
        separator = separator or _separator(text)
        header = next(_records(text, separator))[1]
        require_names([column.strip() for column in header], name)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # else surplus values would be dropped
            frame = pd.read_csv(
                io.StringIO(text),
                sep=separator,
                decimal="." if separator == "," else _decimal_sign(text, name),
                dtype={column: str for column in header if column.strip() in text_columns},
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
        return content.decode("utf-16" if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise UnreadableFile(
            f"table must be UTF-8 text, got another encoding on line {line} of {name!r}; save it as CSV UTF-8"
        ) from error


def _separator(text: str) -> str:
    """What stands between the names of the header, and as often in the first row where that is in doubt."""
    by_comma, by_semicolon, by_tab = (_first_widths(text, separator) for separator in ",;\t")
    is_even = len(set(by_semicolon)) == 1
    if by_semicolon[0] > 1 and (by_comma[0] == 1 or is_even):
        return ";"
    return "\t" if by_tab[0] > 1 and by_comma[0] == 1 else ","


def _first_widths(text: str, separator: str) -> list[int]:
    """Values of the header and of the first row, were this the separator; a field without end is one value."""
    try:
        return [len(record) for _, record in islice(_records(text, separator), 2)]
    except csv.Error:
        return [1]


def _decimal_sign(text: str, name: str) -> str:
    comma, point = WITH_COMMA.search(text), WITH_POINT.search(text)
    if comma is not None and point is not None:
        both = " and ".join(repr(found.group().strip(' ;\t"')) for found in (comma, point))
        raise InvalidInput(f"numbers must have one decimal sign, got {both} in {name!r}; write all with a point")
    return "," if comma is not None else "."


def require_names(columns: Sequence[str], name: str) -> None:
    """Refuse columns without a name or of the same name; `name` is that of the file."""
    if "" in columns:
        raise InvalidInput(
            f"columns must have names, got none for column {list(columns).index('') + 1} of {name!r}; "
            "name it, or leave it out if it only counts the rows"
        )
    if len(set(columns)) < len(columns):
        twice = Counter(columns).most_common(1)[0][0]
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
