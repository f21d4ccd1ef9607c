"""Maximise a score over a Box: score many candidates, then go uphill from the best few.

Whole numbers and categories are searched by the candidates only; real inputs are also moved along, by gradients where
the score offers them, by differences where it is smooth, by a simplex where it is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from genbayes.arrays import BoolArray, FloatArray
from genbayes.data import Box
from genbayes.validation import check_choice, check_count

RADII = (0.1, 0.02)  # of the clouds around good points, as shares of each axis
RESHUFFLED = 0.5  # chance that a whole number or category is drawn anew in such a cloud


def draw_candidates(
    space: Box, n: int, rng: np.random.Generator, near: FloatArray | None = None, n_near: int = 0
) -> FloatArray:
    """Points of the unit cube to look at first.

    Args:
        space: The inputs; whole numbers and categories come out as values they can take.
        n: Even points, a scrambled Sobol sequence.
        rng: The source of all randomness.
        near: Points that have proved good, shape (k, d).
        n_near: Points around each of them.

    Returns:
        Shape (n + k n_near, d).

    Example:
        >>> draw_candidates(Box.unit(2), 8, np.random.default_rng(0), np.array([[0.5, 0.5]]), 3).shape
        (11, 2)
    """
    parts = [space.sobol(check_count(n, "n"), rng)]
    if near is not None and n_near:
        parts += [_cloud(space, centre, n_near, rng) for centre in near]
    U = np.vstack(parts)
    return U if space.is_continuous.all() else space.snap(U)


def _cloud(space: Box, centre: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Points around one; axes without a notion of near are kept or drawn anew."""
    radius = rng.choice(RADII, size=(n, 1))
    U = np.clip(centre + radius * rng.standard_normal((n, space.d)), 0.0, 1.0)
    steps = ~space.is_continuous
    anew = rng.uniform(size=(n, space.d)) < RESHUFFLED
    jump = np.where(anew, rng.uniform(size=(n, space.d)), centre)
    return np.asarray(np.where(steps, jump, U))


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


N_CLIMBS = 15  # iterations of L-BFGS-B: the score is itself an estimate, its last digits are worth nothing
N_FLIPS = 60  # moves of the simplex for each axis
RULED_OUT = 1e10  # loss, in units of the first slope, where a score is not finite; L-BFGS-B cannot take infinity
FIRST_SIMPLEX = 0.05  # its size, as a share of each axis


def climb_uphill(gradient: Gradient, start: FloatArray, free: BoolArray) -> tuple[FloatArray, float]:
    """Maximise by L-BFGS-B (Byrd, Lu, Nocedal & Zhu 1995).

    Args:
        gradient: A point, (d,), to its score and slope.
        start: Where to begin, shape (d,).
        free: Axes to move along, shape (d,).

    Returns:
        The best point, shape (d,), and its score; the start where nothing better is found.

    Example:
        >>> hill = lambda u: (-float((u - 0.3) @ (u - 0.3)), -2 * (u - 0.3))
        >>> climb_uphill(hill, np.array([0.9, 0.9]), np.array([True, False]))[0].round(4)
        array([0.3, 0.9])
    """
    from scipy.optimize import minimize  # slow to import

    value, slope = gradient(start)
    size = max(float(np.abs(slope[free]).max(initial=0.0)), np.finfo(np.float64).tiny)
    if not np.isfinite(value) or not np.isfinite(slope).all():
        return start, value

    def loss(x: FloatArray) -> tuple[float, FloatArray]:
        found, rise = gradient(_put(start, free, x))
        if not np.isfinite(found):
            return RULED_OUT, np.zeros(len(x))
        return -found / size, -rise[free] / size  # so that tolerances mean the same for all scores

    walls = [(0.0, 1.0)] * int(free.sum())
    result = minimize(loss, start[free], jac=True, method="L-BFGS-B", bounds=walls, options={"maxiter": N_CLIMBS})
    end = _put(start, free, np.clip(result.x, 0.0, 1.0))
    reached = gradient(end)[0]  # result.fun may belong to another point when the line search gave up
    return (end, reached) if reached > value else (start, value)


