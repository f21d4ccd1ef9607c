"""Plain values of a file as the types that a program expects: finite numbers, words, lists, dataclasses of them."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeGuard, Union, get_args, get_origin, get_type_hints

import numpy as np

from genbayes.errors import UnreadableFile

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LARGEST_FLOAT = float(np.finfo(np.float64).max)
LARGEST_COUNT = 2**53  # whole numbers beyond are not exact as floats
LONGEST_SHOWN = 60  # characters of a foreign value that a message shows
WORDS: dict[object, str] = {
    int: "a whole number",
    float: "a finite number",
    bool: "true or false",
    str: "text",
    type(None): "null",
}


def as_type(value: object, kind: object, where: str) -> Any:
    """A value from JSON as a type; one sentence where it is none.

    Args:
        value: What the file holds.
        kind: int, float, bool, str, None, a union, Literal, list, tuple or Mapping of such, or a dataclass.
        where: What the value is, for the sentence.

    Example:
        >>> as_type([1, None], tuple[float | None, ...], "bounds")
        (1.0, None)
        >>> as_type("much", float, "the spread")
        Traceback (most recent call last):
        genbayes.errors.UnreadableFile: the spread must be a finite number, got 'much'; it is damaged or foreign
    """
    if kind is Any:
        return value
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _as_union(value, parts, where)
    if origin is Literal:
        return value if isinstance(value, str) and value in parts else _refuse(where, f"one of {parts}", value)
    if origin in (list, tuple):
        return _as_sequence(value, origin, parts, where)
    if isinstance(kind, type) and is_dataclass(kind):
        return _as_record(value, kind, where)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            return _refuse(where, "named values", value)
        return {str(name): as_type(each, parts[1] if parts else Any, where) for name, each in value.items()}
    return _as_plain(value, type(None) if kind is None else kind, where)


def shown(value: object) -> str:
    """A foreign value for a message, cut short."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of thousands of digits
        text = "a number without end"
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "..."


def is_finite_number(value: object) -> TypeGuard[float]:
    """Whether a value from JSON is a number that a float can hold; true and false are none.

    Example:
        >>> is_finite_number(1e300), is_finite_number(10**400), is_finite_number(True)
        (True, False, False)
    """
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= LARGEST_FLOAT


def _as_plain(value: object, kind: object, where: str) -> Any:
    if kind is float:
        return float(value) if is_finite_number(value) else _refuse(where, WORDS[float], value)
    good = type(value) is kind and not (isinstance(value, int) and abs(value) > LARGEST_COUNT)
    return value if good else _refuse(where, WORDS.get(kind, str(kind)), value)


def _as_union(value: object, kinds: tuple[Any, ...], where: str) -> Any:
    for kind in kinds:
        try:
            return as_type(value, kind, where)
        except UnreadableFile:
            continue
    return _refuse(where, " or ".join(WORDS.get(kind, str(kind)) for kind in kinds), value)


def _as_sequence(value: object, origin: type, parts: tuple[Any, ...], where: str) -> Any:
    any_length = origin is list or (len(parts) == 2 and parts[1] is Ellipsis)
    if not isinstance(value, (list, tuple)) or (not any_length and len(value) != len(parts)):
        return _refuse(where, "a list" if any_length else f"a list of {len(parts)}", value)
    kinds = [parts[0]] * len(value) if any_length else parts
    return origin(as_type(each, kind, where) for each, kind in zip(value, kinds, strict=True))


@cache
def _hints(kind: object) -> dict[str, Any]:
    return get_type_hints(kind)


def _as_record(value: object, kind: type[DataclassInstance], where: str) -> Any:
    known = {each.name: each for each in fields(kind) if each.init}
    if not isinstance(value, dict) or not set(value) <= set(known):
        return _refuse(where, f"named values among {', '.join(known)}", value)
    needed = {n for n, each in known.items() if each.default is MISSING and each.default_factory is MISSING}
    if not needed <= set(value):
        return _refuse(where, f"complete, with {', '.join(sorted(needed - set(value)))}", value)
    return kind(**{name: as_type(each, _hints(kind)[name], f"{where}, {name},") for name, each in value.items()})


def _refuse(where: str, rule: str, value: object) -> NoReturn:
    raise UnreadableFile(f"{where} must be {rule}, got {shown(value)}; it is damaged or foreign")
