"""Spaces as people write them: on a command line, or in a JSON or TOML file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path

from genbayes.data import Box, Choice, Integer, Linear, Log
from genbayes.data.box import Input, Value
from genbayes.errors import InvalidInput, UnreadableFile

EXAMPLES = "mach=0.2:6, stages=1:8:int, rate=1e-3:1:log or gas=He,O2"
SCALES = ("", "int", "log")


def parse_space(texts: Sequence[str]) -> Box:
    """The space that `--input` options describe, one each.

    Args:
        texts: `name=lower:upper`, with `:int` or `:log` behind it, or `name=a,b,c` for categories.

    Returns:
        The space.

    Example:
        >>> parse_space(["mach=0.2:6", "stages=1:8:int", "gas=He,O2"]).to_json()
        {'mach': [0.2, 6.0], 'stages': {'integer': [1, 8]}, 'gas': {'choice': ['He', 'O2']}}
    """
    inputs: dict[str, Input] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or not name.strip() or not values.strip():
            raise InvalidInput(f"--input must look like {EXAMPLES}, got {text!r}")
        if name.strip() in inputs:
            raise InvalidInput(f"--input must name each input once, got {name.strip()!r} twice")
        inputs[name.strip()] = _parse_values(values.strip(), text)
    return Box(inputs)


def read_space(path: Path) -> Box:
    r"""The space in a file that ends in .json or .toml: names with `[lower, upper]`, `{"log": [...]}` and so on.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "space.toml"
        ...     _ = file.write_text('mach = [0.2, 6.0]\ngas = {choice = ["He", "O2"]}\n')
        ...     read_space(file).names
        ('mach', 'gas')
    """
    if path.suffix.lower() not in (".json", ".toml"):
        raise InvalidInput(f"--space must end in .json or .toml, got {str(path)!r}")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFile(f"--space must be a readable file, got {str(path)!r}; {error}") from error
    try:
        found = tomllib.loads(text) if path.suffix.lower() == ".toml" else json.loads(text)
    except ValueError as error:  # of which both decoders' errors are kinds
        raise UnreadableFile(f"--space must be a {path.suffix[1:].upper()} file, got {path.name!r}; {error}") from error
    return Box(found)


def _parse_values(values: str, text: str) -> Input:
    if ":" not in values:
        return Choice(*_alike([value.strip() for value in values.split(",")]))
    lower, _, rest = values.partition(":")
    upper, _, scale = rest.partition(":")
    if scale not in SCALES:
        raise InvalidInput(f"--input must look like {EXAMPLES}, got {text!r} with the scale {scale!r}")
    try:
        if scale == "int":
            return Integer(int(lower), int(upper))
        return (Log if scale == "log" else Linear)(float(lower), float(upper))
    except ValueError as error:
        raise InvalidInput(f"--input must look like {EXAMPLES}, got {text!r}") from error


def _alike(values: list[str]) -> list[Value]:
    """Categories as numbers if all of them are, else as text."""
    for kind in (int, float):
        try:
            return [kind(value) for value in values]
        except ValueError:
            continue
    return list(values)
