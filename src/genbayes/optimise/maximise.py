"""Maximise a score over a Box: score many candidates, then go uphill from the best few.

Whole numbers and categories are searched by the candidates only; real inputs are also moved along, by gradients where
the score offers them, by differences where it is smooth, by a simplex where it is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from genbayes.arrays import BoolArray, FloatArray
from genbayes.data.space import Box
from genbayes.optimise.candidates import draw_candidates
from genbayes.optimise.gradients import Gradient, Score, by_differences
from genbayes.optimise.refining import climb_uphill, search_downhill_simplex
from genbayes.validation import check_choice, check_count

__all__ = ["Best", "Refine", "maximise"]

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
