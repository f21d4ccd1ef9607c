"""The problems: Phantom and Star by formula, and the stand-ins made from pictures where the shared folder exists."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from genbayes.benchmarks.problems import Split, draw_phantom, draw_star
from genbayes.benchmarks.problems.jumps import split_grid

__all__ = ["FORMULAS", "each_problem", "upper"]

STANDINS = Path(__file__).parents[3] / "shared" / "data" / "phantom_star"
STREAM = 621  # of the splits of the stand-ins
FORMULAS: dict[str, Callable[[int], Split]] = {"Phantom": draw_phantom, "Star": draw_star}


def each_problem() -> Iterator[tuple[str, Callable[[int], Split]]]:
    """Name and draw of each problem; absent files are told and left out."""
    yield from FORMULAS.items()
    for name in ("phantom", "star"):
        path = STANDINS / f"{name}_standin.csv"
        if path.is_file():
            yield f"{name.title()} stand-in", partial(split_standin, path)
        else:
            print(f"{name.title()} stand-in: left out, since its file is absent.")


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
