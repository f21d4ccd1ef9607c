"""Runs of a formula: a Latin hypercube to learn from, even points to test on, normal noise if any."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from genbayes.arrays import FloatArray
from genbayes_bench.problems.problem import Draw
from genbayes_bench.problems.split import Split

__all__ = ["draws_of"]


def draws_of(
    f: Callable[[FloatArray], FloatArray],
    lower: Sequence[float],
    upper: Sequence[float],
    *,
    stream: int,
    noise_sd: float = 0.0,
) -> Draw:
    """How to draw splits of y = f(x) + N(0, noise_sd^2) with x in a box.

    Args:
        f: Responses of inputs, (n, d) -> (n,).
        lower: Lower ends of the inputs, shape (d,).
        upper: Upper ends, shape (d,).
        stream: Number of the problem, which keeps its draws apart from those of others.
        noise_sd: Standard deviation of the noise; with 0 the response itself is the truth.

    Returns:
        Replicate, n_train and n_test to a split.

    Example:
        >>> draws_of(lambda X: X.sum(axis=1), [0, 0], [1, 1], stream=0)(replicate=3, n_train=8, n_test=5).X_test.shape
        (5, 2)
    """
    low, width = np.asarray(lower, dtype=np.float64), np.subtract(upper, lower)

    def draw(replicate: int, n_train: int, n_test: int) -> Split:
        from scipy.stats import qmc  # slow to import

        rng = np.random.default_rng([stream, n_train, replicate])
        X = low + width * qmc.LatinHypercube(len(low), rng=rng).random(n_train)
        X_test = low + width * rng.uniform(size=(n_test, len(low)))
        f_train, f_test = f(X), f(X_test)
        if noise_sd == 0:
            return Split(X, f_train, X_test, f_test)
        y, y_test = (mean + noise_sd * rng.standard_normal(len(mean)) for mean in (f_train, f_test))
        return Split(X, y, X_test, y_test, f_test, noise_sd)

    return draw
