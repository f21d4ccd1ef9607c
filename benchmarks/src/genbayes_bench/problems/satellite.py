"""Drag of the GRACE satellite and two smaller relatives, paper section 6.4: smooth, seven inputs, few runs."""

from __future__ import annotations

import numpy as np

from genbayes.arrays import FloatArray
from genbayes_bench.problems.formula import draws_of
from genbayes_bench.problems.problem import Problem
from genbayes_bench.problems.rows import split_rows
from genbayes_bench.problems.shared import read_shared
from genbayes_bench.problems.split import Split
from genbayes_bench.protocol import Protocol

__all__ = ["PROBLEMS", "PROTOCOLS", "draw_grace", "proxy"]

TABLE = "data/satellite_grace/grace_tpm_1000x6.csv"
N_GRACE = 500
N_MINI = 60
STREAM_PROXY = 73


def draw_grace(replicate: int, n_train: int = N_GRACE) -> Split:
    """Drag in pure helium: random rows to learn from, the rest of the 1,000 to test on."""
    table = read_shared(TABLE)
    rows = table[table["species"] == "He"].drop(columns="species").to_numpy(dtype=np.float64)
    return split_rows(rows, n_train, replicate)


def proxy(X: FloatArray) -> FloatArray:
    """3 exp(-x1) + 2 sin(pi x2 x3) + 1.5 x4^2 + x5 - 0.5 x6 x7, x in [0, 1]^7, (n, 7) -> (n,); invented.

    Example:
        >>> proxy(np.array([[0.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0]]))
        array([7.])
    """
    x1, x2, x3, x4, x5, x6, x7 = X.T
    return np.asarray(3 * np.exp(-x1) + 2 * np.sin(np.pi * x2 * x3) + 1.5 * x4**2 + x5 - 0.5 * x6 * x7)


def _draw(replicate: int, n_train: int, n_test: int) -> Split:
    return draw_grace(replicate, n_train).first(n_train, n_test)


SOURCE = "Los Alamos response surface modelling tool suite, helium; paper section 6.4"
PROBLEMS = (
    Problem("grace", "drag of the GRACE satellite", n_inputs=7, draw=_draw, source=SOURCE, kind="design", needs=TABLE),
    Problem(
        "satmini",
        "drag of the GRACE satellite, few runs",
        n_inputs=7,
        draw=_draw,
        source=SOURCE,
        standin="runs of GRACE in helium in place of SatMini, which the paper does not define",
        kind="design",
        needs=TABLE,
    ),
    Problem(
        "proxy7",
        "smooth function of seven inputs",
        n_inputs=7,
        draw=draws_of(proxy, [0.0] * 7, [1.0] * 7, stream=STREAM_PROXY),
        source="invented; paper section 6.4",
        standin="formula of ours in place of 7D Proxy, which the paper does not define",
        kind="design",
    ),
)
PERCENT = ("rmspe", "crps", "coverage")
PROTOCOLS = (
    Protocol("grace", n_train=N_GRACE, n_test=500, n_replicates=10, source="Table 6", metrics=PERCENT),
    Protocol("satmini", n_train=N_MINI, n_test=940, n_replicates=10, source="Table 6", metrics=PERCENT),
    Protocol(
        "proxy7", n_train=70, n_test=1_000, n_replicates=10, source="Table 6", metrics=("rmse", "crps", "coverage")
    ),
)
