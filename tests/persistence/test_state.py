"""What a file says is believed only after a rule: every accessor accepts what it should and refuses the rest."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from genbayes.errors import UnreadableFile
from genbayes.persistence import State, as_type


@dataclass(frozen=True)
class Part:
    n: int
    share: float = 0.5


@dataclass(frozen=True)
class Whole:
    name: str
    parts: tuple[Part, ...]
    bounds: tuple[float | None, float | None] = (None, None)
    facts: dict[str, Any] = field(default_factory=dict)


def kept(value: object = None, array: object = None) -> State:
    return State("Thing", {"v": value}, {"a": np.asarray(array)} if array is not None else {})


@pytest.mark.parametrize(
    ("ask", "value"),
    [
        *[(lambda state: state.number("v"), bad) for bad in (None, True, "1", [1.0], float("nan"), 10**400, 1e999)],
        *[(lambda state: state.number("v", positive=True), bad) for bad in (0.0, -1.0, float("inf"))],
        *[(lambda state: state.number("v", at_least=0, at_most=1), bad) for bad in (-0.1, 1.1)],
        *[(lambda state: state.count("v"), bad) for bad in (-1, 1.0, True, "3", None, 2**60, 10**400)],
        *[(lambda state: state.count("v", at_least=1, at_most=4), bad) for bad in (0, 5)],
        *[(lambda state: state.choice("v", ["up", "down"]), bad) for bad in ("left", None, ["up"])],
        *[(lambda state: state.typed("v", list[str]), bad) for bad in ("text", ["a", 1], None)],
        *[(lambda state: state.typed("v", tuple[float, float]), bad) for bad in ([1.0], [1.0, "x"], [1.0, 1e999])],
        (lambda state: state.typed("v", bool), 1),
    ],
)
def test_a_value_that_breaks_its_rule_is_refused_in_one_sentence(ask: Any, value: object) -> None:
    with pytest.raises(UnreadableFile, match=r"^the value 'v' in the model file must .*, got .*; it is damaged or for"):
        ask(kept(value))


@pytest.mark.parametrize(
    ("ask", "array", "rule"),
    [
        *[(lambda s: s.array("a"), [1.0, bad], "be finite") for bad in (np.nan, np.inf)],
        *[(lambda s: s.array("a"), [1.0, 2.0, bad], "floating-point") for bad in (1 + 0j, True)][:1],
        (lambda s: s.array("a"), np.ones(2, np.float16), "floating-point numbers, got float16"),
        (lambda s: s.array("a"), np.ones(2, np.int64), "floating-point numbers, got int64"),
        *[(lambda s: s.array("a", positive=True), [1.0, bad], "be positive, got") for bad in (0.0, -1.0)],
        (lambda s: s.array("a", at_least=0), [0.0, -1e-9], "be from 0 to 1.79769e.308, got -1e-09"),
        (lambda s: s.array("a", (3, None)), np.ones((2, 2)), r"have shape \(3, None\), got \(2, 2\)"),
        (lambda s: s.array("a", (2,)), np.ones((2, 1)), r"have shape \(2,\)"),
        *[(lambda s: s.whole_array("a", (2,), below=5), [0, bad], "whole numbers from 0 to 4") for bad in (-1, 5)],
        (lambda s: s.whole_array("a", (2,), below=5), [0.0, 1.0], "whole numbers from 0 to 4, got float64"),
        (lambda s: s.whole_array("a", (1,), below=5), np.array([2**64 - 1], np.uint64), "whole numbers"),
    ],
)
def test_an_array_that_breaks_its_rule_is_refused(ask: Any, array: object, rule: str) -> None:
    with pytest.raises(UnreadableFile, match=f"the array 'a' in the model file must .*{rule}"):
        ask(kept(array=array))


def test_what_keeps_its_rule_comes_back_as_it_went_in() -> None:
    state = State("Thing", {"n": 3, "x": 2, "old": 1}, {"w": np.ones((2, 0)), "k": np.array([1, 0], np.int32)})
    assert (state.count("n"), state.number("x"), state.number("new", positive=True, default=1.0)) == (3, 2.0, 1.0)
    assert type(state.number("x")) is float
    assert state.array("w", (2, None), positive=True).shape == (2, 0)
    assert state.whole_array("k", (None,), below=2).dtype == np.int64
    assert state.array("w", finite=False) is state.arrays["w"]


def test_a_record_is_complete_known_and_typed() -> None:
    written = {"name": "a", "parts": [{"n": 1}, {"n": 2, "share": 1}], "bounds": [0, None], "facts": {"x": [1]}}
    assert as_type(written, Whole, "it") == Whole("a", (Part(1), Part(2, 1.0)), (0.0, None), {"x": [1]})
    for change, rule in [
        ({"name": 3}, "it, name, must be text, got 3"),
        ({"parts": [{}]}, "it, parts, must be complete, with n"),
        ({"parts": [{"n": 1, "m": 2}]}, "it, parts, must be named values among n, share"),
        ({"parts": [{"n": 1.5}]}, "it, parts,, n, must be a whole number, got 1.5"),
        ({"bounds": [0, "high"]}, "it, bounds, must be a finite number or null, got 'high'"),
        ({"facts": []}, "it, facts, must be named values"),
    ]:
        with pytest.raises(UnreadableFile, match=rule):
            as_type({**written, **change}, Whole, "it")
