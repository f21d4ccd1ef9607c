"""The problems: Phantom and Star by formula, and the stand-ins made from pictures where the shared folder exists."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from genbayes.arrays import BoolArray
from genbayes_bench.problems import PROBLEMS, Split, draw_phantom, draw_standin, draw_star

STANDINS = {"Phantom stand-in": "phantom", "Star stand-in": "star"}
Problems = list[tuple[str, Callable[[int], Split]]]
FORMULAS: dict[str, Callable[[int], Split]] = {"Phantom": draw_phantom, "Star": draw_star}


def each_problem(wanted: Sequence[str]) -> Problems:
    """Name and draw of each wanted problem; absent files are told and left out."""
    found = [(name, draw) for name, draw in FORMULAS.items() if name in wanted]
    for name in (name for name in STANDINS if name in wanted):
        if PROBLEMS[f"{STANDINS[name]}_standin"].absent is None:
            found.append((name, draw_standin(STANDINS[name])))
        else:
            print(f"{name}: left out, since its file is absent.")
    return found


def upper(split: Split) -> BoolArray:
    """Whether each test run lies in the upper regime; halfway between the levels is more than four sds from either."""
    assert split.f_test is not None
    return split.f_test > (0.5 if split.f_test.max() < 1 else 13.5)
