"""Random splits of a table of runs; the seed is the replicate's number."""

from __future__ import annotations

import numpy as np

from genbayes.arrays import FloatArray
from genbayes_bench.problems.split import Split

__all__ = ["split_rows"]

STREAM = 11


def split_rows(
    rows: FloatArray,
    n_train: int,
    replicate: int,
    f: FloatArray | None = None,
    noise_sd: float | None = None,
) -> Split:
    """Learn from `n_train` random rows, test on the others.

    Args:
        rows: Inputs followed by the response, shape (n, d + 1).
        n_train: Rows to learn from.
        replicate: Number of the split.
        f: Noise-free responses, shape (n,), where they are known.
        noise_sd: Standard deviation of the noise, where it is known.

    Returns:
        The split, its rows in random order.

    Example:
        >>> split_rows(np.arange(12.0).reshape(6, 2), 4, replicate=0).X_test.shape
        (2, 1)
    """
    order = np.random.default_rng([STREAM, replicate]).permutation(len(rows))
    train, test = rows[order[:n_train]], rows[order[n_train:]]
    f_test = None if f is None else f[order[n_train:]]
    return Split(train[:, :-1], train[:, -1], test[:, :-1], test[:, -1], f_test, noise_sd)
