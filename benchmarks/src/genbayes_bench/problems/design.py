"""How the runs of a problem are chosen one by one: space, simulator, initial runs and test set of each replicate.

The test set is drawn first and from a stream of its own; rows of a table that are in it are never offered as runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.data import Box

STREAM = 606
N_TEST = 1_000
N_TEST_ROWS = 250


@dataclass(frozen=True)
class Start:
    """One replicate: what a design may look at, and what only the referee sees; inputs are in the unit cube.

    Attributes:
        space: The inputs.
        X: Initial runs, shape (n, d).
        y: Their responses, shape (n,).
        simulate: Points, (n, d), to responses, (n,).
        X_test: What predictions are scored on, shape (m, d).
        y_test: Its responses, noise-free where these are known, shape (m,).
        candidates: Points to choose among; None for the whole cube.
    """

    space: Box
    X: FloatArray
    y: FloatArray
    simulate: Callable[[FloatArray], FloatArray]
    X_test: FloatArray
    y_test: FloatArray
    candidates: FloatArray | None = None


@dataclass(frozen=True)
class Sequential:
    """How runs are chosen one by one, and when predictions are scored.

    Attributes:
        start: Replicate to its initial runs.
        n_runs: Runs at the end.
        n_random: Runs that random design goes on to, to see how many buy the same.
        n_deep: Runs that the deep GP can reach in minutes.
        checkpoints: Numbers of runs at which predictions are scored.
        metric: The score.
        noise: What the deep GP is told.
    """

    start: Callable[[int], Start]
    n_runs: int
    n_random: int
    n_deep: int
    checkpoints: tuple[int, ...]
    metric: Literal["rmse", "rmse_f", "rmspe"] = "rmse"
    noise: Literal["none", "estimated"] = "none"


def start_formula(
    f: Callable[[FloatArray], FloatArray],
    lower: Sequence[float],
    upper: Sequence[float],
    n_initial: int,
    stream: int,
    noise_sd: float = 0.0,
) -> Callable[[int], Start]:
    """A formula on a box, with normal noise or none, from a Latin hypercube on.

    Example:
        >>> start_formula(lambda X: X[:, 0], [0.0], [2.0], n_initial=5, stream=0)(replicate=0).X.shape
        (5, 1)
    """
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)

    def start(replicate: int) -> Start:
        rng_test, rng_start, rng_noise = np.random.default_rng([STREAM, stream, replicate]).spawn(3)
        space = _box(low, high)

        def truth(U: FloatArray) -> FloatArray:
            return f(low + (high - low) * U)

        def simulate(U: FloatArray) -> FloatArray:
            return truth(U) + noise_sd * rng_noise.standard_normal(len(U))

        X_test = space.uniform(N_TEST, rng_test)
        X = space.latin_hypercube(n_initial, rng_start)
        return Start(space, X, simulate(X), simulate, X_test, truth(X_test))

    return start


def start_table(
    read: Callable[[], FloatArray], lower: Sequence[float], upper: Sequence[float], n_initial: int, stream: int
) -> Callable[[int], Start]:
    """Rows of a table, inputs followed by the response; 250 of them are set aside before anything is chosen."""
    low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)

    def start(replicate: int) -> Start:
        rows = read()
        U, y = (rows[:, :-1] - low) / (high - low), rows[:, -1]
        order = np.random.default_rng([STREAM, stream, replicate]).permutation(len(y))
        test, rest = order[:N_TEST_ROWS], order[N_TEST_ROWS:]
        response = {U[i].tobytes(): y[i] for i in rest}

        def simulate(V: FloatArray) -> FloatArray:
            return np.array([response[np.ascontiguousarray(v).tobytes()] for v in V])

        first = rest[:n_initial]
        return Start(_box(low, high), U[first], y[first], simulate, U[test], y[test], U[rest])

    return start


def _box(lower: FloatArray, upper: FloatArray) -> Box:
    ends = zip(lower.tolist(), upper.tolist(), strict=True)
    return Box({f"x{j}": (low, high) for j, (low, high) in enumerate(ends, start=1)})
