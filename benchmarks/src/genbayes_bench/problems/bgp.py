"""Bi-mixture Gaussian processes (Park et al.), paper section 5.3: two smooth surfaces parted by a plane."""

from __future__ import annotations

from functools import partial

import numpy as np

from genbayes_bench.problems.problem import Problem
from genbayes_bench.problems.split import Split
from genbayes_bench.protocol import Protocol

__all__ = ["PROBLEMS", "PROTOCOLS", "draw_bgp"]

N = 2_000
N_TRAIN = 1_600
NOISE_SD = 2.0
STREAM = 53  # paper section 5.3; keeps these draws apart from those of other problems


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
    rng = np.random.default_rng([STREAM, d, replicate])
    X = rng.uniform(-0.5, 0.5, (N, d))
    a = rng.choice([-1.0, 1.0], d)
    length = 0.1 * d
    squared = (X**2).sum(axis=1)
    distance = np.maximum(squared[:, None] + squared - 2 * X @ X.T, 0)
    k = np.exp(-distance / (2 * length**2)) + 1e-8 * np.eye(N)  # the jitter makes the factorisation possible
    surfaces = 3 * np.linalg.cholesky(k) @ rng.standard_normal((N, 2))
    f = np.where(X @ a >= 0, surfaces[:, 0], 13 + surfaces[:, 1])
    y = f + NOISE_SD * rng.standard_normal(N)
    train, test = np.split(rng.permutation(N), [N_TRAIN])
    return Split(X[train], y[train], X[test], y[test], f[test], NOISE_SD)


def _draw(d: int, replicate: int, n_train: int, n_test: int) -> Split:
    return draw_bgp(d, replicate).first(n_train, n_test)


PROBLEMS = tuple(
    Problem(
        f"bgp{d}",
        f"two GP surfaces parted by a plane, d = {d} (Park et al.)",
        n_inputs=d,
        draw=partial(_draw, d),
        source="paper section 5.3",
        jumps=True,
    )
    for d in (2, 3, 4)
)
METRICS = ("crps", "rmse", "coverage", "ratio")
PROTOCOLS = tuple(
    Protocol(problem.name, n_train=N_TRAIN, n_test=N - N_TRAIN, n_replicates=20, source="Table 2", metrics=METRICS)
    for problem in PROBLEMS
)
