"""How far quantiles should lie apart, by responses that the model had not seen: one factor about the median.

q_tau becomes m + s (q_tau - m), m the median. The mean CRPS of equally spaced quantiles is twice their mean pinball
loss, which is convex in q and so in s: there is one best factor. GPs, networks and the joined model of `AutoSurrogate`
all find theirs here; what they differ in is whose quantiles, on which rows, and how far they are believed.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from genbayes.arrays import FloatArray
from genbayes.metrics.quantiles import check_loss

WIDEST_RANGE = (0.2, 5.0)  # of factors; beyond, the model is wrong in other ways
PRECISION = 1e-3  # of the factor, far finer than rows can tell


def stretch_table(q: FloatArray, factor: float) -> FloatArray:
    """Quantiles at levels symmetric about 1/2 moved away from their median, (n, m) -> (n, m).

    Example:
        >>> stretch_table(np.array([[1.0, 2.0, 3.0]]), 2.0)
        array([[0., 2., 4.]])
    """
    if factor == 1:
        return q
    m = q.shape[1]
    middle = 0.5 * (q[:, (m - 1) // 2] + q[:, m // 2])[:, None]
    return np.asarray(middle + factor * (q - middle))


def best_spread(q: FloatArray, y: FloatArray, weight: FloatArray, between: tuple[float, float] = WIDEST_RANGE) -> float:
    """The factor of least mean CRPS.

    Args:
        q: Quantiles at equally spaced levels (j - 1/2) / m of rows that the model had not seen, shape (n, m).
        y: Responses, shape (n,).
        weight: Positive weights, shape (n,).
        between: Least and greatest factor.

    Example:
        >>> y = np.linspace(-1, 1, 41)
        >>> tau = (np.arange(41) + 0.5) / 41
        >>> round(best_spread(np.tile(tau - 0.5, (41, 1)), y, np.ones(41)), 3)  # 41/20
        2.05
    """
    m = q.shape[1]
    tau, share = (np.arange(m) + 0.5) / m, weight / weight.sum()

    def risk(log_factor: float) -> float:
        e = y[:, None] - stretch_table(q, float(np.exp(log_factor)))
        return float(share @ check_loss(e, tau).mean(axis=1))

    low, high = np.log(between)
    found = minimize_scalar(risk, bounds=(low, high), method="bounded", options={"xatol": PRECISION})
    ends = [low, high, 0.0] if low <= 0 <= high else [low, high]  # a bounded search never reaches its ends
    return float(np.exp(min([*ends, float(found.x)], key=risk)))


def believed(factor: float, n: float, half: float) -> float:
    """A factor that n rows ask for, its logarithm shrunk by n / (n + half): of `half` rows half is believed.

    Example:
        >>> believed(4.0, 40, 40)
        2.0
    """
    return float(factor ** (n / (n + half)))
