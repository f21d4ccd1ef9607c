"""Tables read and written: CSV, tab-separated text, Parquet, and the bundled example."""

import gzip
import os
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from genbayes.data import check_table_path, load_motorcycle, read_table, write_table
from genbayes.data.csv_reader import parse_delimited
from genbayes.errors import InvalidInput, UnreadableFile, UnwritableFile

TABLE = pd.DataFrame({"x": [0.1, 1e-300, -3.0], "n": [1, 2, 3], "gas": ["O2", "He", "O2"], "ok": [True, False, True]})


def test_numbers_stay_numbers_and_text_stays_text() -> None:
    frame = parse_delimited(b"n,x,gas,ok\n1,0.5,O2,True\n2,1e3,He,False\n", "a.csv")
    assert [kind.kind for kind in frame.dtypes][:2] == ["i", "f"]
    assert frame["gas"].tolist() == ["O2", "He"]
    assert frame["ok"].dtype.kind == "b"


@pytest.mark.parametrize("cell", ["", "NA", "NaN", "null", "N/A"])
def test_words_for_nothing_are_missing(cell: str) -> None:
    assert parse_delimited(f"x,y\n{cell},1\n".encode(), "a.csv")["x"].isna().all()


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


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"table must have a header and rows, got the empty file 'a.csv'"):
        parse_delimited(content, "a.csv")


@pytest.mark.parametrize("header", ["x,y,x", "x,y, x "])
def test_a_name_that_comes_twice_is_refused(header: str) -> None:
    with pytest.raises(InvalidInput, match=r"columns must have different names, got 'x' twice in 'a.csv'; rename"):
        parse_delimited(f"{header}\n1,2,3\n".encode(), "a.csv")


def test_a_column_without_name_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"columns must have names, got none for column 1 of 'a.csv'; name it, or"):
        parse_delimited(b",x,y\n0,1,2\n", "a.csv")


def test_semicolons_are_refused_because_their_commas_may_be_decimal() -> None:
    with pytest.raises(InvalidInput, match=r"columns must be separated by commas, got semicolons in 'a.csv'"):
        parse_delimited(b"x;y\n1,5;2\n", "a.csv")


def test_a_line_with_too_many_values_is_named() -> None:
    with pytest.raises(UnreadableFile, match=r"each line must have 2 values as the header, got 3 on line 4 of 'a.csv'"):
        parse_delimited(b"x,y\n1,2\n\n1,2,3\n", "a.csv")


def test_values_without_a_name_are_not_dropped() -> None:
    with pytest.raises(UnreadableFile, match=r"each line must have as many values as the header, got more in 'a.csv'"):
        parse_delimited(b"x,y\n1,2,3\n4,5,6\n", "a.csv")


def test_an_open_quote_is_refused() -> None:
    with pytest.raises(UnreadableFile, match=r"each quoted text must end with a quote, got an open one in 'a.csv'"):
        parse_delimited(b'x,y\n1,"a\n2,b\n', "a.csv")


def test_another_encoding_is_refused_with_its_line() -> None:
    content = "x,gas\n1,O2\n2,L\u00f6sung\n".encode("latin-1")
    with pytest.raises(UnreadableFile, match=r"table must be UTF-8 text, got another encoding on line 3 of 'a.csv'"):
        parse_delimited(content, "a.csv")


def test_a_line_that_is_too_short_has_missing_values() -> None:
    assert parse_delimited(b"x,y\n1\n2,3\n", "a.csv")["y"].isna().tolist() == [True, False]


def test_an_empty_cell_between_tabs_is_missing() -> None:
    frame = parse_delimited(b"x\ty\tz\n1\t\t3\n4\t5\t6\n", "a.tsv", "\t")
    assert frame["y"].isna().tolist() == [True, False]
    assert frame["z"].tolist() == [3, 6]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return write_table(TABLE, tmp_path / "runs.csv")


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv", "a.tsv.gz", "a.parquet", "A.CSV"])
def test_a_table_comes_back_as_it_was_written(tmp_path: Path, name: str) -> None:
    found = read_table(write_table(TABLE, tmp_path / name))
    pd.testing.assert_frame_equal(found.reset_index(drop=True), TABLE)


def test_csv_and_parquet_hold_the_same_table(runs: Path, tmp_path: Path) -> None:
    copy = write_table(read_table(runs), tmp_path / "runs.parquet")
    back = write_table(read_table(copy), tmp_path / "back.csv")
    assert back.read_bytes() == runs.read_bytes()


def test_every_digit_of_a_number_survives_csv(tmp_path: Path) -> None:
    values = [0.1 + 0.2, 1 / 3, 2**53 - 1.0, 1.7976931348623157e308]
    path = write_table(pd.DataFrame({"x": values}), tmp_path / "a.csv")
    assert read_table(path)["x"].tolist() == values


def test_a_gzip_table_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    first, second = (write_table(TABLE, tmp_path / name).read_bytes() for name in ("a.csv.gz", "b.csv.gz"))
    assert first == second


