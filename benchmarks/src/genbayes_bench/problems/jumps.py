"""Phantom and Star, paper section 6.2: two levels on a grid, parted by a sine wave or by the outline of a star.

Formula versions of the data of Flowers et al. (2026), which are not public: 101 x 101 points, inputs scaled to [0, 1].
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from genbayes.arrays import BoolArray, FloatArray
from genbayes_bench.problems.problem import Problem
from genbayes_bench.problems.split import Split
from genbayes_bench.protocol import Protocol

__all__ = [
    "FLOWERS",
    "PROBLEMS",
    "PROTOCOLS",
    "draw_phantom",
    "draw_star",
    "is_above_wave",
    "is_inside_star",
    "split_grid",
]

SIDE = 101
TEST_SHARE = 0.1
LOW, HIGH = 0.2, 0.8
PHANTOM_SD, STAR_SD = 0.012, 0.018
OUTER, INNER, TIPS = 1.2, 0.46, 5  # radii of the star in [-1.5, 1.5]^2, one tip at (0, 1.2)
STREAM = 62  # paper section 6.2


def is_above_wave(X: FloatArray) -> BoolArray:
    """Whether v > sin(u), with (u, v) in [0, 4 pi] x [-1.5, 1.5] for x in [0, 1]^2, (n, 2) -> (n,).

    Example:
        >>> is_above_wave(np.array([[0.125, 0.5], [0.375, 0.5]]))
        array([False,  True])
    """
    u, v = 4 * np.pi * X[:, 0], 3 * X[:, 1] - 1.5
    return np.asarray(v > np.sin(u))


def is_inside_star(X: FloatArray) -> BoolArray:
    """Whether x in [0, 1]^2 lies within the five-pointed star, (n, 2) -> (n,).

    Folded onto one half of a tip, by symmetry, the star ends at the line from the tip to the next inner corner.

    Example:
        >>> is_inside_star(np.array([[0.5, 0.5], [0.5, 0.89], [0.5, 0.91], [0.5, 0.2]]))
        array([ True,  True, False, False])
    """
    u, v = (3 * X - 1.5).T
    half = np.pi / TIPS
    angle = np.abs((np.arctan2(u, v) + half) % (2 * half) - half)  # from the nearest tip, 0 to pi/5
    p, q = np.hypot(u, v) * np.cos(angle), np.hypot(u, v) * np.sin(angle)
    a, b = INNER * np.cos(half), INNER * np.sin(half)  # the inner corner; the tip is at (OUTER, 0)
    return np.asarray((a - OUTER) * q - b * (p - OUTER) >= 0)


def draw_phantom(replicate: int) -> Split:
    """One replicate: y ~ N(0.8, 0.012^2) above the wave, N(0.2, 0.012^2) below; a random 90:10 split.

    Example:
        >>> draw_phantom(0).X_train.shape
        (9181, 2)
    """
    X = _grid()
    return _draw(X, is_above_wave(X), PHANTOM_SD, np.random.default_rng([STREAM, 0, replicate]))


def draw_star(replicate: int) -> Split:
    """One replicate: y ~ N(0.8, 0.018^2) inside the star, N(0.2, 0.018^2) outside; a random 90:10 split.

    Example:
        >>> draw_star(0).X_test.shape
        (1020, 2)
    """
    X = _grid()
    return _draw(X, is_inside_star(X), STAR_SD, np.random.default_rng([STREAM, 1, replicate]))


def split_grid(X: FloatArray, y: FloatArray, f: FloatArray, rng: np.random.Generator) -> Split:
    """A random 90:10 split of runs with inputs X, responses y and noise-free f, (n, d), (n,) and (n,)."""
    order = rng.permutation(len(y))
    test, train = np.split(order, [round(TEST_SHARE * len(y))])
    return Split(X[train], y[train], X[test], y[test], f[test])


def _draw(X: FloatArray, is_high: BoolArray, sd: float, rng: np.random.Generator) -> Split:
    f = np.where(is_high, HIGH, LOW)
    split = split_grid(X, f + sd * rng.standard_normal(len(f)), f, rng)
    return Split(split.X_train, split.y_train, split.X_test, split.y_test, split.f_test, sd)


def _grid() -> FloatArray:
    """The points of the grid, shape (10201, 2)."""
    side = np.linspace(0, 1, SIDE)
    return np.column_stack([np.repeat(side, SIDE), np.tile(side, SIDE)])


# 90:10 splits of 10,201 runs; the paper's weights and epochs for data that jump
FLOWERS = Protocol(
    "phantom",
    n_train=9_181,
    n_test=1_020,
    n_replicates=20,
    source="Table 5",
    paper_settings={"weights": "quantile-dominant", "n_epochs": 6_000},
)
STANDIN = "formula in place of the data of Flowers et al. (2026), which are not public"
PROBLEMS = (
    Problem(
        "phantom",
        "two levels parted by a sine wave",
        n_inputs=2,
        draw=lambda replicate, n_train, n_test: draw_phantom(replicate).first(n_train, n_test),
        source="paper section 6.2",
        standin=STANDIN,
        jumps=True,
    ),
    Problem(
        "star",
        "two levels parted by a five-pointed star",
        n_inputs=2,
        draw=lambda replicate, n_train, n_test: draw_star(replicate).first(n_train, n_test),
        source="paper section 6.2",
        standin=STANDIN,
        jumps=True,
    ),
)
PROTOCOLS = (FLOWERS, replace(FLOWERS, problem="star"))
