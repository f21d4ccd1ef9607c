"""How runs are drawn: from a formula, or as random rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from genbayes.arrays import FloatArray
from genbayes_bench.problems.problem import Draw, Split

STREAM_ROWS = 11


def draws_of(
    f: Callable[[FloatArray], FloatArray],
    lower: Sequence[float],
    upper: Sequence[float],
    *,
    stream: int,
    noise_sd: float = 0.0,
) -> Draw:
    """How to draw splits of y = f(x) + N(0, noise_sd^2), x in a box: a Latin hypercube to learn from, uniform to test.

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


def cut(draw: Callable[[int], Split]) -> Draw:
    """The first runs of a split that is drawn whole, by its replicate's number."""
    return lambda replicate, n_train, n_test: draw(replicate).first(n_train, n_test)


def split_rows(
    rows: FloatArray,
    n_train: int,
    replicate: int,
    f: FloatArray | None = None,
    noise_sd: float | None = None,
) -> Split:
    """Learn from `n_train` random rows, test on the others.

    Args:
        rows: Inputs followed by the response, shape (n, d + 1).
        n_train: Rows to learn from.
        replicate: Number of the split, its seed.
        f: Noise-free responses, shape (n,), where they are known.
        noise_sd: Standard deviation of the noise, where it is known.

    Returns:
        The split, its rows in random order.

    Example:
        >>> split_rows(np.arange(12.0).reshape(6, 2), 4, replicate=0).X_test.shape
        (2, 1)
    """
    order = np.random.default_rng([STREAM_ROWS, replicate]).permutation(len(rows))
    train, test = rows[order[:n_train]], rows[order[n_train:]]
    f_test = None if f is None else f[order[n_train:]]
    return Split(train[:, :-1], train[:, -1], test[:, :-1], test[:, -1], f_test, noise_sd)
