"""Correlations that differ in smoothness, with their slopes, from squared distances in units of the length scales.

How smooth a simulator is says how far a run is felt, which matters for prediction and even more for design. So the
rougher Matern kernels stand beside the squared exponential, and the runs choose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.gp.matern import matern52_with_slope

__all__ = ["CORRELATIONS", "Correlation", "matern32_with_slope", "squared_exponential_with_slope"]

Correlation = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


def squared_exponential_with_slope(s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """exp(-s / 2) of squared scaled distances s, and its derivative with respect to s, each of the shape of s.

    Example:
        >>> correlation, slope = squared_exponential_with_slope(np.array([2.0]))
        >>> correlation.round(4), slope.round(4)
        (array([0.3679]), array([-0.1839]))
    """
    correlation = np.exp(-0.5 * s)
    return correlation, -0.5 * correlation


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
