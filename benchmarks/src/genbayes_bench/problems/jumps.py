"""Problems whose response jumps: Bi-mixture GPs (paper section 5.3), Phantom and Star (6.2), and one jump in one input.

Phantom and Star are formula versions of the data of Flowers et al. (2026), which are not public: two levels on a grid
of 101 x 101 points, inputs scaled to [0, 1], parted by a sine wave or by the outline of a star.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from genbayes.arrays import BoolArray, FloatArray
from genbayes_bench.problems.problem import Problem, Protocol, Split
from genbayes_bench.problems.sampling import cut, draws_of

SIDE = 101
OUTER, INNER, TIPS = 1.2, 0.46, 5  # radii of the star in [-1.5, 1.5]^2, one tip at (0, 1.2)
STREAM_GRID, STREAM_BGP = 62, 53  # paper sections 6.2 and 5.3; these keep the draws of problems apart
N_BGP, N_BGP_TRAIN = 2_000, 1_600
BGP_SD = 2.0


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
    return _draw(X, is_above_wave(X), 0.012, np.random.default_rng([STREAM_GRID, 0, replicate]))


def draw_star(replicate: int) -> Split:
    """One replicate: y ~ N(0.8, 0.018^2) inside the star, N(0.2, 0.018^2) outside; a random 90:10 split.

    Example:
        >>> draw_star(0).X_test.shape
        (1020, 2)
    """
    X = _grid()
    return _draw(X, is_inside_star(X), 0.018, np.random.default_rng([STREAM_GRID, 1, replicate]))


def _draw(X: FloatArray, is_high: BoolArray, sd: float, rng: np.random.Generator) -> Split:
    f = np.where(is_high, 0.8, 0.2)
    y = f + sd * rng.standard_normal(len(f))
    order = rng.permutation(len(y))
    test, train = np.split(order, [round(0.1 * len(y))])
    return Split(X[train], y[train], X[test], y[test], f[test], sd)


def _grid() -> FloatArray:
    """The points of the grid, shape (10201, 2)."""
    side = np.linspace(0, 1, SIDE)
    return np.column_stack([np.repeat(side, SIDE), np.tile(side, SIDE)])


def draw_bgp(d: int, replicate: int) -> Split:
    """One realisation: x uniform on [-1/2, 1/2]^d, f_1 ~ GP(0, 9 k) where a'x >= 0, f_2 ~ GP(13, 9 k) elsewhere.

    k is the squared-exponential kernel of length 0.1 d, a is uniform on {-1, +1}^d, y = f + N(0, 2^2).

    Args:
        d: Number of inputs, 2 to 4 in the paper.
        replicate: Number of the realisation; each has its own plane, surfaces and noise.

    Returns:
        1,600 training and 400 test runs.

    Example:
        >>> draw_bgp(2, 0).X_train.shape
        (1600, 2)
    """
    rng = np.random.default_rng([STREAM_BGP, d, replicate])
    X = rng.uniform(-0.5, 0.5, (N_BGP, d))
    a = rng.choice([-1.0, 1.0], d)
    length = 0.1 * d
    squared = (X**2).sum(axis=1)
    distance = np.maximum(squared[:, None] + squared - 2 * X @ X.T, 0)
    k = np.exp(-distance / (2 * length**2)) + 1e-8 * np.eye(N_BGP)  # the jitter makes the factorisation possible
    surfaces = 3 * np.linalg.cholesky(k) @ rng.standard_normal((N_BGP, 2))
    f = np.where(X @ a >= 0, surfaces[:, 0], 13 + surfaces[:, 1])
    y = f + BGP_SD * rng.standard_normal(N_BGP)
    train, test = np.split(rng.permutation(N_BGP), [N_BGP_TRAIN])
    return Split(X[train], y[train], X[test], y[test], f[test], BGP_SD)


def jump(X: FloatArray) -> FloatArray:
    """sin(6 x) + 2 1{x > 1/2}, x in [0, 1], (n, 1) -> (n,); the kind of function that the paper's Figure 1 shows.

    Example:
        >>> jump(np.array([[0.0], [1.0]])).round(4)
        array([0.    , 1.7206])
    """
    x = X[:, 0]
    return np.asarray(np.sin(6 * x) + 2 * (x > 0.5))


BGP = tuple(
    Problem(
        f"bgp{d}",
        f"two GP surfaces parted by a plane, d = {d} (Park et al.)",
        n_inputs=d,
        draw=cut(partial(draw_bgp, d)),
        source="paper section 5.3",
        jumps=True,
    )
    for d in (2, 3, 4)
)
BGP_PROTOCOLS = tuple(
    Protocol(
        problem.name,
        n_train=N_BGP_TRAIN,
        n_test=N_BGP - N_BGP_TRAIN,
        n_replicates=20,
        source="Table 2",
        metrics=("crps", "rmse", "coverage", "ratio"),
    )
    for problem in BGP
)

PHANTOM = Problem(
    "phantom",
    "two levels parted by a sine wave",
    n_inputs=2,
    draw=cut(draw_phantom),
    source="paper section 6.2",
    standin="formula in place of the data of Flowers et al. (2026), which are not public",
    jumps=True,
)
LEVELS = (
    PHANTOM,
    replace(PHANTOM, name="star", title="two levels parted by a five-pointed star", draw=cut(draw_star)),
)
FLOWERS = Protocol(  # 90:10 splits of 10,201 runs; the paper's weights and epochs for data that jump
    "phantom",
    n_train=9_181,
    n_test=1_020,
    n_replicates=20,
    source="Table 5",
    paper_settings={"weights": "quantile-dominant", "n_epochs": 6_000},
)
LEVELS_PROTOCOLS = (FLOWERS, replace(FLOWERS, problem="star"))

JUMP = Problem(
    "jump1d",
    "a smooth curve with one jump, no noise",
    n_inputs=1,
    draw=draws_of(jump, [0.0], [1.0], stream=21),
    source="paper section 2.2",
    standin="formula of ours, since the paper shows its function only as a picture",
    jumps=True,
)
# the paper draws one picture; ten replicates also say who is better
JUMP_PROTOCOL = Protocol("jump1d", n_train=100, n_test=500, n_replicates=10, source="Figure 1")
