"""The problems: Phantom and Star by formula, and the stand-ins made from pictures where the shared folder exists."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from genbayes_bench.problems import Split, draw_phantom, draw_star
from genbayes_bench.problems.jumps import split_grid

__all__ = ["FORMULAS", "STANDINS", "Problems", "each_problem", "upper"]

FOLDER = Path(__file__).parents[6] / "shared" / "data" / "phantom_star"
STANDINS = {"Phantom stand-in": "phantom_standin.csv", "Star stand-in": "star_standin.csv"}
STREAM = 621  # of the splits of the stand-ins
Problems = list[tuple[str, Callable[[int], Split]]]
FORMULAS: dict[str, Callable[[int], Split]] = {"Phantom": draw_phantom, "Star": draw_star}


def each_problem(wanted: Sequence[str]) -> Problems:
    """Name and draw of each wanted problem; absent files are told and left out."""
    found = [(name, draw) for name, draw in FORMULAS.items() if name in wanted]
    for name in (name for name in STANDINS if name in wanted):
        if (FOLDER / STANDINS[name]).is_file():
            found.append((name, partial(split_standin, FOLDER / STANDINS[name])))
        else:
            print(f"{name}: left out, since its file is absent.")
    return found


def split_standin(path: Path, replicate: int) -> Split:
    """A random 90:10 split of a stand-in."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    x1, x2, y, f = (np.array([float(row[name]) for row in rows]) for name in ("x1", "x2", "y", "f"))
    return split_grid(np.column_stack([x1, x2]), y, f, np.random.default_rng([STREAM, replicate]))


def upper(split: Split) -> np.ndarray:
    """Whether each test run lies in the upper regime; halfway between the levels is more than four sds from either."""
    assert split.f_test is not None
    return split.f_test > (0.5 if split.noise_sd is not None else 13.5)
