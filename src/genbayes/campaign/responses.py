"""What a run gives: one response or several, named when the campaign is created, from Python or from a line of text.

A run counts only as a whole: a missing, extra or non-finite response fails it, in one sentence.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from genbayes.errors import InvalidInput
from genbayes.validation import check_choice, check_response, suggest

DEFAULT_NAMES = ("y",)
SHOWN = 6  # responses that a message or a line of news names; the rest is counted
LONGEST_LINE = 1_048_576  # bytes of the line that holds the responses

# A number as C, Fortran's E format and Python print it: no digit groups (1_000), no decimal comma, no hexadecimals.
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.IGNORECASE)
BETWEEN = re.compile(r"\s*,\s*|\s+")  # blanks, or one comma


def check_names(names: Sequence[str], taken: Sequence[str] = ()) -> tuple[str, ...]:
    """Names of responses: text, each once, none that is `taken`.

    Example:
        >>> check_names(["drag", "lift"])
        ('drag', 'lift')
    """
    listed = [names] if isinstance(names, str) else list(names)
    wrong = next((each for each in listed if not isinstance(each, str) or not each.strip()), None)
    if not listed or wrong is not None:
        raise InvalidInput(f"responses must be names, at least one, got {wrong if listed else listed!r}")
    twice = next((each for each in listed if listed.count(each) > 1), None)
    if twice is not None:
        raise InvalidInput(f"responses must have different names, got {twice!r} twice")
    clash = next((each for each in listed if each in taken), None)
    if clash is not None:
        raise InvalidInput(
            f"responses must not be named like an input or a column of the campaign's table, got {clash!r}"
        )
    return tuple(listed)


def find_response(name: str | None, names: Sequence[str]) -> int:
    """Which response is meant, from 0; None for the first."""
    return 0 if name is None else list(names).index(check_choice(name, "response", names))


def check_responses(y: object, names: Sequence[str] = DEFAULT_NAMES) -> tuple[float, ...]:
    """The finite numbers that a run gave, one for each name, in their order.

    Args:
        y: A number, a sequence or an array in the order of the names, or a mapping or series
            by name, which may hold more.
        names: The responses there must be.

    Returns:
        The responses.

    Example:
        >>> check_responses({"lift": 2, "drag": 0.5, "steps": 90}, ["drag", "lift"])
        (0.5, 2.0)
        >>> check_responses([0.5], ["drag", "lift"])
        Traceback (most recent call last):
        genbayes.errors.InvalidInput: y must be 2 numbers (drag, lift), got 1 value
    """
    if hasattr(y, "index") and hasattr(y, "to_dict") and not set(names).isdisjoint(map(str, y.index)):
        y = y.to_dict()  # a series of pandas with names of its own
    if isinstance(y, Mapping):
        missing = next((name for name in names if name not in y), None)
        if missing is not None:
            raise InvalidInput(f"y must have a value for {missing!r}, got none{suggest(missing, map(str, y))}")
        values = [y[name] for name in names]
    elif len(names) == 1:
        return (check_response(y),)
    else:
        values = _listed(y)
        if len(values) != len(names):
            count = f"{len(values)} value{'s' if len(values) != 1 else ''}"
            raise InvalidInput(f"y must be {len(names)} numbers ({shorten(names)}), got {count}")
    return tuple(_check_one(value, name) for value, name in zip(values, names, strict=True))


def _listed(y: object) -> list[Any]:
    """What is told as a list; anything that is none counts as one value."""
    if isinstance(y, (list, tuple)):
        return list(y)
    if hasattr(y, "__array__"):  # arrays of NumPy, series of pandas, tensors
        return list(np.asarray(y).reshape(-1).tolist())
    return [y]


def _check_one(value: object, name: str) -> float:
    try:
        return check_response(value)
    except InvalidInput as error:
        raise type(error)(f"{name} {str(error).removeprefix('y ')}") from error


def show(y: Sequence[float], names: Sequence[str] = DEFAULT_NAMES) -> str:
    """Responses as a line of news.

    Example:
        >>> show([0.5, 2.0], ["drag", "lift"]), show([0.5])
        ('drag = 0.5, lift = 2.0', 'y = 0.5')
    """
    return shorten([f"{name} = {value!r}" for name, value in zip(names, y, strict=True)])


def shorten(words: Sequence[str]) -> str:
    """The first few of many words, and how many more there are."""
    return ", ".join(words[:SHOWN]) + (f", and {len(words) - SHOWN} more" if len(words) > SHOWN else "")


def parse_line(line: str) -> object:
    """What a line says: a JSON number, array or object, or numbers between blanks or single commas; else its text.

    Example:
        >>> parse_line("0.5, 2"), parse_line('{"drag": 0.5}'), parse_line("7,"), parse_line("1_000")
        ([0.5, 2.0], {'drag': 0.5}, '7,', '1_000')
    """
    line = line.strip()
    try:
        return json.loads(line)
    except (ValueError, RecursionError):  # no JSON, or more digits or brackets than anybody means
        words = BETWEEN.split(line)
    return [float(word) for word in words] if all(NUMBER.fullmatch(word) for word in words) else line


def last_line(text: str) -> str | None:
    """The last line of a text that is not blank; None where there is none."""
    return next((line.strip() for line in reversed(text.split("\n")) if line.strip()), None)
