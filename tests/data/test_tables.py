"""Tables read and written: CSV, tab-separated text, Parquet, and the bundled example."""

import gzip
import io
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from genbayes.data import check_table_path, load_motorcycle, read_table, split_target, write_table
from genbayes.data.csv_reader import parse_delimited
from genbayes.errors import InvalidInput, MissingExtra, UnreadableFile, UnwritableFile

TABLE = pd.DataFrame({"x": [0.1, 1e-300, -3.0], "n": [1, 2, 3], "gas": ["O2", "He", "O2"], "ok": [True, False, True]})


def test_numbers_stay_numbers_and_text_stays_text() -> None:
    frame = parse_delimited(b"n,x,gas,ok\n1,0.5,O2,True\n2,1e3,He,False\n", "a.csv")
    assert [kind.kind for kind in frame.dtypes][:2] == ["i", "f"]
    assert frame["gas"].tolist() == ["O2", "He"]
    assert frame["ok"].dtype.kind == "b"


@pytest.mark.parametrize("cell", ["", "NA", "NaN", "null", "N/A"])
def test_words_for_nothing_are_missing(cell: str) -> None:
    assert parse_delimited(f"x,y\n{cell},1\n".encode(), "a.csv")["x"].isna().all()


@pytest.mark.parametrize(
    ("text", "separator"), [(b"x,z,y\n1,3\n4,6,2\n", ","), (b"x\ty\tz\n1\t\t3\n4\t5\t6\n", "\t")], ids=["short", "tabs"]
)
def test_a_short_line_and_an_empty_cell_between_tabs_have_missing_values(text: bytes, separator: str) -> None:
    frame = parse_delimited(text, "a.csv", separator)
    assert frame["y"].isna().tolist() == [True, False]
    assert frame["z"].tolist() == [3, 6]


def test_a_byte_order_mark_windows_line_ends_and_spaces_do_no_harm() -> None:
    frame = parse_delimited("\ufeffx, y\r\n1, 2\r\n".encode(), "a.csv")
    assert frame.to_dict("list") == {"x": [1], "y": [2]}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("x,y\n1,2\n3,4", [2, 3]),
        ("x,y\n\n1,2\n  \n3,4\n\n", [3, 5]),
        ('x,gas\n1,"two\nlines"\n2,b\n', [2, 4]),
        ("\n\nx,y\n1,2\n", [4]),
    ],
)
def test_rows_know_the_line_they_stand_on(text: str, lines: list[int]) -> None:
    index = parse_delimited(text.encode(), "a.csv").index
    assert (index.name, index.tolist()) == ("line", lines)


EMPTY = "table must have a header and rows, got the empty file 'a.csv'"
TWICE = "columns must have different names, got 'x' twice in 'a.csv'; rename"
LATIN = "x,gas\n1,O2\n2,L\u00f6sung\n".encode("latin-1")


