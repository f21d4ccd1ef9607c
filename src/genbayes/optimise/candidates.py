"""Candidates: even points over the whole box, and points near those that have proved good."""

from __future__ import annotations

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.data.space import Box
from genbayes.validation import check_count

__all__ = ["draw_candidates"]

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
