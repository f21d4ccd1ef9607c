"""Motorcycle crash data, paper section 5.2: one input, spread that changes with it, 133 runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from genbayes.arrays import BoolArray
from genbayes.data.motorcycle import load_motorcycle
from genbayes_bench.problems.problem import Problem
from genbayes_bench.problems.shared import read_shared, shared_path
from genbayes_bench.problems.split import Split
from genbayes_bench.protocol import MAIN, SLOW, Protocol

__all__ = ["PROBLEM", "PROTOCOL", "reference_split", "split_motorcycle"]

TRAIN_SHARE = 0.8
STREAM = 52  # paper section 5.2
SPLITS = "reference/mcycle_splits.csv"  # those that R's hetGP was scored on
N_SPLITS = 50
SEEDED = "seeded splits, since those that R's hetGP was scored on are absent"


def split_motorcycle(replicate: int, is_train: BoolArray | None = None) -> Split:
    """A random 80:20 split, or the one that `is_train`, shape (133,), gives.

    Example:
        >>> len(split_motorcycle(0).y_train)
        106
    """
    frame = load_motorcycle()
    X, y = frame[["times"]].to_numpy(np.float64), frame["accel"].to_numpy(np.float64)
    if is_train is None:
        order = np.random.default_rng([STREAM, replicate]).permutation(len(y))
        is_train = np.isin(np.arange(len(y)), order[: round(TRAIN_SHARE * len(y))])
    return Split(X[is_train], y[is_train], X[~is_train], y[~is_train])


def reference_split(replicate: int) -> BoolArray:
    """Which runs the split that R's hetGP was scored on learns from, shape (133,); replicate 0 is its split 1."""
    table = read_shared(SPLITS)
    own = table[table["split"] == replicate + 1].sort_values("row")
    return np.asarray(own["set"] == "train", dtype=bool)


def _draw(replicate: int, n_train: int, n_test: int) -> Split:
    if replicate < N_SPLITS and shared_path(SPLITS) is not None:
        return split_motorcycle(replicate, reference_split(replicate))
    return replace(split_motorcycle(replicate), note=SEEDED)


PROBLEM = Problem(
    "motorcycle",
    "head acceleration after a crash, 133 runs",
    n_inputs=1,
    draw=_draw,
    source="R package MASS, data set mcycle; paper section 5.2",
)
PROTOCOL = Protocol(
    "motorcycle",
    n_train=106,
    n_test=27,
    n_replicates=N_SPLITS,
    source="Table 1",
    methods=(*MAIN, *SLOW),
    paper_settings={"n_members": 5, "n_epochs": 5_000},
)