@pytest.mark.parametrize(
    ("content", "error", "sentence"),
    [
        *[(nothing, InvalidInput, EMPTY) for nothing in (b"", b"\n \n", b"\xef\xbb\xbf")],
        *[(header + b"\n1,2,3\n", InvalidInput, TWICE) for header in (b"x,y,x", b"x,y, x ")],
        (b",x,y\n0,1,2\n", InvalidInput, "columns must have names, got none for column 1 of 'a.csv'; name it, or"),
        (b"x;y\n1,5;2.5\n", InvalidInput, "numbers must have one decimal sign, got '1,5' and '2.5' in 'a.csv'; write"),
        (b"x,y\n1,2\n\n1,2,3\n", UnreadableFile, "line must have 2 values as the header, got 3 on line 4 of 'a.csv'"),
        (b"x,y\n1,2,3\n4,5,6\n", UnreadableFile, "line must have as many values as the header, got more in 'a.csv'"),
        (b'x,y\n1,"a\n2,b\n', UnreadableFile, "each quoted text must end with a quote, got an open one in 'a.csv'"),
        (LATIN, UnreadableFile, "table must be UTF-8 text, got another encoding on line 3 of 'a.csv'"),
    ],
)
def test_text_that_is_no_table_is_refused(content: bytes, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        parse_delimited(content, "a.csv")


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("x;y\n0,5;2\n-1,25e3;3\n", {"x": [0.5, -1250.0], "y": [2, 3]}),
        ("x;y\r\n0.5;2\r\n", {"x": [0.5], "y": [2]}),
        ("x\ty\n0,5\t2\n", {"x": [0.5], "y": [2]}),
        ("p, bar;y\n1,5;2\n", {"p, bar": [1.5], "y": [2]}),
        ('x;note\n"0,5";"a;b, c"\n', {"x": [0.5], "note": ["a;b, c"]}),
        ("x;gas\n1;1,2-dichloroethane\n", {"x": [1], "gas": ["1,2-dichloroethane"]}),
        ("x,note\n1,a;b\n", {"x": [1], "note": ["a;b"]}),
        ("x\n1.5\n", {"x": [1.5]}),
    ],
)
def test_semicolons_and_tabs_with_decimal_commas_are_read(text: str, table: dict) -> None:
    assert parse_delimited(text.encode(), "a.csv").to_dict("list") == table


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_what_excel_writes_is_read_and_rows_keep_their_lines(encoding: str) -> None:
    frame = parse_delimited("sep=;\r\nx;größe\r\n0,5;2\r\n".encode(encoding), "a.csv")
    assert (frame.to_dict("list"), frame.index.tolist()) == ({"x": [0.5], "größe": [2]}, [3])


def test_columns_are_read_and_checked_in_time_that_grows_with_their_number() -> None:
    n = 40_000
    content = ",".join(f"x{j}" for j in range(n)) + "\n" + ",".join("1" * n) + "\n"
    started = time.process_time()
    X, _ = split_target(parse_delimited(content.encode(), "a.csv"), "x7", categorical=[])
    assert X.shape == (1, n - 1)
    assert time.process_time() - started < 8  # where each name was compared with all before it: half a minute


def workbook(**sheets: list[list[object]]) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(file := io.BytesIO())
    return file.getvalue()


def test_a_workbook_is_read_and_its_rows_count_as_the_spreadsheet_does(tmp_path: Path) -> None:
    rows = [["x", " gas ", None], [0.5, "He", None], [None, None, None], [2, "O2", None]]
    (tmp_path / "a.xlsx").write_bytes(workbook(runs=rows, empty=[]))
    frame = read_table(tmp_path / "a.xlsx")
    assert frame.to_dict("list") == {"x": [0.5, 2.0], "gas": ["He", "O2"]}
    assert (frame.index.name, frame.index.tolist()) == ("row", [2, 4])
    with pytest.raises(InvalidInput, match="path must end in .* or .parquet, got"):
        check_table_path(tmp_path / "out.xlsx")


@pytest.mark.parametrize(
    ("content", "error", "sentence"),
    [
        (
            workbook(a=[["x"], [1]], b=[["y"], [2]]),
            InvalidInput,
            "one sheet with cells, got 'a', 'b' in 'a.xlsx'; keep",
        ),
        (workbook(a=[]), InvalidInput, "one sheet with cells, got none in 'a.xlsx'"),
        (workbook(a=[["x", None, "y"], [1, 2, 3]]), InvalidInput, "columns must have names, got none for column 2"),
        (workbook(a=[["x", "x"], [1, 2]]), InvalidInput, "different names, got 'x' twice"),
        (workbook(a=[["x"], [1, 2]]), UnreadableFile, "each row must have 1 values as the header, got more in row 2"),
        (
            b"PK no workbook",
            UnreadableFile,
            "must be an Excel workbook, got a damaged or foreign one in 'a.xlsx'",
        ),
    ],
)
def test_a_workbook_of_no_table_is_refused(tmp_path: Path, content: bytes, error, sentence: str) -> None:
    (tmp_path / "a.xlsx").write_bytes(content)
    with pytest.raises(error, match=sentence):
        read_table(tmp_path / "a.xlsx")


