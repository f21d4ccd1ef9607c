"""Exact integrals of laws whose quantile function is piecewise linear with exponential tails: moments and CRPS.

Between two knots (a, u_a) and (b, u_b) both Q and F are straight lines, so that every integral is a polynomial.
"""

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.distribution.knots import Knots
from genbayes.distribution.search import entry, rank
from genbayes.distribution.tails import tail_crps, tail_moments, tail_square

__all__ = ["crps", "moments"]


def moments(knots: Knots) -> tuple[FloatArray, FloatArray]:
    """Mean and variance, the integrals of Q and of (Q - mean)^2 over (0, 1), each (n,).

    With weight w = u_b - u_a a segment contributes w (a + b) / 2 and w (a^2 + a b + b^2) / 3; a tail the moments of
    its distance from the outermost knot.
    """
    values, lower, upper = knots.values, knots.lower, knots.upper
    w = np.diff(knots.levels, axis=1)
    centre = values[:, values.shape[1] // 2]  # deviations from it keep the digits of rows far from zero
    z = values - centre[:, None]
    low, low_square = tail_moments(lower)  # of z_1 - Y
    high, high_square = tail_moments(upper)  # of Y - z_M
    shift = (w * (z[:, :-1] + z[:, 1:]) / 2).sum(axis=1) + lower.v * (z[:, 0] - low) + upper.v * (z[:, -1] + high)
    z = z - shift[:, None]
    a, b = z[:, :-1], z[:, 1:]
    variance = (w * (a * a + a * b + b * b) / 3).sum(axis=1)
    variance += lower.v * (z[:, 0] ** 2 - 2 * z[:, 0] * low + low_square)
    variance += upper.v * (z[:, -1] ** 2 + 2 * z[:, -1] * high + high_square)
    return centre + shift, np.maximum(variance, 0)


def crps(knots: Knots, y: FloatArray) -> FloatArray:
    """CRPS of observations y (n,): the integral of F^2 up to y plus that of (1 - F)^2 from y on, shape (n,).

    A piece of length h over which F runs from u_a to u_b contributes h (u_a^2 + u_a u_b + u_b^2) / 3 on the left
    of y, and the same in 1 - u on its right.
    """
    n, M = knots.values.shape
    h = np.diff(knots.values, axis=1)
    v = 1 - knots.levels
    left, right = np.zeros((n, M)), np.zeros((n, M))  # of F^2 up to each knot, of (1 - F)^2 from each knot on
    np.cumsum(_square(h, knots.levels[:, :-1], knots.levels[:, 1:]), axis=1, out=left[:, 1:])
    np.cumsum(_square(h, v[:, :-1], v[:, 1:])[:, ::-1], axis=1, out=right[:, -2::-1])
    left += tail_square(knots.lower)[:, None]
    right += tail_square(knots.upper)[:, None]

    row = np.arange(n)
    i = rank(knots.values, row, y, "right")
    p = knots.level(row, y, i, before=False)
    u_a, u_b, a, b = knots.segment(row, i)
    inside = _square(y - a, u_a, p) + _square(b - y, 1 - p, 1 - u_b)
    inside += entry(left, row, np.maximum(i - 1, 0)) + entry(right, row, np.minimum(i, M - 1))
    below = tail_crps(np.minimum(y, knots.lower.z), knots.lower) + right[:, 0]
    above = tail_crps(np.minimum(-y, knots.upper.z), knots.upper) + left[:, -1]
    return np.select([i == 0, i == M], [below, above], inside)


def _square(h: FloatArray, u_a: FloatArray, u_b: FloatArray) -> FloatArray:
    """Integral of the square of a line from u_a to u_b over a length h."""
    return h * (u_a * u_a + u_a * u_b + u_b * u_b) / 3
