"""The door for `sample_weight`: what a weight means is decided here, once, for every model.

Whole numbers are counts of repeated runs: a weight of 2 equals the row given twice, to the bit. Any others cannot be
counts and say only how much rows matter beside one another; they are rescaled to mean one over the positive ones, so
that n rows stay worth n runs whatever the scale was. What has passed is a `CheckedWeight` and is taken as it is.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.data.matrix import MIN_ROWS, unmasked
from genbayes.errors import InvalidInput, WeightsRescaled

LARGEST_COUNT = 2.0**53  # beyond, every number is whole
ROUNDING = 1e-9  # weights of mean one are not rescaled by their last bits


class CheckedWeight(np.ndarray[Any, np.dtype[np.float64]]):
    """Weights that have passed the door, or were made behind it: handed on from model to model, they are not rescaled.

    Example:
        >>> type(as_checked(np.array([0.5, 0.5]))[:1]).__name__
        'CheckedWeight'
    """


def as_checked(weight: FloatArray) -> CheckedWeight:
    """Weights made behind the door, such as shares of one run, marked so that no model rescales them, (n,) -> (n,)."""
    return np.asarray(weight, dtype=np.float64).view(CheckedWeight)


def check_weight(sample_weight: ArrayLike | None, X: FloatArray, fewest: int = MIN_ROWS) -> CheckedWeight | None:
    """The weights of the rows of X on the scale of counts, shape (n,), if the rows are enough; None for 1 each.

    Rows of weight zero do not count among the runs needed, those of weight 2 count twice. Weights that were checked
    before pass as they are, however few.

    Args:
        sample_weight: What the user passed: none negative, not all zero.
        X: The rows, n of them.
        fewest: Runs that are needed.

    Example:
        >>> check_weight([1, 2, 0], np.zeros((3, 1)), fewest=3)
        CheckedWeight([1., 2., 0.])
        >>> check_weight([1.0] * 9 + [0.0], np.zeros((10, 1)))
        Traceback (most recent call last):
        genbayes.errors.InvalidInput: At least 10 runs are needed; the table has 9 of positive weight (n_samples=10)
    """
    if isinstance(sample_weight, CheckedWeight):
        return sample_weight
    if sample_weight is None:
        _require_runs(len(X), fewest, f"(n_samples={len(X)})")
        return None
    from sklearn.utils.validation import _check_sample_weight  # whose sentences scikit-learn's own checks match

    try:
        weight: FloatArray = _check_sample_weight(
            unmasked(sample_weight), X, dtype=np.float64, ensure_non_negative=True
        )
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{str(error).splitlines()[0].rstrip('.')}; sample_weight must hold a number for each row"
        ) from error
    positive = weight[weight > 0]
    is_count = bool((positive == np.floor(positive)).all() and positive.max() <= LARGEST_COUNT)
    _require_runs(
        int(positive.sum()) if is_count else len(positive), fewest, f"of positive weight (n_samples={len(X)})"
    )
    if is_count:
        return as_checked(weight)
    rescaled = rescale(weight)
    if np.abs(rescaled - weight).max() > ROUNDING:
        warnings.warn(
            "sample_weight has numbers that are not whole, so they are not counts of runs; they were rescaled to mean "
            "one over the positive ones; pass counts, or weights of mean one, to avoid this warning",
            WeightsRescaled,
            stacklevel=4,
        )
    return as_checked(rescaled)


def _require_runs(n: int, fewest: int, of_which: str) -> None:
    if n < fewest:
        raise InvalidInput(f"At least {fewest} runs are needed; the table has {n} {of_which}")


def rescale(weight: FloatArray) -> FloatArray:
    """Weights divided by the mean of the positive ones; equal ones become exactly one, (n,) -> (n,).

    Example:
        >>> rescale(np.array([0.1, 0.0, 0.3]))
        array([0.5, 0. , 1.5])
    """
    weight = weight / weight.max()  # whose sum cannot overflow
    return np.asarray(weight / weight[weight > 0].mean())
