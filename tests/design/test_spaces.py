"""Spaces as people write them."""

from pathlib import Path

import pytest

from genbayes import Box
from genbayes.cli.spaces import parse_space, read_space
from genbayes.data import Choice, Integer, Log
from genbayes.errors import GenBayesError, InvalidInput

SPACE = Box({"mach": (0.2, 6.0), "alpha": (-5.0, 30.0), "n": Integer(1, 8), "rate": Log(1e-3, 1.0)})


def test_a_space_can_be_written_on_a_command_line() -> None:
    assert parse_space(["mach=0.2:6", "alpha=-5:30", "n=1:8:int", "rate=1e-3:1:log"]) == SPACE


@pytest.mark.parametrize(
    ("text", "values"), [("He, O2", ("He", "O2")), ("1,2,4", (1, 2, 4)), ("0.5,1", (0.5, 1.0)), ("1,two", ("1", "two"))]
)
def test_categories_are_numbers_if_all_of_them_are(text: str, values: tuple) -> None:
    assert parse_space([f"c={text}"]).inputs["c"] == Choice(*values)


@pytest.mark.parametrize(
    ("texts", "sentence"),
    [
        (["mach"], "--input must look like mach=0.2:6"),
        (["=0:1"], "--input must look like"),
        (["mach="], "--input must look like"),
        (["mach=a:b"], "--input must look like .*, got 'mach=a:b'"),
        (["n=1.5:3:int"], "--input must look like"),
        (["n=1:3:cubic"], "with the scale 'cubic'"),
        (["x=0:1", "x=0:2"], "--input must name each input once, got 'x' twice"),
        (["x=1:0"], "bounds of 'x' must rise"),
        (["x=1:1"], "bounds of 'x' must differ"),
        (["gas=He"], "choices of 'gas' must be two or more"),
    ],
)
def test_what_is_no_space_is_refused(texts: list[str], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        parse_space(texts)


JSON = '{"mach": [0.2, 6], "alpha": [-5, 30], "n": {"integer": [1, 8]}, "rate": {"log": [0.001, 1]}}'
TOML = "mach = [0.2, 6]\nalpha = [-5, 30]\nn = {integer = [1, 8]}\nrate = {log = [0.001, 1]}\n"


@pytest.mark.parametrize(("name", "text"), [("space.json", JSON), ("space.toml", TOML)])
def test_a_space_can_be_written_in_a_file(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_space(tmp_path / name) == SPACE


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("space.txt", "", "--space must end in .json or .toml"),
        ("space.json", "{", "--space must be a JSON file, got 'space.json'"),
        ("space.toml", "mach = [", "--space must be a TOML file, got 'space.toml'"),
        ("space.json", "[1, 2]", "inputs must map names to bounds"),
        ("space.json", '{"x": [1, 0]}', "bounds of 'x' must rise"),
        ("missing.json", None, "--space must be a readable file"),
    ],
)
def test_a_file_that_holds_no_space_is_refused(tmp_path: Path, name: str, text: str | None, sentence: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(GenBayesError, match=sentence):
        read_space(tmp_path / name)
