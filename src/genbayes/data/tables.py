"""Runs read from and written to files: delimited text, Parquet and, to read, workbooks, chosen by the file's ending.

A table read here remembers where its rows stand in the file: its index is named `line` (text) or `row` (the others)
and counts from 1, so that a message can send the user to the right place. Columns are the business of `columns`.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Collection, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from genbayes.data.csv_reader import parse_delimited, require_names
from genbayes.errors import GenBayesError, InvalidInput, UnreadableFile
from genbayes.validation import suggest
from genbayes.writing import check_writable, write_atomically

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


FILE_NAME = "mcycle.csv"


def load_motorcycle() -> pd.DataFrame:
    """The 133 rows of `mcycle`: `times` in milliseconds after impact, `accel` in g.

    Example:
        >>> load_motorcycle().shape
        (133, 2)
    """
    return parse_delimited(files("genbayes.data").joinpath(FILE_NAME).read_bytes(), FILE_NAME)


SEPARATORS = {".csv": ",", ".csv.gz": ",", ".tsv": "\t", ".tsv.gz": "\t"}
ENDINGS = [*SEPARATORS, ".parquet"]
WORKBOOK = ".xlsx"  # is read only
GZIP = b"\x1f\x8b"  # first bytes of a gzip file, whatever its name
LARGEST_UNPACKED = 2**30  # bytes of text in a gzip file; 1 MB of it may unpack to 1 GB of zeros


def read_table(path: str | os.PathLike[str], text: Collection[str] = ()) -> pd.DataFrame:
    r"""The table in a file; the format follows from the ending.

    Args:
        path: A file ending in .csv, .csv.gz, .tsv, .tsv.gz, .parquet or .xlsx (with the extra `genbayes[xlsx]`). In
            text between semicolons or tabs the decimal sign may be a comma.
        text: Columns that delimited text holds as text, such as categories 01 and 02, which would be the numbers 1 and
            2 without it. Parquet and .xlsx say themselves what is text.

    Returns:
        At least one row and one column; the index says where each row stands in the file.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     runs = Path(folder) / "runs.csv"
        ...     _ = runs.write_text("x,y\n0.5,2\n")
        ...     read_table(runs).to_dict("list")
        {'x': [0.5], 'y': [2]}
    """
    source = Path(path)
    if source.is_dir():
        raise UnreadableFile(f"path must name a file, got the directory {str(source)!r}; name a table in it")
    ending, content = _ending(source, [*ENDINGS, WORKBOOK]), _read_bytes(source)
    if ending == ".parquet":
        frame = _parse_parquet(content, source.name)
    elif ending == WORKBOOK:
        from genbayes.data.workbooks import parse_workbook

        frame = parse_workbook(content, source.name)
    else:
        separator = None if SEPARATORS[ending] == "," else SEPARATORS[ending]
        frame = parse_delimited(_unpack(content, source), source.name, separator, text)
    if frame.empty:
        raise InvalidInput(f"table must have rows below its header, got none in {source.name!r}")
    return frame


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> Path:
    r"""Write a table, without its index; a reader sees the old file or the new one, never a part.

    Args:
        frame: The table.
        path: Where to; the format follows from the ending as in `read_table`.

    Returns:
        The path.

    Example:
        >>> import pandas as pd, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_table(pd.DataFrame({"x": [1], "y": [2.5]}), Path(folder) / "runs.csv").read_text()
        'x,y\n1,2.5\n'
    """
    target = check_table_path(path)
    ending = _ending(target)
    if ending == ".parquet":
        return write_atomically(target, _render_parquet(frame))
    content = frame.to_csv(index=False, sep=SEPARATORS[ending], lineterminator="\n").encode()
    return write_atomically(target, gzip.compress(content, mtime=0) if ending.endswith(".gz") else content)


def check_table_path(path: str | os.PathLike[str]) -> Path:
    """The path, if a table can be written there; asked before long work.

    Example:
        >>> check_table_path("out.xlsx")
        Traceback (most recent call last):
        genbayes.errors.InvalidInput: path must end in .csv, .csv.gz, .tsv, .tsv.gz or .parquet, got 'out.xlsx'
    """
    target = check_writable(path)
    _ending(target)
    return target


def _ending(path: Path, endings: Sequence[str] = ENDINGS) -> str:
    ending = next((known for known in endings if path.name.lower().endswith(known)), None)
    if ending is None:
        listed = f"{', '.join(endings[:-1])} or {endings[-1]}"
        raise InvalidInput(f"path must end in {listed}, got {str(path)!r}")
    return ending


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        neighbours = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
        raise UnreadableFile(
            f"path must name an existing file, got {str(path)!r}{suggest(path.name, neighbours)}"
        ) from error
    except OSError as error:
        raise UnreadableFile(f"path must be readable, got {str(path)!r}; {error.strerror or error}") from error


def _unpack(content: bytes, path: Path) -> bytes:
    if path.suffix.lower() != ".gz" and not content.startswith(GZIP):
        return content
    try:
        text = gzip.GzipFile(fileobj=io.BytesIO(content)).read(LARGEST_UNPACKED + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise UnreadableFile(f"table must be a whole gzip file, got a damaged one in {path.name!r}") from error
    if len(text) > LARGEST_UNPACKED:
        limit = f"at most {LARGEST_UNPACKED / 2**30:.3g} GB"
        raise UnreadableFile(f"table must unpack to {limit}, got more in {path.name!r}; unpack it, or write Parquet")
    return text


def _render_parquet(frame: pd.DataFrame) -> bytes:
    import pyarrow as pa

    buffer = io.BytesIO()
    try:
        frame.to_parquet(buffer, index=False, engine="pyarrow")
    except pa.ArrowException as error:
        raise InvalidInput(f"columns must each hold one kind of value for Parquet, {error.args[-1]}") from error
    return buffer.getvalue()


def _parse_parquet(content: bytes, name: str) -> pd.DataFrame:
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.ParquetFile(io.BytesIO(content)).read()
        require_names([str(column) for column in table.column_names], name)
        frame = _as_frame(table)
    except GenBayesError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, NotImplementedError) as error:
        raise UnreadableFile(f"table must be a Parquet file, got a damaged or foreign one in {name!r}") from error
    frame.columns = frame.columns.map(str)
    frame.index = pd.RangeIndex(1, len(frame) + 1, name="row")
    return frame


def _as_frame(table: pa.Table) -> pd.DataFrame:
    """The columns of an Arrow table; a named index is a column like the others, a nameless one is none."""
    frame: pd.DataFrame
    try:
        frame = table.to_pandas()
        return frame.reset_index(drop=frame.index.names == [None])
    except Exception:  # what pandas once wrote beside the columns is damaged or does not fit them; they stand alone
        frame = table.replace_schema_metadata(None).to_pandas()
        return frame[[column for column in frame.columns if not re.fullmatch(r"__index_level_\d+__", str(column))]]
