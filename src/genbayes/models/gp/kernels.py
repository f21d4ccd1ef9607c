"""Squared distances, and correlations that differ in smoothness, with their slopes.

How smooth a simulator is says how far a run is felt, which matters for prediction and even more for design. So the
rougher Matern kernels stand beside the squared exponential, and the runs choose. NumPy, since most who need a
correlation do not need torch, which takes a second to load; `sparse` wraps one for automatic derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import numpy as np

from genbayes.arrays import FloatArray

# Squared distances in units of the length scales, any shape, to correlations and their derivatives in s, of that shape.
Correlation = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


def slices(n: int, entries_per_row: int, at_once: int = 1_000_000) -> Iterator[slice]:
    """Slices of n rows whose tables hold at most so many entries: 8 MB, which a processor's cache holds.

    Example:
        >>> [part.stop for part in slices(2500, 961)]
        [1040, 2080, 2500]
    """
    size = max(1, at_once // max(1, entries_per_row))
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def squared_distances(A: FloatArray, B: FloatArray) -> FloatArray:
    """Squared distances between rows, (a, p) and (b, p) -> (a, b), never negative.

    Example:
        >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]))
        array([[25.]])
    """
    s = A @ (-2 * B.T)  # |a - b|^2 = |a|^2 + |b|^2 - 2 a.b is one matrix product
    s += (B * B).sum(axis=1)
    s += (A * A).sum(axis=1)[:, None]
    return np.maximum(s, 0.0, out=s)  # rounding may leave tiny negative numbers


def squared_exponential_with_slope(s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """exp(-s / 2) of squared scaled distances s, and its derivative with respect to s, each of the shape of s.

    Example:
        >>> correlation, slope = squared_exponential_with_slope(np.array([2.0]))
        >>> correlation.round(4), slope.round(4)
        (array([0.3679]), array([-0.1839]))
    """
    correlation = np.exp(-0.5 * s)
    return correlation, -0.5 * correlation


def matern52_with_slope(s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(1 + r + r^2 / 3) exp(-r), r = sqrt(5 s), and its derivative -(5/6) (1 + r) exp(-r), with one exponential.

    Source: Rasmussen & Williams (2006), equation 4.17.

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


def matern52(s: FloatArray, theta: float, out: FloatArray | None = None) -> FloatArray:
    """The same without its slope, at s / theta, for those who call it many thousand times; written to `out` if given.

    Example:
        >>> matern52(np.array([0.4]), 2.0).round(4)
        array([0.8584])
    """
    r = np.multiply(s, 5.0 / theta)
    np.sqrt(r, out=r)
    out = np.negative(r, out=out)
    np.exp(out, out=out)
    polynomial = r * (1.0 / 3.0)
    polynomial += 1.0
    polynomial *= r
    polynomial += 1.0  # 1 + r + r^2 / 3
    out *= polynomial
    return out


def matern32_with_slope(s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(1 + r) exp(-r), r = sqrt(3 s), of squared scaled distances s, and its derivative -(3/2) exp(-r).

    Source: Rasmussen & Williams (2006), equation 4.17.

    Example:
        >>> correlation, slope = matern32_with_slope(np.array([1 / 3]))
        >>> correlation.round(4), slope.round(4)
        (array([0.7358]), array([-0.5518]))
    """
    r = np.sqrt(3 * s)
    decay = np.exp(-r)
    return (1 + r) * decay, -1.5 * decay


CORRELATIONS: Mapping[str, Correlation] = MappingProxyType(
    {
        "squared-exponential": squared_exponential_with_slope,
        "matern52": matern52_with_slope,
        "matern32": matern32_with_slope,
    }
)
