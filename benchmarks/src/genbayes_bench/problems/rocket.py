"""Side force on a vehicle that passes the speed of sound: stand-ins for Rocket LGBB, paper section 6.3.

The real runs may be had only from their owner. One stand-in is a formula of ours, the other NASA's tables of the HL-20.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from genbayes.arrays import FloatArray
from genbayes_bench.problems.formula import draws_of
from genbayes_bench.problems.problem import Problem
from genbayes_bench.problems.shared import read_shared
from genbayes_bench.protocol import Protocol

__all__ = ["PROBLEMS", "PROTOCOLS", "side_force", "side_force_hl20"]

TABLE = "data/hl20/hl20_base_tables.csv"
STREAM, STREAM_HL20 = 63, 631


def side_force(X: FloatArray) -> FloatArray:
    """Side force at mach m, angle of attack a and of sideslip b in degrees, (n, 3) -> (n,); invented.

    -0.006 b + 0.0004 a b exp(-((m - 1) / 0.25)^2) + 0.008 b sin(a / 4) / (1 + exp(8 (m - 1.1)))

    Example:
        >>> side_force(np.array([[1.0, 10.0, 0.0], [3.0, 10.0, 2.0]])).round(4)
        array([ 0.   , -0.012])
    """
    m, a, b = X.T
    ridge = 0.0004 * a * b * np.exp(-(((m - 1) / 0.25) ** 2))
    slow = 0.008 * b * np.sin(a / 4) / (1 + np.exp(8 * (m - 1.1)))
    return np.asarray(-0.006 * b + ridge + slow)


def side_force_hl20(X: FloatArray) -> FloatArray:
    """Side force of the HL-20 lifting body (NASA TM-107580), (n, 3) -> (n,).

    b sum_k c_k(m) a^k with coefficients c_0, ..., c_3 that are linear in mach between the rows of the table.
    """
    table, (m, a, b) = read_shared(TABLE), X.T
    coefficients = [np.interp(m, table["mach"], table[f"CYB_a{k}"]) for k in range(4)]
    return np.asarray(b * sum(c * a**k for k, c in enumerate(coefficients)))


PROBLEMS = (
    Problem(
        "rocket",
        "side force with a ridge at mach 1, formula",
        n_inputs=3,
        draw=draws_of(side_force, [0.2, -5.0, 0.0], [6.0, 30.0, 4.0], stream=STREAM),
        source="invented; paper section 6.3",
        standin="formula of ours in place of Rocket LGBB, whose owner forbids passing it on",
        kind="design",
    ),
    Problem(
        "rocket_hl20",
        "side force of NASA's HL-20",
        n_inputs=3,
        draw=draws_of(side_force_hl20, [0.3, 0.0, 0.0], [4.0, 15.0, 4.0], stream=STREAM_HL20),
        source="NASA TM-107580",
        standin="another vehicle in place of Rocket LGBB, whose owner forbids passing it on",
        kind="design",
        needs=TABLE,
    ),
)
ROCKET = Protocol(
    "rocket", n_train=300, n_test=1_000, n_replicates=30, source="Table 6", metrics=("rmse", "crps", "coverage")
)
PROTOCOLS = (ROCKET, replace(ROCKET, problem="rocket_hl20"))
