"""Functions of the Virtual Library of Simulation Experiments that nobody's paper tuned on, and a jump in one input."""

from __future__ import annotations

import numpy as np

from genbayes.arrays import FloatArray
from genbayes_bench.problems.formula import draws_of
from genbayes_bench.problems.problem import Problem
from genbayes_bench.protocol import Protocol

__all__ = ["PROBLEMS", "PROTOCOLS", "borehole", "jump", "piston"]

LIBRARY = "Virtual Library of Simulation Experiments (Surjanovic and Bingham 2013)"
STREAM_BOREHOLE, STREAM_PISTON, STREAM_JUMP = 81, 82, 21
# rw, r, Tu, Hu, Tl, Hl, L, Kw: radii, transmissivities, heads, length, conductivity
BOREHOLE_LOWER = (0.05, 100.0, 63_070.0, 990.0, 63.1, 700.0, 1_120.0, 9_855.0)
BOREHOLE_UPPER = (0.15, 50_000.0, 115_600.0, 1_110.0, 116.0, 820.0, 1_680.0, 12_045.0)
# M, S, V0, k, P0, Ta, T0: weight, area, volume, spring, pressure, temperatures
PISTON_LOWER = (30.0, 0.005, 0.002, 1_000.0, 90_000.0, 290.0, 340.0)
PISTON_UPPER = (60.0, 0.020, 0.010, 5_000.0, 110_000.0, 296.0, 360.0)


def borehole(X: FloatArray) -> FloatArray:
    """Flow of water through a borehole, m^3 a year, (n, 8) -> (n,).

    2 pi Tu (Hu - Hl) / (ln(r / rw) (1 + 2 L Tu / (ln(r / rw) rw^2 Kw) + Tu / Tl))

    Example:
        >>> borehole(np.array([[0.1, 10_000.0, 90_000.0, 1_050.0, 90.0, 760.0, 1_400.0, 11_000.0]])).round(2)
        array([71.23])
    """
    rw, r, Tu, Hu, Tl, Hl, L, Kw = X.T
    log = np.log(r / rw)
    return np.asarray(2 * np.pi * Tu * (Hu - Hl) / (log * (1 + 2 * L * Tu / (log * rw**2 * Kw) + Tu / Tl)))


def piston(X: FloatArray) -> FloatArray:
    """Time a piston takes for one cycle, in seconds, (n, 7) -> (n,).

    2 pi sqrt(M / (k + S^2 P0 V0 Ta / (T0 V^2))), V = S / (2 k) (sqrt(A^2 + 4 k P0 V0 Ta / T0) - A),
    A = P0 S + 19.62 M - k V0 / S

    Example:
        >>> piston(np.array([[45.0, 0.0125, 0.006, 3_000.0, 100_000.0, 293.0, 350.0]])).round(4)
        array([0.4644])
    """
    M, S, V0, k, P0, Ta, T0 = X.T
    gas = P0 * V0 * Ta / T0
    A = P0 * S + 19.62 * M - k * V0 / S
    V = S / (2 * k) * (np.sqrt(A**2 + 4 * k * gas) - A)
    return np.asarray(2 * np.pi * np.sqrt(M / (k + S**2 * gas / V**2)))


def jump(X: FloatArray) -> FloatArray:
    """sin(6 x) + 2 1{x > 1/2}, x in [0, 1], (n, 1) -> (n,); the kind of function that the paper's Figure 1 shows.

    Example:
        >>> jump(np.array([[0.0], [1.0]])).round(4)
        array([0.    , 1.7206])
    """
    x = X[:, 0]
    return np.asarray(np.sin(6 * x) + 2 * (x > 0.5))


PROBLEMS = (
    Problem(
        "borehole",
        "flow through a borehole",
        n_inputs=8,
        draw=draws_of(borehole, BOREHOLE_LOWER, BOREHOLE_UPPER, stream=STREAM_BOREHOLE),
        source=LIBRARY,
    ),
    Problem(
        "piston",
        "cycle time of a piston",
        n_inputs=7,
        draw=draws_of(piston, PISTON_LOWER, PISTON_UPPER, stream=STREAM_PISTON),
        source=LIBRARY,
    ),
    Problem(
        "jump1d",
        "a smooth curve with one jump, no noise",
        n_inputs=1,
        draw=draws_of(jump, [0.0], [1.0], stream=STREAM_JUMP),
        source="paper section 2.2",
        standin="formula of ours, since the paper shows its function only as a picture",
        jumps=True,
    ),
)
PROTOCOLS = (
    Protocol("borehole", n_train=400, n_test=1_000, n_replicates=10),
    Protocol("piston", n_train=400, n_test=1_000, n_replicates=10),
    # the paper draws one picture; ten replicates also say who is better
    Protocol("jump1d", n_train=100, n_test=500, n_replicates=10, source="Figure 1"),
)
