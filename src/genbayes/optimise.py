"""Maximise a score over a Box: score many even candidates, then go uphill from the best few.

Whole numbers and categories are searched by the candidates only; along real inputs the climb follows differences, all
of a point in one call of the score.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from genbayes.arrays import BoolArray, FloatArray
from genbayes.data import Box
from genbayes.validation import check_count

Score = Callable[[FloatArray], FloatArray]  # points of the unit cube, (n, d), to scores, (n,)

N_CLIMBS = 2  # from the best candidates, chosen apart from each other
N_STEPS = 15  # of a climb: the score is itself an estimate, its last digits are worth nothing
STEP = 1e-4  # of a difference, as a share of an axis: scores have curvature of order one and are exact to many digits


def maximise(
    score: Score, space: Box, rng: np.random.Generator, *, n_candidates: int = 500
) -> tuple[FloatArray, float]:
    """The point of the unit cube at which a score is highest, shape (d,), and its score.

    Args:
        score: Points, (n, d), to scores, (n,); where it is NaN or infinite a point is ruled out.
        space: The inputs that the cube stands for; whole numbers and categories come out as values they can take.
        rng: The source of all randomness.
        n_candidates: Points of a scrambled Sobol sequence that are scored first.

    Example:
        >>> u, _ = maximise(lambda U: -((U - 0.3) ** 2).sum(axis=1), Box.unit(3), np.random.default_rng(0))
        >>> u.round(4)
        array([0.3, 0.3, 0.3])
    """
    U = space.sobol(check_count(n_candidates, "n_candidates"), rng)
    free = space.is_continuous
    if not free.all():
        U = space.snap(U)
    values = score(U)
    assert values.shape == (len(U),)
    values = np.where(np.isnan(values), -np.inf, values)
    best = U[values.argmax()], float(values.max())
    if not free.any() or not np.isfinite(best[1]):
        return best
    for start in _apart(U, values, N_CLIMBS):
        found = _climb(score, U[start], free)
        if found[1] > best[1]:
            best = found
    return best


def _apart(U: FloatArray, values: FloatArray, k: int) -> list[int]:
    """Rows of the k best points of which none is within a tenth of the cube's diagonal of a better one."""
    far = 0.1 * np.sqrt(U.shape[1])
    chosen: list[int] = []
    for i in np.argsort(-values)[: 20 * k]:
        if len(chosen) == k:
            break
        if np.isfinite(values[i]) and all(np.linalg.norm(U[i] - U[j]) > far for j in chosen):
            chosen.append(int(i))
    return chosen


def _climb(score: Score, start: FloatArray, free: BoolArray) -> tuple[FloatArray, float]:
    """Uphill from a point along the free axes by L-BFGS-B (Byrd, Lu, Nocedal & Zhu 1995); the start at worst."""
    from scipy.optimize import minimize  # slow to import

    value, slope = _with_slope(score, start, free)
    if not np.isfinite(value):
        return start, value
    size = max(float(np.abs(slope[free]).max(initial=0.0)), np.finfo(np.float64).tiny)

    def put(x: FloatArray) -> FloatArray:
        u = start.copy()
        u[free] = x
        return u

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        found, rise = _with_slope(score, put(x), free)
        if not np.isfinite(found):  # ruled out, by far more than any slope; L-BFGS-B cannot take infinity
            return 1e10, np.zeros(len(x))
        return -found / size, -rise[free] / size  # so that tolerances mean the same for all scores

    walls = [(0.0, 1.0)] * int(free.sum())
    result = minimize(loss, start[free], jac=True, method="L-BFGS-B", bounds=walls, options={"maxiter": N_STEPS})
    end = put(np.clip(result.x, 0.0, 1.0))
    reached, _ = _with_slope(score, end, free)  # result.fun may belong to another point when the line search gave up
    return (end, reached) if reached > value else (start, value)


def _with_slope(score: Score, u: FloatArray, free: BoolArray) -> tuple[float, FloatArray]:
    """Score of a point, (d,), and its slope by central differences along the free axes, one-sided at a wall."""
    axes = np.flatnonzero(free)
    rows, k = np.arange(len(axes)), len(axes)
    points = np.tile(u, (2 * k + 1, 1))
    points[1 + rows, axes] = np.minimum(u[axes] + STEP, 1.0)
    points[1 + k + rows, axes] = np.maximum(u[axes] - STEP, 0.0)
    values = score(points)
    slope = np.zeros(len(u))
    if np.isfinite(values).all():  # else ruled out here or next to here: no slope to follow
        rise = values[1 : 1 + k] - values[1 + k :]
        slope[axes] = rise / (points[1 + rows, axes] - points[1 + k + rows, axes])
    return float(values[0]), slope
