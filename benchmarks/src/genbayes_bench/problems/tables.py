"""Tables of the shared folder, split at random: four of the UCI repository, and stand-ins for the jump data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from genbayes.arrays import FloatArray
from genbayes_bench.problems.jumps import FLOWERS
from genbayes_bench.problems.problem import Problem
from genbayes_bench.problems.rows import split_rows
from genbayes_bench.problems.shared import read_shared
from genbayes_bench.problems.split import Split
from genbayes_bench.protocol import Protocol

__all__ = ["PROBLEMS", "PROTOCOLS", "draw_amhv", "draw_standin", "draw_uci"]

TRAIN_SHARE = 0.9
GRID_TRAIN = 9_181  # of 101 x 101
PICTURE_SD = 0.45  # noise of the stand-ins made from pictures
OHT = "data/oht_amhv/oht_train.csv", "data/oht_amhv/oht_test.csv"


def draw_uci(name: str) -> Callable[[int], Split]:
    """Random 90:10 splits of a table of the UCI repository, by the name of its file."""

    def draw(replicate: int) -> Split:
        rows = read_shared(f"data/uci/{name}.csv").to_numpy(dtype=np.float64)
        return split_rows(rows, round(TRAIN_SHARE * len(rows)), replicate)

    return draw


def draw_standin(name: str) -> Callable[[int], Split]:
    """Random 90:10 splits of GP surfaces parted by a picture, "phantom" or "star"; 10,201 runs."""

    def draw(replicate: int) -> Split:
        table = read_shared(f"data/phantom_star/{name}_standin.csv")
        rows = table[["x1", "x2", "y"]].to_numpy(dtype=np.float64)
        return split_rows(rows, GRID_TRAIN, replicate, table["f"].to_numpy(dtype=np.float64), PICTURE_SD)

    return draw


def draw_amhv(replicate: int) -> Split:
    """A random 90:10 split of 2,199 runs of an overhead hoist transport, everything scaled to [0, 1]."""
    rows = pd.concat([read_shared(name) for name in OHT]).to_numpy(dtype=np.float64)
    return split_rows(_scaled(rows), round(TRAIN_SHARE * len(rows)), replicate)


def _scaled(rows: FloatArray) -> FloatArray:
    low, high = rows.min(axis=0), rows.max(axis=0)
    return np.asarray((rows - low) / (high - low))


def _cut(draw: Callable[[int], Split]) -> Callable[[int, int, int], Split]:
    return lambda replicate, n_train, n_test: draw(replicate).first(n_train, n_test)


def _uci(name: str, title: str, n_inputs: int, n: int) -> tuple[Problem, Protocol]:
    """A table of the UCI repository: `n` rows in the file of that name."""
    problem = Problem(
        name.replace("-", "_"),
        title,
        n_inputs=n_inputs,
        draw=_cut(draw_uci(name)),
        source="UCI repository",
        needs=f"data/uci/{name}.csv",
    )
    n_train = round(TRAIN_SHARE * n)
    return problem, Protocol(problem.name, n_train=n_train, n_test=n - n_train, n_replicates=10)


def _picture(name: str) -> tuple[Problem, Protocol]:
    """GP surfaces parted by the picture that gave the data of Flowers et al. their name."""
    problem = Problem(
        f"{name}_standin",
        f"two GP surfaces parted by a picture ({name})",
        n_inputs=2,
        draw=_cut(draw_standin(name)),
        source="boundary picture of Park's jump-GP code, surfaces drawn by us",
        standin="pictures in place of the data of Flowers et al. (2026), which are not public; other units",
        jumps=True,
        needs=f"data/phantom_star/{name}_standin.csv",
    )
    return problem, replace(FLOWERS, problem=problem.name)


AMHV = Problem(
    "amhv",
    "transport time of hoists in a wafer plant",
    n_inputs=4,
    draw=_cut(draw_amhv),
    source="OHTDataset of Park's group; paper section 6.1",
    standin="2,199 runs of the same kind in place of the 9,503 of the paper, which are not public",
    jumps=True,
    needs=OHT[0],
)
TABLES = (
    _uci("concrete", "strength of concrete", n_inputs=8, n=1_030),
    _uci("energy", "heating load of buildings", n_inputs=8, n=768),
    _uci("yacht", "resistance of yachts", n_inputs=6, n=308),
    _uci("power-plant", "output of a power plant", n_inputs=4, n=9_568),
    _picture("phantom"),
    _picture("star"),
    (AMHV, Protocol("amhv", n_train=1_979, n_test=220, n_replicates=20, source="Table 5")),
)
PROBLEMS = tuple(problem for problem, _ in TABLES)
PROTOCOLS = tuple(protocol for _, protocol in TABLES)
