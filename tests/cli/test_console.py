import json
import math

from genbayes.cli.console import print_error, print_json, print_table, shows_progress


def test_an_error_is_never_wrapped(capsys) -> None:
    print_error("word " * 100)
    assert capsys.readouterr().err == "Error: " + "word " * 99 + "word\n"


def test_square_brackets_are_text_and_not_markup(capsys) -> None:
    print_error("got [red] in column 'a[b]'")
    assert capsys.readouterr().err == "Error: got [red] in column 'a[b]'\n"


def test_what_json_cannot_say_becomes_null(capsys) -> None:
    print_json({"a": math.nan, "b": [1.5, math.inf], "c": {"d": "ü"}})
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [1.5, None], "c": {"d": "ü"}}


def test_numbers_stand_to_the_right_and_text_to_the_left(capsys) -> None:
    print_table("", ["name", "n"], [["a", "5"], ["long", "-12.5"]])
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[-3].split() == ["a", "5"]
    assert lines[-2] == "long   -12.5"
    assert len(lines[-3]) == len(lines[-2])


def test_no_progress_bar_without_a_terminal() -> None:
    assert not shows_progress()
