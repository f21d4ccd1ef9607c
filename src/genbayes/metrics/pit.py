"""Probability integral transform: where in its predictive distribution each observation fell, and how to count it."""

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.validation import check_array, check_column, check_count, check_targets, check_tau


def pit(q: ArrayLike, y: ArrayLike) -> FloatArray:
    """Probability integral transform of observations under draws or equally spaced quantiles.

    (#{j: q_j < y} + #{j: q_j <= y}) / (2 m): the middle of the jump where y meets a draw, so the transform stays
    deterministic and has mean 1/2 under the true distribution (the non-randomized PIT; Dawid 1984, Czado, Gneiting and
    Held 2009). A flat histogram of the values means calibrated predictions.

    Args:
        q: Draws, or quantiles at equally spaced levels, in any order, shape (n, m).
        y: Observations, shape (n,).

    Returns:
        One value in [0, 1] per observation, shape (n,).

    Example:
        >>> pit([[1.0, 2.0, 3.0, 4.0]] * 2, [2.5, 4.0])
        array([0.5  , 0.875])
    """
    q = check_array(q, "q", "(n, m)")
    y = check_targets(y, len(q))[:, None]
    middle: FloatArray = 0.5 * ((q < y).mean(axis=1) + (q <= y).mean(axis=1))
    return middle


def pit_shares(lower: ArrayLike, upper: ArrayLike, tau: ArrayLike, weight: ArrayLike | None = None) -> FloatArray:
    """Share of observations below each quantile of their distributions: the distribution function of the PIT.

    share(tau) = sum_i w_i clip((tau - F_i(y_i-)) / (F_i(y_i) - F_i(y_i-)), 0, 1) / sum_i w_i, and 1{F_i(y_i) <= tau}
    where there is no atom at y_i. At an atom the observation is spread evenly over the jump (Czado, Gneiting and
    Held 2009, equation 2): nothing is drawn at random, and under the true distribution the expected share is tau.

    Args:
        lower: F(y-), the probability below each observation, shape (n,).
        upper: F(y), the probability up to it, not smaller, shape (n,).
        tau: Levels strictly between 0 and 1, shape (m,).
        weight: How much each observation counts, shape (n,); None for all the same.

    Returns:
        Shares, shape (m,).

    Example:
        >>> pit_shares([0.1, 0.4], [0.1, 0.8], [0.25, 0.5, 0.9])  # the second observation met an atom of mass 0.4
        array([0.5  , 0.625, 1.   ])
    """
    lower = check_array(lower, "lower", "(n,)")
    upper = check_column(upper, "upper", len(lower))
    if len(lower) == 0 or lower.min() < 0 or upper.max() > 1 or (upper < lower).any():
        raise InvalidInput("lower and upper must be probabilities with lower <= upper, at least one of each")
    jump = upper - lower
    steep = np.where(jump > 0, jump, 1.0)
    weight = None if weight is None else check_column(weight, "weight", len(lower))
    below = [
        np.where(jump > 0, np.clip((t - lower) / steep, 0.0, 1.0), upper <= t) for t in np.atleast_1d(check_tau(tau))
    ]
    return np.array([np.average(part, weights=weight) for part in below])


def count_bins(n: int) -> int:
    """Number of bins of a PIT histogram that suits n values: 2 n^(1/3), between 4 and 20.

    Example:
        >>> count_bins(10), count_bins(100), count_bins(10_000)
        (4, 9, 20)
    """
    return int(np.clip(round(2 * check_count(n, "n") ** (1 / 3)), 4, 20))
