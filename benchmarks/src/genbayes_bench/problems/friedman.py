"""Friedman's function, paper section 5.4: ten inputs of which five matter."""

from __future__ import annotations

import numpy as np

from genbayes.arrays import FloatArray
from genbayes_bench.problems.problem import Problem
from genbayes_bench.problems.split import Split
from genbayes_bench.protocol import MAIN, Protocol

__all__ = ["PROBLEMS", "PROTOCOLS", "draw_friedman", "friedman"]

D = 10
STREAM = 54  # paper section 5.4


def friedman(X: FloatArray) -> FloatArray:
    """10 sin(pi x1 x2) + 20 (x3 - 1/2)^2 + 10 x4 + 5 x5, (n, d) -> (n,) (Friedman 1991).

    Example:
        >>> friedman(np.full((1, 10), 0.5)).round(4)
        array([14.5711])
    """
    x1, x2, x3, x4, x5 = X[:, :5].T
    return np.asarray(10 * np.sin(np.pi * x1 * x2) + 20 * (x3 - 0.5) ** 2 + 10 * x4 + 5 * x5)


def draw_friedman(replicate: int, n_train: int = 2_000, n_test: int = 500) -> Split:
    """One replicate: x uniform on [0, 1]^10, y = f + N(0, 1).

    Example:
        >>> draw_friedman(0).X_test.shape
        (500, 10)
    """
    rng = np.random.default_rng([STREAM, n_train, replicate])
    X = rng.uniform(size=(n_train + n_test, D))
    f = friedman(X)
    y = f + rng.standard_normal(len(f))
    return Split(X[:n_train], y[:n_train], X[n_train:], y[n_train:], f[n_train:], 1.0)


ACCURACY = Problem(
    "friedman", "Friedman's function, 5 of 10 inputs matter", n_inputs=D, draw=draw_friedman, source="paper section 5.4"
)
SCALING = Problem(
    "friedman_scaling", "Friedman's function, from 500 runs on", n_inputs=D, draw=draw_friedman, source=ACCURACY.source
)
PROBLEMS = (ACCURACY, SCALING)
PROTOCOLS = (
    Protocol(
        "friedman",
        n_train=2_000,
        n_test=500,
        n_replicates=10,
        source="Table 3",
        metrics=("crps", "rmse", "coverage", "crps_f", "rmse_f", "coverage_f"),
        paper_settings={"n_epochs": 3_000},
    ),
    Protocol(
        "friedman_scaling",
        n_train=500,
        more_n_train=(1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000),
        n_test=500,
        n_replicates=1,
        source="Table 4",
        metrics=("rmse_f", "crps", "fit_seconds"),
        methods=(*MAIN, "sparse-gp", "gbc-paper"),
        paper_settings={"n_epochs": 3_000},
        n_paper=20_000,
        time_limit=1_800.0,  # choosing among ten models on 200,000 runs would take hours
    ),
    Protocol(
        "friedman_scaling",
        name="quick",
        n_train=200,
        more_n_train=(800,),
        n_test=200,
        n_replicates=2,
        source="Table 4",
        metrics=("rmse_f", "crps", "fit_seconds"),
        methods=("gbc", "gp", "boosted"),
        n_epochs=50,
    ),
)
