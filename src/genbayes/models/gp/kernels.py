"""Squared distances, and correlations that differ in smoothness and shape, with their slopes.

How smooth a simulator is says how far a run is felt, which matters for prediction and even more for design. So the
rougher Matern kernels stand beside the squared exponential, and the runs choose. A radial correlation depends on the
distance alone; a separable one is a product over the inputs, which suits inputs that act apart. NumPy, since most who
need a correlation do not need torch, which takes a second to load; `sparse` wraps one for automatic derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np

from genbayes.arrays import FloatArray

# Squared distances in units of the length scales, any shape, to correlations and their derivatives in s, of that shape.
OfSquaredDistance = Callable[[FloatArray], tuple[FloatArray, FloatArray]]


class Correlation(Protocol):
    """Correlations between inputs that were divided by their length scales, and their derivatives in those."""

    def between(self, A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Correlations C of rows, (a, p) and (b, p) -> (a, b), and what `by_log_length` wants to know, (a, b)."""

    def by_log_length(self, G: FloatArray, known: FloatArray, A: FloatArray, B: FloatArray) -> FloatArray:
        """sum_ij G_ij dC_ij / dlog length_k for every k, shape (p,), given what `between` knew; G may be spoilt."""


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


def matern72_with_slope(s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(1 + r + 2 r^2 / 5 + r^3 / 15) exp(-r), r = sqrt(7 s), and its derivative -(7/10) (1 + r + r^2 / 3) exp(-r).

    Source: Rasmussen & Williams (2006), equation 4.16.

    Example:
        >>> correlation, slope = matern72_with_slope(np.array([1 / 7]))
        >>> correlation.round(4), slope.round(4)
        (array([0.9074]), array([-0.6009]))
    """
    r = np.multiply(s, 7.0)
    np.sqrt(r, out=r)
    decay = np.negative(r)
    np.exp(decay, out=decay)
    slope = r * (1 / 3)
    slope += 1
    slope *= r
    slope += 1  # 1 + r + r^2 / 3
    correlation = r * (1 / 15)
    correlation += 1 / 15
    correlation *= r
    correlation *= r  # r^2 / 15 + r^3 / 15, which added to the above makes the polynomial
    correlation += slope
    correlation *= decay
    slope *= decay
    slope *= -0.7
    return correlation, slope


@dataclass(frozen=True)
class Radial:
    """A correlation that depends on the distance alone.

    Attributes:
        of_squares: Squared distances to correlations and slopes.

    Example:
        >>> correlation, _ = CORRELATIONS["matern52"].between(np.zeros((1, 2)), np.array([[0.0, 0.0], [0.2, 0.4]]))
        >>> correlation.round(4)
        array([[1.    , 0.8584]])
    """

    of_squares: OfSquaredDistance

    def between(self, A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Correlations and their derivatives in the squared distance, (a, p) and (b, p) -> (a, b) each."""
        return self.of_squares(squared_distances(A, B))

    def by_log_length(self, G: FloatArray, known: FloatArray, A: FloatArray, B: FloatArray) -> FloatArray:
        """sum_ij G_ij slope_ij (-2) (a_ik - b_jk)^2 for every k, shape (p,).

        The square is multiplied out, so that one product with B serves all p derivatives.
        """
        G *= known
        cross = (A * (G @ B)).sum(axis=0)
        return np.asarray(-2 * ((A * A).T @ G.sum(axis=1) + (B * B).T @ G.sum(axis=0) - 2 * cross))


@dataclass(frozen=True)
class SeparableMatern52:
    """Product over the inputs of Matern-5/2 correlations, each of one distance: inputs may act apart.

    prod_k (1 + r_k + r_k^2 / 3) exp(-r_k), r_k = sqrt(5) |a_k - b_k|. The same as `Radial` for one input.

    Example:
        >>> near = 0.2**0.5
        >>> correlation, _ = SeparableMatern52().between(np.zeros((1, 2)), np.array([[0.0, near], [near, near]]))
        >>> correlation.round(4)
        array([[0.8584, 0.7368]])
    """

    def between(self, A: FloatArray, B: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Correlations twice, (a, p) and (b, p) -> (a, b) each: the derivatives are multiples of them."""
        total, product = np.zeros((2, len(A), len(B)))
        product += 1
        for k in _moving(A, B):
            r = _distances_of(A, B, k)
            total -= r
            product *= _polynomial(r)
        np.exp(total, out=total)
        product *= total
        return product, product

    def by_log_length(self, G: FloatArray, known: FloatArray, A: FloatArray, B: FloatArray) -> FloatArray:
        """sum_ij G_ij C_ij r^2 (1 + r) / (3 + 3 r + r^2) for every k, shape (p,)."""
        G *= known
        by = np.zeros(A.shape[1])
        for k in _moving(A, B):
            r = _distances_of(A, B, k)
            share = r + 1
            share *= r
            share *= r
            share /= _polynomial(r)
            by[k] = np.vdot(G, share) / 3
        return by


def _moving(A: FloatArray, B: FloatArray) -> list[int]:
    """Inputs that differ enough to be felt: 1 - r^2 / 6 is 1 to rounding below."""
    lowest, highest = np.minimum(A.min(axis=0), B.min(axis=0)), np.maximum(A.max(axis=0), B.max(axis=0))
    return np.flatnonzero(highest - lowest > 1e-9).tolist()


def _distances_of(A: FloatArray, B: FloatArray, k: int) -> FloatArray:
    """sqrt(5) |a_ik - b_jk|, shape (a, b)."""
    r = np.subtract.outer(math.sqrt(5) * A[:, k], math.sqrt(5) * B[:, k])
    return np.abs(r, out=r)


def _polynomial(r: FloatArray) -> FloatArray:
    """1 + r + r^2 / 3, of the shape of r."""
    out = r * (1 / 3)
    out += 1
    out *= r
    out += 1
    return out


CORRELATIONS: Mapping[str, Correlation] = MappingProxyType(
    {
        "squared-exponential": Radial(squared_exponential_with_slope),
        "matern72": Radial(matern72_with_slope),
        "matern52": Radial(matern52_with_slope),
        "matern52-separable": SeparableMatern52(),
        "matern32": Radial(matern32_with_slope),
    }
)
MATERN52 = CORRELATIONS["matern52"]
