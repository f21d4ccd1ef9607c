"""The Matern-5/2 correlation in NumPy, with its slope, for those who do not need torch; in torch: `kernel.py`."""

from __future__ import annotations

import numpy as np

from genbayes.arrays import FloatArray

__all__ = ["matern52_with_slope"]


def matern52_with_slope(s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(1 + r + r^2 / 3) exp(-r), r = sqrt(5 s), and its derivative in s, at the price of one exponential.

    Source: Rasmussen & Williams (2006), equation 4.17.

    Args:
        s: Squared scaled distances, any shape.

    Returns:
        Correlation and its derivative with respect to s, each of the shape of s.

    Example:
        >>> correlation, slope = matern52_with_slope(np.array([0.2]))
        >>> correlation.round(4), slope.round(4)
        (array([0.8584]), array([-0.6131]))
    """
    # In place: at these sizes the passes through memory cost more than the arithmetic.
    r = np.multiply(s, 5.0)
    np.sqrt(r, out=r)
    decay = np.negative(r)
    np.exp(decay, out=decay)
    r += 1
    r *= decay  # (1 + r) exp(-r)
    decay *= s
    decay *= 5 / 3  # (r^2 / 3) exp(-r)
    decay += r
    r *= -5 / 6
    return decay, r
