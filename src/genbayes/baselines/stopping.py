"""How many trees: read off rows that were held out, then all rows are fitted with that many."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import IntArray

__all__ = ["PATIENCE", "best_length", "held_out_folds"]

N_FOLDS = 3
ONE_FOLD_FROM = 10_000  # with so many rows one held-out third tells as much as is worth knowing
PATIENCE = 50  # trees without progress on the held-out rows after which a fold stops


def held_out_folds(n: int, rng: np.random.Generator) -> list[tuple[IntArray, IntArray]]:
    """Row numbers to learn from and to hold out, each sorted: three folds, or one of them when rows abound.

    Example:
        >>> folds = held_out_folds(10, np.random.default_rng(0))
        >>> [len(held_out) for _, held_out in folds], len(folds[0][0])
        ([4, 3, 3], 6)
    """
    parts = [np.sort(part) for part in np.array_split(rng.permutation(n), N_FOLDS)]
    rows = np.arange(n)
    used = parts[:1] if n > ONE_FOLD_FROM else parts
    return [(np.setdiff1d(rows, part), part) for part in used]


def best_length(curves: Sequence[ArrayLike]) -> tuple[int, float]:
    """Number of trees at which the held-out loss, averaged over folds, is least, and that loss.

    Args:
        curves: Held-out loss of each fold after 1, 2, ... trees; folds may have stopped at different lengths.

    Returns:
        The number of trees, within the length that all folds reached, and the mean loss there.

    Example:
        >>> best_length([[3.0, 1.0, 2.0], [3.0, 2.0]])
        (2, 1.5)
    """
    shortest = min(len(np.atleast_1d(curve)) for curve in curves)
    mean = np.mean([np.asarray(curve, dtype=np.float64)[:shortest] for curve in curves], axis=0)
    mean = np.where(np.isfinite(mean), mean, np.inf)
    k = int(np.argmin(mean))
    return k + 1, float(mean[k])