def test_without_openpyxl_a_sentence_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    (tmp_path / "a.xlsx").write_bytes(b"")
    with pytest.raises(MissingExtra, match=r"openpyxl must be installed .* pip install 'genbayes\[xlsx\]', or save it"):
        read_table(tmp_path / "a.xlsx")


def test_a_small_gzip_file_that_unpacks_to_more_than_the_limit_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("genbayes.data.tables.LARGEST_UNPACKED", 1_000)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x,y\n" + b"1,2\n" * 1_000))
    with pytest.raises(UnreadableFile, match=r"table must unpack to at most .* GB, got more in 'a.csv.gz'; unpack it"):
        read_table(tmp_path / "a.csv.gz")


def test_gzip_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(gzip.compress(b"x;y\n0,5;2\n"))
    assert read_table(tmp_path / "a.csv").to_dict("list") == {"x": [0.5], "y": [2]}


@pytest.mark.parametrize(
    "pandas_says", [b"no json", b'{"index_columns": ["gone"], "columns": []}', b"{}", b'{"index_columns": 7}']
)
def test_parquet_with_odd_metadata_is_read_by_its_columns(tmp_path: Path, pandas_says: bytes) -> None:
    table = pa.table({"x": [1, 2], "gas": pa.array(["He", "O2"]).dictionary_encode()})
    parquet.write_table(
        table.replace_schema_metadata({b"pandas": pandas_says, b"\xff": b"\xff"}), tmp_path / "a.parquet"
    )
    frame = read_table(tmp_path / "a.parquet")
    assert frame.to_dict("list") == {"x": [1, 2], "gas": ["He", "O2"]}


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([[1.0], [2.0]]),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([None, None]),
        pa.array([1, 2], pa.duration("s")),
        pa.array([1, 2], pa.timestamp("s", "UTC")),
    ],
    ids=lambda cells: str(cells.type),
)
def test_parquet_columns_that_are_no_numbers_are_refused_in_a_sentence(tmp_path: Path, cells: pa.Array) -> None:
    parquet.write_table(pa.table({"x": cells, "y": [1.0, 2.0]}), tmp_path / "a.parquet")
    with pytest.raises(InvalidInput, match="^inputs must .*, got .* in column 'x'"):
        split_target(read_table(tmp_path / "a.parquet"), "y", categorical=[])


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return write_table(TABLE, tmp_path / "runs.csv")


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv", "a.tsv.gz", "a.parquet", "A.CSV"])
def test_a_table_comes_back_as_it_was_written(tmp_path: Path, name: str) -> None:
    found = read_table(write_table(TABLE, tmp_path / name))
    pd.testing.assert_frame_equal(found.reset_index(drop=True), TABLE)


def test_csv_and_parquet_hold_the_same_table_and_gzip_the_same_bytes_each_time(runs: Path, tmp_path: Path) -> None:
    copy = write_table(read_table(runs), tmp_path / "runs.parquet")
    assert write_table(read_table(copy), tmp_path / "back.csv").read_bytes() == runs.read_bytes()
    first, second = (write_table(TABLE, tmp_path / name).read_bytes() for name in ("a.csv.gz", "b.csv.gz"))
    assert first == second


def test_every_digit_of_a_number_survives_csv(tmp_path: Path) -> None:
    values = [0.1 + 0.2, 1 / 3, 2**53 - 1.0, 1.7976931348623157e308]
    assert read_table(write_table(pd.DataFrame({"x": values}), tmp_path / "a.csv"))["x"].tolist() == values


def test_rows_of_a_parquet_table_count_from_one_and_only_a_named_index_is_a_column(tmp_path: Path) -> None:
    index = read_table(write_table(TABLE, tmp_path / "a.parquet")).index
    assert (index.name, index.tolist()) == ("row", [1, 2, 3])
    TABLE.set_index("n").to_parquet(tmp_path / "named.parquet")
    assert sorted(read_table(tmp_path / "named.parquet").columns) == sorted(TABLE.columns)
    TABLE[TABLE["ok"]].to_parquet(tmp_path / "nameless.parquet")
    assert list(read_table(tmp_path / "nameless.parquet").columns) == list(TABLE.columns)