def search_downhill_simplex(score: Score, start: FloatArray, free: BoolArray) -> tuple[FloatArray, float]:
    """Maximise a score with kinks or steps by the simplex of Nelder & Mead (1965).

    Args:
        score: Points, (n, d), to scores, (n,).
        start: Where to begin, shape (d,).
        free: Axes to move along, shape (d,).

    Returns:
        The best point, shape (d,), and its score; the start where nothing better is found.

    Example:
        >>> hill = lambda U: -np.abs(U - 0.3).sum(axis=1)
        >>> search_downhill_simplex(hill, np.array([0.5, 0.5]), np.array([True, True]))[0].round(2)
        array([0.3, 0.3])
    """
    from scipy.optimize import minimize  # slow to import

    value = float(score(start[None])[0])
    k = int(free.sum())
    corner = start[free]
    inward = np.where(corner + FIRST_SIMPLEX <= 1.0, FIRST_SIMPLEX, -FIRST_SIMPLEX)
    simplex = np.vstack([corner, corner + np.diag(inward)])
    result = minimize(
        lambda x: -float(score(_put(start, free, x)[None])[0]),
        corner,
        method="Nelder-Mead",
        bounds=[(0.0, 1.0)] * k,
        options={"initial_simplex": simplex, "maxfev": N_FLIPS * k, "xatol": 1e-3, "fatol": 0.0},
    )
    end, reached = _put(start, free, result.x), -float(result.fun)
    return (end, reached) if reached > value else (start, value)


def _put(u: FloatArray, free: BoolArray, x: FloatArray) -> FloatArray:
    """The point u, shape (d,), with its free coordinates replaced."""
    moved = u.copy()
    moved[free] = x
    return moved


Refine = Literal["gradient", "simplex", "none"]


@dataclass(frozen=True)
class Best:
    """Where a score is highest: the point, shape (d,), and its score there."""

    u: FloatArray
    score: float


def maximise(
    score: Score,
    space: Box,
    rng: np.random.Generator,
    *,
    n_candidates: int = 500,
    n_climbs: int = 2,
    gradient: Gradient | None = None,
    refine: Refine = "gradient",
    near: FloatArray | None = None,
) -> Best:
    """The point of the unit cube at which a score is highest.

    Args:
        score: Points, (n, d), to scores, (n,).
        space: The inputs that the cube stands for.
        rng: The source of all randomness.
        n_candidates: Points that are scored first.
        n_climbs: Of these, how many to go uphill from; they are chosen apart from each other.
        gradient: One point, (d,), to its score and slope, where the score offers it; otherwise by differences.
        refine: "gradient", "simplex" for scores with kinks, or "none".
        near: Points that have proved good and around which to look more closely, shape (k, d).

    Example:
        >>> best = maximise(lambda U: -((U - 0.3) ** 2).sum(axis=1), Box.unit(3), np.random.default_rng(0))
        >>> best.u.round(4)
        array([0.3, 0.3, 0.3])
    """
    check_choice(refine, "refine", ["gradient", "simplex", "none"])
    check_count(n_climbs, "n_climbs", at_least=0)
    U = draw_candidates(space, n_candidates, rng, near, n_near=max(1, n_candidates // 10) if near is not None else 0)
    values = score(U)
    assert values.shape == (len(U),)
    values = np.where(np.isnan(values), -np.inf, values)
    best = Best(U[values.argmax()], float(values.max()))
    free = space.is_continuous
    if refine == "none" or not free.any() or not np.isfinite(best.score):
        return best
    for start in _apart(U, values, n_climbs):
        found = _climb(score, gradient, U[start], free, refine)
        if found.score > best.score:
            best = found
    return best


def _climb(score: Score, gradient: Gradient | None, start: FloatArray, free: BoolArray, refine: Refine) -> Best:
    if refine == "simplex":
        return Best(*search_downhill_simplex(score, start, free))
    return Best(*climb_uphill(gradient or by_differences(score, free), start, free))


def _apart(U: FloatArray, values: FloatArray, k: int) -> list[int]:
    """Rows of the k best points of which none is within a tenth of the cube's diagonal of a better one."""
    far = 0.1 * np.sqrt(U.shape[1])
    chosen: list[int] = []
    for i in np.argsort(-values)[: 20 * max(k, 1)]:
        if len(chosen) == k:
            break
        if np.isfinite(values[i]) and all(np.linalg.norm(U[i] - U[j]) > far for j in chosen):
            chosen.append(int(i))
    return chosen
