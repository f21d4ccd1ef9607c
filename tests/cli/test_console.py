import json
import math

import numpy as np
import pytest

from genbayes.cli.console import draw_bars, print_error, print_json, print_scores, print_table, shows_progress
from genbayes.cli.options import parse_bounds, parse_names, parse_weights
from genbayes.diagnostics import assess
from genbayes.distribution import Normal


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


class Standard:
    def predict_distribution(self, X):
        return Normal(loc=np.zeros(len(X)), scale=np.ones(len(X)))


def test_scores_are_shown_with_their_meaning(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    y = np.linspace(-1, 1, 50)
    found = assess(Standard(), np.zeros((50, 1)), y)
    print_scores(found, "A title")
    shown = capsys.readouterr().out
    assert "A title" in shown
    assert f"{found.crps:.4g} ± {found.crps_se:.2g}" in shown
    assert "hold 100%" in shown


def test_bars_of_nothing_are_flat() -> None:
    assert draw_bars([0, 0]) == "▁▁"


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_names, None, None),
        (parse_names, "a", ["a"]),
        (parse_names, " a, b c ,", ["a", "b c"]),
        (parse_bounds, None, None),
        (parse_bounds, "0,", (0, None)),
        (parse_bounds, ",1", (None, 1)),
        (parse_bounds, "-1.5, 2e3", (-1.5, 2000)),
        (parse_weights, None, None),
        (parse_weights, "auto", "auto"),
        (parse_weights, "1,2,3", (1, 2, 3)),
    ],
)
def test_options_of_several_values_are_separated_by_commas(parse, text: str | None, value: object) -> None:
    assert parse(text) == value
