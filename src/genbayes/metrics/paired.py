"""Paired differences: which of two models did better on the same rows, and is the difference more than noise?

Scores of two models at one row share that row's difficulty, so the standard error of their mean difference is far
smaller than those of the two means. This is the one rule behind every "clearly better" of the library.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def mean_and_error(scores: ArrayLike, weight: ArrayLike | None = None) -> tuple[float, float]:
    """Weighted mean of scores and its standard error, sd / sqrt(n) with the effective number of rows n.

    n = (sum w)^2 / sum w^2 (Kish 1965), the number of rows of equal weight that would tell as much: copies of a row
    are no further evidence, and the scale of the weights does not matter.

    Args:
        scores: One for each row, NaN where it is not known, shape (n,).
        weight: Positive weights, shape (n,); None for 1 each.

    Returns:
        Mean and standard error over the rows whose score is known; NaN and NaN where none is.

    Example:
        >>> mean_and_error([1.0, 3.0, np.nan])
        (2.0, 0.7071067811865476)
    """
    x = np.asarray(scores, dtype=np.float64)
    w = np.ones(len(x)) if weight is None else np.asarray(weight, dtype=np.float64)
    known = ~np.isnan(x)
    x, w = x[known], w[known]
    if len(x) == 0:
        return float("nan"), float("nan")
    share = w / w.sum()
    mean = float(share @ x)
    return mean, float(np.sqrt((share @ (x - mean) ** 2) * (share @ share)))


def paired_difference(a: ArrayLike, b: ArrayLike, weight: ArrayLike | None = None) -> tuple[float, float]:
    """Mean of a - b over the rows, and the standard error of that mean; as `mean_and_error`.

    Args:
        a: Scores of one model, shape (n,).
        b: Scores of the other at the same rows, shape (n,).
        weight: Positive weights, shape (n,); None for 1 each.

    Example:
        >>> paired_difference([1.0, 9.0], [0.0, 8.0])  # rows differ a lot, the models always by 1
        (1.0, 0.0)
    """
    return mean_and_error(np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64), weight)


def is_clearly_better(a: ArrayLike, b: ArrayLike, weight: ArrayLike | None = None, n_errors: float = 1.0) -> bool:
    """Whether scores a, smaller is better, are below b by more than n_errors standard errors of the difference.

    mean(b - a) > n_errors se(b - a); two rows at least, for one has no standard error.

    Args:
        a: Scores of one model, shape (n,).
        b: Scores of the other at the same rows, shape (n,).
        weight: Positive weights, shape (n,); None for 1 each.
        n_errors: Standard errors that the difference must exceed.

    Example:
        >>> is_clearly_better([1.0, 2.0, 3.0], [2.0, 1.5, 3.0]), is_clearly_better([1.0, 2.0, 3.0], [2.0, 3.0, 3.5])
        (False, True)
    """
    difference = np.asarray(b, dtype=np.float64) - np.asarray(a, dtype=np.float64)
    mean, error = mean_and_error(difference, weight)
    return int((~np.isnan(difference)).sum()) > 1 and mean > n_errors * error