ENDING = r"path must end in \.csv, .*, \.parquet or \.xlsx, got"


@pytest.mark.parametrize(
    ("name", "error", "sentence"),
    [
        ("rnus.csv", UnreadableFile, r"path must name an existing file, got '.*rnus.csv'; did you mean 'runs.csv'\?"),
        ("nowhere/runs.csv", UnreadableFile, r"path must name an existing file, got '.*nowhere/runs.csv'$"),
        ("", UnreadableFile, "path must name a file, got the directory '.*'; name a table in it"),
        *[(n, InvalidInput, f"{ENDING} '.*{n}'") for n in ("runs.xls", "runs", "runs.gz", "runs.csv.zip")],
    ],
)
def test_a_path_of_no_table_is_refused(runs: Path, name: str, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        read_table(runs.parent / name)


def test_a_file_that_may_not_be_read_is_said_to_be_so(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "read_bytes", Mock(side_effect=PermissionError(13, "Permission denied")))
    with pytest.raises(UnreadableFile, match=r"path must be readable, got '.*runs.csv'; Permission denied"):
        read_table(runs)


def as_parquet(table: pa.Table) -> bytes:
    parquet.write_table(table, file := io.BytesIO())
    return file.getvalue()


WHOLE = as_parquet(pa.Table.from_pandas(TABLE))
NO_ROWS = "table must have rows below its header, got none in"
NO_PARQUET = "table must be a Parquet file, got a damaged or foreign one in 'a.parquet'"
NO_GZIP = "table must be a whole gzip file, got a damaged one in 'a.csv.gz'"


@pytest.mark.parametrize(
    ("name", "content", "error", "sentence"),
    [
        ("a.csv", b"x,y\n", InvalidInput, f"{NO_ROWS} 'a.csv'"),
        ("a.parquet", as_parquet(pa.Table.from_pandas(TABLE.head(0))), InvalidInput, NO_ROWS),
        ("a.parquet", as_parquet(pa.table([[1], [2]], names=["x", "x"])), InvalidInput, "names, got 'x' twice in 'a.p"),
        *[("a.parquet", WHOLE[:kept], UnreadableFile, NO_PARQUET) for kept in (0, 3, 200)],
        ("a.csv.gz", b"x,y\n1,2\n", UnreadableFile, NO_GZIP),
        ("a.csv.gz", gzip.compress(b"x,y\n1,2\n" * 99, mtime=0)[:30], UnreadableFile, NO_GZIP),
    ],
)
def test_a_table_without_rows_or_damaged_is_refused(tmp_path: Path, name, content: bytes, error, sentence: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(error, match=sentence):
        read_table(tmp_path / name)


MIXED_KINDS = pd.DataFrame({"x": [1, "a"]})


@pytest.mark.parametrize(
    ("write", "name", "error", "sentence"),
    [
        (check_table_path, "", UnwritableFile, "path must name a file, got the directory"),
        (check_table_path, "nowhere/out.csv", UnwritableFile, "path must lie in an existing folder"),
        (partial(write_table, TABLE), "out.json", InvalidInput, "path must end in .*, got '.*out.json'"),
        (partial(write_table, MIXED_KINDS), "a.parquet", InvalidInput, "each hold one kind of value .* column x"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path: Path, write: Callable, name: str, error, sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        write(tmp_path / name)


def test_a_failed_write_leaves_the_old_table_and_no_scraps(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = runs.read_bytes()
    monkeypatch.setattr(os, "fsync", Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(UnwritableFile, match="No space left on device"):
        write_table(TABLE.head(1), runs)
    assert [path.name for path in runs.parent.iterdir()] == ["runs.csv"]
    assert runs.read_bytes() == before


def test_the_bundled_data_are_those_of_mass() -> None:
    table = load_motorcycle()
    summary = table.agg(["size", "min", "max"]).to_dict("list")
    assert summary == {"times": [133, 2.4, 57.6], "accel": [133, -134.0, 75.0]}
    assert round(float(table["accel"].sum()), 1) == -3397.6
