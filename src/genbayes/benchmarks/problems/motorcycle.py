"""Motorcycle crash data, paper section 5.2: one input, spread that changes with it, 133 runs."""

from __future__ import annotations

import numpy as np

from genbayes.arrays import BoolArray
from genbayes.benchmarks.problems.split import Split
from genbayes.data.motorcycle import load_motorcycle

__all__ = ["split_motorcycle"]

TRAIN_SHARE = 0.8
STREAM = 52  # paper section 5.2


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
