"""Monotone to the last bit: lines that never fall, and exact inversion, in floating point.

The largest float that satisfies a condition is found by stepping through the floats themselves: seen as whole
numbers, neighbouring floats are neighbours. This makes `ppf(u) <= y` and `u <= cdf(y)` agree to the last bit.
"""

from collections.abc import Callable

import numpy as np

from genbayes.arrays import BoolArray, FloatArray, IntArray

LARGEST = float(np.finfo(np.float64).max)
LARGEST_LEVEL = 1 - 2.0**-53  # the float below 1
SMALLEST_LEVEL = 2.0**-1022  # the smallest float with all its digits

GROWTH = 4  # of the steps that walk away from the guess: few probes near it, few more far from it
LONGEST_STEP = 2**60
SECANT_STEPS = 12  # enough for rounding error on a smooth function; exact stepping finishes the others
SECANT_TOLERANCE = 4e-16


def to_ordinal(x: FloatArray) -> IntArray:
    """Number of each float in the order of all floats, 0 for zero; neighbours differ by one.

    Example:
        >>> to_ordinal(np.array([0.0, 5e-324, -5e-324]))
        array([ 0,  1, -1])
    """
    bits = np.ascontiguousarray(x, dtype=np.float64).view(np.int64)
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)


def from_ordinal(number: IntArray) -> FloatArray:
    """Inverse of `to_ordinal`.

    Example:
        >>> from_ordinal(to_ordinal(np.array([-1.5, 2.0])))
        array([-1.5,  2. ])
    """
    return np.where(number < 0, np.iinfo(np.int64).min - number, number).view(np.float64)


def chord(u: FloatArray, u_a: FloatArray, u_b: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    """Height at u of the line from (u_a, a) to (u_b, b): exactly a and b at its ends, never falling in between.

    Example:
        >>> chord(np.array([0.3]), np.array([0.2]), np.array([0.4]), np.array([1.0]), np.array([2.0]))
        array([1.5])
    """
    run = u_b - u_a
    t = (u - u_a) / np.where(run > 0, run, 1)
    return np.where(u < u_b, np.minimum(a + (b - a) * t, b), b)


def largest_where(
    holds: Callable[[IntArray, FloatArray], BoolArray], low: FloatArray, high: FloatArray, guess: FloatArray
) -> FloatArray:
    """Largest float x with holds(x), for each of N conditions that hold at `low`, fail at `high` and change once.

    Steps grow away from the guess until the answer is enclosed, then the enclosure is halved: about 3 log4 of
    the guess's error in units of the last place.

    Args:
        holds: Truth of the conditions with indices k at the points x, (K,), (K,) -> (K,).
        low: Where each condition holds, or is taken to, shape (N,).
        high: Where each fails, or is taken to, shape (N,).
        guess: Where to begin, shape (N,).

    Returns:
        Shape (N,), in [low, high).

    Example:
        >>> one = np.ones(1)
        >>> largest_where(lambda k, x: x * x <= 2, one, 2 * one, guess=1.4 * one)
        array([1.41421356])
    """
    a, b = to_ordinal(low), to_ordinal(high)
    k = np.flatnonzero(a + 1 < b)
    probe = np.clip(to_ordinal(guess)[k], a[k] + 1, b[k] - 1)
    step = 1
    while k.size:
        true = holds(k, from_ordinal(probe))
        a[k[true]] = probe[true]
        b[k[~true]] = probe[~true]
        open_ = a[k] + 1 < b[k]
        k, true = k[open_], true[open_]
        half = (b[k] >> 1) - (a[k] >> 1)  # halved first: the distance itself may overflow
        stride = np.clip(half, 1, step)
        probe = np.where(true, a[k] + stride, b[k] - stride)
        step = min(step * GROWTH, LONGEST_STEP)
    return from_ordinal(a)


def secant(g: Callable[[IntArray, FloatArray], FloatArray], low: FloatArray, high: FloatArray) -> FloatArray:
    """About where each of N non-decreasing functions changes sign between low and high: a guess for `largest_where`.

    Illinois steps (Dowell and Jarratt 1971): an end that stays twice in a row has its value halved, so that it moves.

    Args:
        g: Values of the functions with indices k at the points x, (K,), (K,) -> (K,).
        low: Where each is negative, shape (N,).
        high: Where each is positive, shape (N,).

    Returns:
        Shape (N,).

    Example:
        >>> secant(lambda k, x: x * x - 2, np.ones(1), np.full(1, 2.0))
        array([1.41421356])
    """
    root = high.copy()
    k = np.flatnonzero(low < high)
    a, b = low[k], high[k]
    g_a, g_b = g(k, a), g(k, b)
    side = np.zeros(k.shape)  # which end moved last
    for _ in range(SECANT_STEPS):
        rise = g_b - g_a
        c = np.clip(b - (b - a) * np.divide(g_b, rise, out=np.full(k.shape, 0.5), where=rise > 0), a, b)
        g_c = g(k, c)
        root[k] = c
        left = g_c < 0
        g_a = np.where(left, g_c, np.where(side > 0, g_a / 2, g_a))
        g_b = np.where(left, np.where(side < 0, g_b / 2, g_b), g_c)
        a, b, side = np.where(left, c, a), np.where(left, b, c), np.where(left, -1.0, 1.0)
        going = np.abs(g_c) > SECANT_TOLERANCE
        k, a, b, g_a, g_b, side = k[going], a[going], b[going], g_a[going], g_b[going], side[going]
    return root
