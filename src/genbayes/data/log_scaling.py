"""Inputs that span decades: whether a logarithmic scale tells more of the response, by runs held out.

A viscosity from 1e-5 to 1 has most of its runs in a corner of its range; standardised, they all look the same. On the
scale asinh(x / s), which is log(2 x / s) far above s and linear below, they are apart, and zero and negative values
have their place, too. Few inputs span decades, and of those some still act by their plain value, so the runs decide.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist

from genbayes.arrays import FloatArray
from genbayes.data.scaling import KNEE, bent, robust_moments, weighted_moments

DECADES = 100.0  # ratio of the 95% to the 5% quantile of |x|: uniform 19, normal 31, exponential 58, lognormal(1.5) 139
MOST_INPUTS = 8  # spanning decades that are tried
MOST_RUNS = 250  # held out one by one, which takes some milliseconds
MIN_RUNS = 20
SAVES = 0.9  # share of the error that a logarithmic scale may leave to be worth having
LENGTHS = (0.3, 1.0, 3.0)  # of the kernel, times the square root of the number of inputs
RIDGES = (1e-4, 1e-2, 1e-1, 1.0)


def choose_bends(X: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
    """The scale s of asinh(x / s) for each input, 0 for those that stay as they are, (n, d) -> (d,).

    Inputs that span decades are tried together, then one after another; they are bent if kernel ridge regression then
    predicts runs that it has not seen with at most 0.9 of the mean absolute error.

    Args:
        X: Numeric inputs, shape (n, d).
        y: Responses, shape (n,).
        weight: Positive weights, shape (n,).

    Example:
        >>> x = np.random.default_rng(0).uniform(size=(80, 1))
        >>> spread = np.exp(12 * x)
        >>> choose_bends(spread, np.sin(6 * x[:, 0]), np.ones(80)) > 0, choose_bends(spread, spread[:, 0], np.ones(80))
        (array([ True]), array([0.]))
    """
    bend = np.zeros(X.shape[1])
    wide = [j for j in range(X.shape[1]) if len(X) >= MIN_RUNS and _spans_decades(X[:, j])][:MOST_INPUTS]
    if not wide:
        return bend
    some = np.unique(np.linspace(0, len(y) - 1, min(len(y), MOST_RUNS)).astype(np.int64))
    X, weight = X[some], weight[some]
    center, scale = robust_moments(y[some], weight)
    t = np.clip((y[some] - center) / scale, -KNEE, KNEE)
    error = _error_of_unseen(X, t, weight, bend)
    for columns in [wide, *([j] for j in wide)]:  # all together, for one alone may show nothing, then one by one
        tried = bend.copy()
        tried[columns] = [np.quantile(_sizes(X[:, j]), 0.05) for j in columns]
        without = _error_of_unseen(X, t, weight, tried)
        if without < SAVES * error:
            bend, error = tried, without
    return bend


def _sizes(x: FloatArray) -> FloatArray:
    """|x| of the values that are not zero."""
    return np.asarray(np.abs(x[x != 0]))


def _spans_decades(x: FloatArray) -> bool:
    sizes = _sizes(x)
    if len(sizes) < MIN_RUNS:
        return False
    low, high = np.quantile(sizes, [0.05, 0.95])
    return bool(high > DECADES * low)


def _error_of_unseen(X: FloatArray, t: FloatArray, weight: FloatArray, bend: FloatArray) -> float:
    """Least weighted mean absolute error of runs left out one by one, over lengths and ridges."""
    Z = bent(X, bend)
    _, scale = weighted_moments(Z, weight)
    distance = cdist(Z / scale, Z / scale) / np.sqrt(X.shape[1])
    return min(float(weight @ np.abs(left_out)) for left_out in _residuals(distance, t)) / float(weight.sum())


def _residuals(distance: FloatArray, t: FloatArray) -> Iterator[FloatArray]:
    """Residuals of kernel ridge regression without each run, alpha_i / (K + r I)^-1_ii, for each length and ridge."""
    for length in LENGTHS:
        root = np.sqrt(3) * distance / length
        value, vector = eigh((1 + root) * np.exp(-root))  # Matern-3/2
        projected = vector.T @ t
        for ridge in RIDGES:
            inverse = 1 / (np.maximum(value, 0.0) + ridge)
            yield (vector @ (inverse * projected)) / ((vector**2) @ inverse)