def test_rows_of_a_parquet_table_count_from_one(tmp_path: Path) -> None:
    index = read_table(write_table(TABLE, tmp_path / "a.parquet")).index
    assert (index.name, index.tolist()) == ("row", [1, 2, 3])


def test_a_named_index_of_a_parquet_table_is_a_column(tmp_path: Path) -> None:
    TABLE.set_index("n").to_parquet(tmp_path / "a.parquet")
    assert sorted(read_table(tmp_path / "a.parquet").columns) == sorted(TABLE.columns)


def test_an_index_without_name_is_no_column(tmp_path: Path) -> None:
    TABLE[TABLE["ok"]].to_parquet(tmp_path / "a.parquet")
    assert list(read_table(tmp_path / "a.parquet").columns) == list(TABLE.columns)


def test_a_missing_file_is_answered_with_the_nearest_name(runs: Path) -> None:
    with pytest.raises(
        UnreadableFile, match=r"path must name an existing file, got '.*rnus.csv'; did you mean 'runs.csv'\?"
    ):
        read_table(runs.with_name("rnus.csv"))


def test_a_missing_folder_is_said_without_a_guess(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"path must name an existing file, got '.*nowhere/runs.csv'$"):
        read_table(tmp_path / "nowhere" / "runs.csv")


def test_a_directory_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"path must name a file, got the directory '.*'; name a table in it"):
        read_table(tmp_path)


@pytest.mark.parametrize("name", ["runs.xlsx", "runs", "runs.gz", "runs.csv.zip"])
def test_an_unknown_ending_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match=rf"path must end in \.csv, .* or \.parquet, got '.*{name}'"):
        read_table(tmp_path / name)


def test_a_file_that_may_not_be_read_is_said_to_be_so(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(UnreadableFile, match=r"path must be readable, got '.*runs.csv'; Permission denied"):
        read_table(runs)


def test_a_header_without_rows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n")
    with pytest.raises(InvalidInput, match=r"table must have rows below its header, got none in 'a.csv'"):
        read_table(tmp_path / "a.csv")


def test_a_parquet_table_without_rows_is_refused(tmp_path: Path) -> None:
    TABLE.head(0).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InvalidInput, match="table must have rows below its header"):
        read_table(tmp_path / "a.parquet")


@pytest.mark.parametrize("kept", [0, 3, 200])
def test_a_damaged_parquet_file_is_refused(tmp_path: Path, kept: int) -> None:
    content = write_table(TABLE, tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(content[:kept])
    with pytest.raises(
        UnreadableFile, match=r"table must be a Parquet file, got a damaged or foreign one in 'a.parquet'"
    ):
        read_table(tmp_path / "a.parquet")


def test_a_parquet_table_with_a_name_twice_is_refused(tmp_path: Path) -> None:
    parquet.write_table(pa.table([[1], [2]], names=["x", "x"]), tmp_path / "a.parquet")
    with pytest.raises(InvalidInput, match=r"columns must have different names, got 'x' twice in 'a.parquet'"):
        read_table(tmp_path / "a.parquet")


@pytest.mark.parametrize("content", [b"x,y\n1,2\n", gzip.compress(b"x,y\n1,2\n" * 99, mtime=0)[:30]])
def test_a_damaged_gzip_file_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.csv.gz").write_bytes(content)
    with pytest.raises(UnreadableFile, match=r"table must be a whole gzip file, got a damaged one in 'a.csv.gz'"):
        read_table(tmp_path / "a.csv.gz")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "path must name a file, got the directory"),
        ("nowhere/out.csv", "path must lie in an existing folder"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused(tmp_path: Path, name: str, sentence: str) -> None:
    with pytest.raises(UnwritableFile, match=sentence):
        check_table_path(tmp_path / name)


def test_a_table_is_written_to_a_known_format_only(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"path must end in .*, got '.*out.json'"):
        write_table(TABLE, tmp_path / "out.json")


def test_parquet_refuses_a_column_of_mixed_kinds(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"columns must each hold one kind of value for Parquet, .* column x"):
        write_table(pd.DataFrame({"x": [1, "a"]}), tmp_path / "a.parquet")


def test_a_failed_write_leaves_the_old_table_and_no_scraps(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = runs.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UnwritableFile, match="No space left on device"):
        write_table(TABLE.head(1), runs)
    assert [path.name for path in runs.parent.iterdir()] == ["runs.csv"]
    assert runs.read_bytes() == before


def test_the_bundled_data_are_those_of_mass() -> None:
    table = load_motorcycle()
    assert list(table.columns) == ["times", "accel"]
    assert len(table) == 133
    assert (table["times"].min(), table["times"].max()) == (2.4, 57.6)
    assert (table["accel"].min(), table["accel"].max()) == (-134.0, 75.0)
    assert round(float(table["accel"].sum()), 1) == -3397.6
