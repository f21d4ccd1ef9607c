"""From a good candidate uphill to a better one, within the unit cube and along the continuous axes only."""

from __future__ import annotations

import numpy as np

from genbayes.arrays import BoolArray, FloatArray
from genbayes.optimise.gradients import Gradient, Score

__all__ = ["climb_uphill", "search_downhill_simplex"]

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
