"""The paper's design problems, or their stand-ins: space, simulator, initial runs and test set of each replicate.

The test set is drawn first and from a stream of its own; rows of a table that are in it are never offered as runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.data import Box
from genbayes.metrics import rmse, rmspe
from genbayes_bench.problems.formulas import bump, proxy, side_force, side_force_hl20
from genbayes_bench.problems.shared import read_shared, why_absent
from genbayes_bench.problems.tables import SATELLITE as TABLE

__all__ = ["PROBLEMS", "DesignProblem", "Game"]

STREAM = 606
N_TEST = 1_000
N_TEST_ROWS = 250
GRACE = ([5500, 100, 200, 0, 0, 0, -0.07], [9500, 500, 2000, 1, 1, 0.07, 0.07])  # data/README.md, section 9


@dataclass
class Game:
    """One replicate: what a method may look at, and what only the referee sees.

    Attributes:
        space: The inputs.
        X, y: Initial runs, in the unit cube.
        simulate: Points of the unit cube, (n, d), to responses, (n,).
        candidates: Points to choose among; None for the whole cube.
        X_test, y_test: What predictions are scored on: the noise-free response where it is known.
    """

    space: Box
    X: FloatArray
    y: FloatArray
    simulate: Callable[[FloatArray], FloatArray]
    X_test: FloatArray
    y_test: FloatArray
    candidates: FloatArray | None = None


@dataclass(frozen=True)
class DesignProblem:
    """A problem of sequential design.

    Attributes:
        draw: Replicate to a game.
        n: Runs at the end.
        checkpoints: Numbers of runs at which predictions are scored.
        score: Predictions and truth to the error.
        metric: Its name.
        n_random: Runs that random design goes on to, to see how many buy the same.
        n_deep: Runs that the deep GP can reach in minutes.
        noise: What the deep GP is told: "none" or "estimated".
        needs: File of the shared folder without which it cannot be drawn.
        n_test: Points or rows that predictions are scored on.
        is_table: Whether runs are rows of a table; otherwise they are points of a formula.
    """

    draw: Callable[[int], Game]
    n: int
    checkpoints: tuple[int, ...]
    n_random: int
    n_deep: int
    noise: str = "none"
    score: Callable[[FloatArray, FloatArray], float] = rmse
    metric: str = "RMSE"
    needs: str | None = None
    n_test: int = N_TEST
    is_table: bool = False

    @property
    def absent(self) -> str | None:
        return None if self.needs is None else why_absent(self.needs)


def play_formula(
    f: Callable[[FloatArray], FloatArray],
    bounds: tuple[list[float], list[float]],
    n_initial: int,
    noise_sd: float,
    stream: int,
    replicate: int,
) -> Game:
    """A formula on a box, with normal noise or none, from a Latin hypercube on."""
    lower, upper = (np.asarray(side, dtype=np.float64) for side in bounds)
    rng_test, rng_start, rng_noise = np.random.default_rng([STREAM, stream, replicate]).spawn(3)
    space = Box({f"x{j + 1}": (float(a), float(b)) for j, (a, b) in enumerate(zip(lower, upper, strict=True))})

    def truth(U: FloatArray) -> FloatArray:
        return f(lower + (upper - lower) * U)

    def simulate(U: FloatArray) -> FloatArray:
        return truth(U) + noise_sd * rng_noise.standard_normal(len(U))

    X_test = space.uniform(N_TEST, rng_test)
    X = space.latin_hypercube(n_initial, rng_start)
    return Game(space, X, simulate(X), simulate, X_test, truth(X_test))


def play_table(n_initial: int, stream: int, replicate: int) -> Game:
    """Rows of GRACE in helium; 250 of them are set aside before anything is chosen."""
    table = read_shared(TABLE)
    rows = table[table["species"] == "He"].drop(columns="species").to_numpy(dtype=np.float64)
    lower, upper = (np.asarray(side, dtype=np.float64) for side in GRACE)
    U, y = (rows[:, :-1] - lower) / (upper - lower), rows[:, -1]
    order = np.random.default_rng([STREAM, stream, replicate]).permutation(len(y))
    test, rest = order[:N_TEST_ROWS], order[N_TEST_ROWS:]
    answer = {U[i].tobytes(): y[i] for i in rest}
    space = Box({f"x{j + 1}": (float(a), float(b)) for j, (a, b) in enumerate(zip(lower, upper, strict=True))})
    first = rest[:n_initial]

    def simulate(V: FloatArray) -> FloatArray:
        return np.array([answer[np.ascontiguousarray(v).tobytes()] for v in V])

    return Game(space, U[first], y[first], simulate, U[test], y[test], U[rest])


def bump10(X: FloatArray) -> FloatArray:
    return 10 * bump(X)


ROCKET = ([0.2, -5.0, 0.0], [6.0, 30.0, 4.0])
HL20 = ([0.3, 0.0, 0.0], [4.0, 15.0, 4.0])
FLIGHT = {"n": 300, "checkpoints": (50, 75, 100, 150, 200, 250, 300, 450, 600, 900), "n_random": 900, "n_deep": 150}
DRAG = {"score": rmspe, "metric": "RMSPE", "noise": "estimated", "needs": TABLE}
DRAG |= {"n_test": N_TEST_ROWS, "is_table": True}
PROBLEMS: dict[str, DesignProblem] = {
    "exp2d": DesignProblem(
        partial(play_formula, bump10, ([-2.0, -2.0], [2.0, 2.0]), 10, 0.1, 1),
        n=100,
        checkpoints=(10, 20, 30, 40, 50, 60, 80, 100, 150, 200),
        n_random=200,
        n_deep=100,
        noise="estimated",
    ),
    "rocket": DesignProblem(partial(play_formula, side_force, ROCKET, 50, 0.0, 2), **FLIGHT),
    "hl20": DesignProblem(
        partial(play_formula, side_force_hl20, HL20, 50, 0.0, 3), needs="data/hl20/hl20_base_tables.csv", **FLIGHT
    ),
    "grace": DesignProblem(
        partial(play_table, 110, 4), n=500, checkpoints=(110, 150, 200, 300, 400, 500), n_random=500, n_deep=150, **DRAG
    ),
    "satmini": DesignProblem(
        partial(play_table, 20, 5), n=60, checkpoints=(20, 30, 40, 50, 60, 90, 120), n_random=120, n_deep=60, **DRAG
    ),
    "proxy7": DesignProblem(
        partial(play_formula, proxy, ([0.0] * 7, [1.0] * 7), 20, 0.0, 6),
        n=70,
        checkpoints=(20, 30, 40, 50, 60, 70, 100, 140),
        n_random=140,
        n_deep=70,
    ),
}
