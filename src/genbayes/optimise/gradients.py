"""A gradient for scores that offer none, from differences, all in one call of the score."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from genbayes.arrays import BoolArray, FloatArray

__all__ = ["Gradient", "Score", "by_differences"]

Score = Callable[[FloatArray], FloatArray]  # points, (n, d), to scores, (n,)
Gradient = Callable[[FloatArray], tuple[float, FloatArray]]  # one point, (d,), to its score and its slope, (d,)

STEP = 1e-4  # of an axis: scores have curvature of order one there and are exact to many digits


def by_differences(score: Score, free: BoolArray) -> Gradient:
    """Score and slope at a point by central differences along the free axes, one-sided at a wall.

    Args:
        score: Points of the unit cube, (n, d), to scores, (n,).
        free: Axes to move along, shape (d,); the slope along the others is 0.

    Example:
        >>> slope = by_differences(lambda U: (U**2).sum(axis=1), np.array([True, False]))
        >>> value, gradient = slope(np.array([0.5, 0.5]))
        >>> round(value, 6), gradient.round(6)
        (0.5, array([1., 0.]))
    """
    axes = np.flatnonzero(free)

    def gradient(u: FloatArray) -> tuple[float, FloatArray]:
        points = np.tile(u, (2 * len(axes) + 1, 1))
        rows = np.arange(len(axes))
        points[1 + rows, axes] = np.minimum(u[axes] + STEP, 1.0)
        points[1 + len(axes) + rows, axes] = np.maximum(u[axes] - STEP, 0.0)
        values = score(points)
        if not np.isfinite(values).all():  # ruled out here or next to here: no slope to follow
            return float(values[0]), np.zeros(len(u))
        rise = values[1 : 1 + len(axes)] - values[1 + len(axes) :]
        slope = np.zeros(len(u))
        slope[axes] = rise / (points[1 + rows, axes] - points[1 + len(axes) + rows, axes])
        return float(values[0]), slope

    return gradient
