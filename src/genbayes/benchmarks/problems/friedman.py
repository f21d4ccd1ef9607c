"""Friedman's function, paper section 5.4: ten inputs of which five matter."""

from __future__ import annotations

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.benchmarks.problems.split import Split

__all__ = ["draw_friedman", "friedman"]

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
