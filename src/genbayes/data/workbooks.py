"""Workbooks (.xlsx) to a frame whose index is the row of the sheet on which each run stands; needs openpyxl."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from genbayes.data.csv_reader import require_names
from genbayes.errors import InvalidInput, MissingExtra, UnreadableFile

if TYPE_CHECKING:
    import pandas as pd


def parse_workbook(content: bytes, name: str) -> pd.DataFrame:
    """The table on the one sheet that holds cells; formulas count by the value that was last computed.

    Args:
        content: What the file holds.
        name: Its name, for messages.

    Returns:
        One row a run, blank ones left out; the index counts as the spreadsheet does, the first row being 1.
    """
    import pandas as pd

    sheets = {title: rows for title, rows in _sheets(content, name).items() if rows}
    if len(sheets) != 1:
        listed = ", ".join(repr(title) for title in sheets) or "none"
        raise InvalidInput(f"a workbook must have one sheet with cells, got {listed} in {name!r}; keep only the table")
    (_, header), *rows = next(iter(sheets.values()))
    while header and header[-1] is None:
        header = header[:-1]
    require_names(["" if cell is None else str(cell).strip() for cell in header], name)
    columns = [str(cell).strip() for cell in header]
    for number, row in rows:
        if any(cell is not None for cell in row[len(columns) :]):
            raise UnreadableFile(f"each row must have {len(columns)} values as the header, got more in row {number}")
    cells = [[*row[: len(columns)], *[None] * (len(columns) - len(row))] for _, row in rows]
    frame = pd.DataFrame(cells, columns=columns, index=pd.Index([number for number, _ in rows], name="row"))
    return frame.infer_objects()


def _sheets(content: bytes, name: str) -> dict[str, list[tuple[int, list[Any]]]]:
    """Rows that are not blank of every sheet, with their numbers."""
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise MissingExtra(
            f"openpyxl must be installed to read {name!r}, got none; pip install 'genbayes[xlsx]', or save it as CSV"
        ) from error
    try:
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        return {
            sheet.title: [
                (number, list(row))
                for number, row in enumerate(sheet.iter_rows(values_only=True), start=1)
                if any(cell is not None for cell in row)
            ]
            for sheet in book.worksheets
        }
    except Exception as error:  # openpyxl has no error of its own: zip, XML and its own parsing all raise theirs
        raise UnreadableFile(f"table must be an Excel workbook, got a damaged or foreign one in {name!r}") from error
