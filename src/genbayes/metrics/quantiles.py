"""Scores of quantiles and of prediction intervals: the pinball loss, the interval score, coverage and width.

Coverage and width only make sense together; the interval score weighs them in one proper number.
"""

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.validation import check_array, check_column, check_level, check_targets, check_tau, describe_rows


def pinball(q: ArrayLike, y: ArrayLike, tau: ArrayLike) -> FloatArray:
    """Pinball loss rho_tau(y - q) of quantiles, Koenker and Bassett (1978), paper section 3.3.

    rho_tau(e) = max(tau e, (tau - 1) e). Twice its integral over tau is the CRPS.

    Args:
        q: Quantiles at the levels tau, shape (n,) for one level or (n, m).
        y: Observations, shape (n,).
        tau: One level, or m of them.

    Returns:
        One loss per quantile, smaller is better, in the shape of q.

    Example:
        >>> pinball(np.array([1.0, 1.0]), np.array([3.0, 0.0]), tau=0.9)
        array([1.8, 0.1])
    """
    tau = check_tau(tau)
    q = check_array(q, "q", "(n, m)" if tau.ndim else "(n,)")
    y = check_targets(y, len(q))
    if tau.ndim and q.shape[1] != len(tau):
        raise InvalidInput(f"q must have one column per level, {len(tau)}, got shape {q.shape}")
    e = (y if q.ndim == 1 else y[:, None]) - q
    return check_loss(e, tau)


def check_loss(e: FloatArray, tau: FloatArray) -> FloatArray:
    """rho_tau(e) = max(tau e, (tau - 1) e), the pinball loss of errors e = y - q; arrays that broadcast together.

    Example:
        >>> check_loss(np.array([-1.0, 2.0]), np.array(0.25))
        array([0.75, 0.5 ])
    """
    return np.maximum(tau * e, (tau - 1) * e)


def interval_score(lower: ArrayLike, upper: ArrayLike, y: ArrayLike, level: float) -> FloatArray:
    """Score of central prediction intervals: width, plus a penalty for what lies outside.

    (upper - lower) + 2 / (1 - level) ((lower - y)_+ + (y - upper)_+)
    (Winkler 1972; Gneiting and Raftery 2007, section 6.2).

    Args:
        lower: Lower ends, shape (n,).
        upper: Upper ends, not below the lower ones, shape (n,).
        y: Observations, shape (n,).
        level: Nominal coverage, 0.9 for 90%.

    Returns:
        One score per interval, smaller is better, shape (n,).

    Example:
        >>> interval_score([0.0, 0.0], [1.0, 1.0], [0.5, 1.5], level=0.5)
        array([1., 3.])
    """
    lower, upper = check_ends(lower, upper)
    y = check_targets(y, len(lower))
    penalty = 2 / (1 - check_level(level))
    return (upper - lower) + penalty * (np.maximum(lower - y, 0) + np.maximum(y - upper, 0))


def coverage(lower: ArrayLike, upper: ArrayLike, y: ArrayLike) -> float:
    """Share of observations within their intervals, ends included; paper section 5.1.

    mean_i 1{lower_i <= y_i <= upper_i}, to be compared with the nominal level.

    Args:
        lower: Lower ends, shape (n,).
        upper: Upper ends, not below the lower ones, shape (n,).
        y: Observations, shape (n,).

    Returns:
        A number between 0 and 1.

    Example:
        >>> coverage([0.0, 0.0], [1.0, 1.0], [0.5, 1.5])
        0.5
    """
    lower, upper = check_ends(lower, upper, fewest=1)
    y = check_targets(y, len(lower))
    return float(((lower <= y) & (y <= upper)).mean())


def interval_width(lower: ArrayLike, upper: ArrayLike) -> float:
    """Mean width of intervals, mean_i (upper_i - lower_i): at equal coverage, narrower is better.

    The companion of `coverage` (Gneiting, Balabdaoui and Raftery 2007: sharpness subject to calibration).

    Args:
        lower: Lower ends, shape (n,).
        upper: Upper ends, not below the lower ones, shape (n,).

    Returns:
        A number, zero or positive.

    Example:
        >>> interval_width([0.0, 0.0], [1.0, 2.0])
        1.5
    """
    lower, upper = check_ends(lower, upper, fewest=1)
    return float((upper - lower).mean())


def check_ends(lower: ArrayLike, upper: ArrayLike, fewest: int = 0) -> tuple[FloatArray, FloatArray]:
    """Both ends of intervals, each (n,), the lower not above the upper; a mean over them needs at least one."""
    lower = check_array(lower, "lower", "(n,)")
    upper = check_column(upper, "upper", len(lower))
    if len(lower) < fewest:
        raise InvalidInput("lower must hold at least one interval, got none")
    crossed = lower > upper
    if crossed.any():
        raise InvalidInput(f"lower must not exceed upper, got {describe_rows(crossed)} where it does")
    return lower, upper
