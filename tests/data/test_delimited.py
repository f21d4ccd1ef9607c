import pytest

from genbayes.data.delimited import parse_delimited
from genbayes.errors import InvalidInput, UnreadableFile


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
