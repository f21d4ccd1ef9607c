"""Spaces and priors as people write them: on a command line, or in a JSON or TOML file."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genbayes.data import Box, Choice, Integer, Linear, Log
from genbayes.data.box import Input, Value
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.validation import suggest

if TYPE_CHECKING:
    from genbayes.inference import Prior

PRIOR_EXAMPLES = "a=0:2, a=0.1:10:log or a=norm(0,1)"
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


def parse_prior(texts: Sequence[str], names: Sequence[str]) -> Prior:
    """The prior that `--prior` options describe, one a parameter.

    Args:
        texts: `name=lower:upper`, with `:log` behind it, or `name=norm(0, 1)`: SciPy's distribution and its numbers.
        names: The parameters, in their order.

    Example:
        >>> parse_prior(["b=norm(0, 2)", "a=0:2"], ["a", "b"]).to_dict()["margins"]
        [{'name': 'uniform', 'numbers': [0.0, 2.0]}, {'name': 'norm', 'numbers': [0.0, 2.0]}]
    """
    from genbayes.inference.prior import Prior

    found: dict[str, Any] = {}
    for text in texts:
        name, equals, values = (part.strip() for part in text.partition("="))
        if not equals or name not in names or name in found:
            raise InvalidInput(
                f"--prior must name each of {', '.join(names)} once, as in {PRIOR_EXAMPLES}, got {text!r}"
            )
        found[name] = _parse_margin(name, values, text)
    missing = [name for name in names if name not in found]
    if missing:
        raise InvalidInput(f"--prior must name every parameter, got none for {missing[0]!r}; try {missing[0]}=0:1")
    return Prior.of([found[name] for name in names], names)


def _parse_margin(name: str, values: str, text: str) -> Any:
    from genbayes.inference.prior import as_prior, known_distributions

    given = re.fullmatch(r"(\w+)\((.*)\)", values)
    try:
        if given is None:
            lower, upper, *scale = values.split(":")
            kind = {(): Linear, ("log",): Log}[tuple(scale)]
            return as_prior(Box({name: kind(float(lower), float(upper))})).margins[0]
        numbers = [float(number) for number in given[2].split(",") if number.strip()]
    except (ValueError, KeyError) as error:
        raise InvalidInput(f"--prior must look like {PRIOR_EXAMPLES}, got {text!r}") from error
    known = known_distributions()
    if given[1] not in known:
        raise InvalidInput(f"--prior must name a distribution of SciPy's, got {given[1]!r}{suggest(given[1], known)}")
    try:
        return known[given[1]](*numbers)
    except TypeError as error:
        raise InvalidInput(f"--prior must give {given[1]} its numbers, got {text!r}; {error}") from error


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
