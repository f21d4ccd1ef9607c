"""Two functions that are called "2D exponential": the paper's (section 6.3, Table 6) and the older one of rivals."""

from __future__ import annotations

import numpy as np

from genbayes.arrays import FloatArray
from genbayes_bench.problems.formula import draws_of
from genbayes_bench.problems.problem import Problem
from genbayes_bench.problems.split import Split
from genbayes_bench.protocol import Protocol

__all__ = ["PROBLEMS", "PROTOCOLS", "bump", "draw_exp2d"]

NOISE_SD = 0.1
STREAM_GBC, STREAM_SAUER = 7, 71


def bump(X: FloatArray, height: float = 1.0) -> FloatArray:
    """The function height x1 exp(-x1^2 - x2^2), (n, 2) -> (n,).

    Example:
        >>> bump(np.array([[1.0, 0.0], [0.0, 1.0]])).round(4)
        array([0.3679, 0.    ])
    """
    return np.asarray(height * X[:, 0] * np.exp(-(X**2).sum(axis=1)))


def draw_exp2d(replicate: int, n_train: int = 100, n_test: int = 1_000) -> Split:
    """10 x1 exp(-x1^2 - x2^2) on [-2, 2]^2, Latin hypercube points, noise 0.1.

    Example:
        >>> draw_exp2d(0).X_train.shape
        (100, 2)
    """
    from scipy.stats import qmc  # slow to import

    rng = np.random.default_rng([STREAM_GBC, replicate])
    X = 4 * qmc.LatinHypercube(2, rng=rng).random(n_train) - 2
    X_test = rng.uniform(-2, 2, (n_test, 2))
    f, f_test = bump(X, 10.0), bump(X_test, 10.0)
    y, y_test = (mean + NOISE_SD * rng.standard_normal(len(mean)) for mean in (f, f_test))
    return Split(X, y, X_test, y_test, f_test=f_test, noise_sd=NOISE_SD)


PROBLEMS = (
    Problem(
        "exp2d_gbc",
        "10 x1 exp(-x1^2 - x2^2) on [-2, 2]^2, noise 0.1",
        n_inputs=2,
        draw=draw_exp2d,
        source="the paper's authors' book; Table 6",
        kind="design",
    ),
    Problem(
        "exp2d_sauer",
        "x1 exp(-x1^2 - x2^2) on [-2, 4]^2, no noise",
        n_inputs=2,
        draw=draws_of(bump, [-2.0, -2.0], [4.0, 4.0], stream=STREAM_SAUER),
        source="R package deepgp and the Surrogates book",
        kind="design",
    ),
)
PROTOCOLS = (
    Protocol(
        "exp2d_gbc", n_train=100, n_test=1_000, n_replicates=30, source="Table 6", metrics=("rmse_f", "crps", "ratio")
    ),
    Protocol("exp2d_sauer", n_train=100, n_test=1_000, n_replicates=30, metrics=("rmse", "crps")),
)
