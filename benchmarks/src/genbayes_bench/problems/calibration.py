"""Random functions on which intervals are counted: five families, any number of inputs, fresh for every draw.

Sums of ridges, Friedman's function among inert inputs, additive waves, the largest of three planes, and paths of a GP;
with no, little, some or much noise. Draws of another stream served to choose settings, so that these only judge.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.models.gp.kernels import CORRELATIONS
from genbayes_bench.problems.problem import Split

STREAM = 1_919
N_TEST = 400
NOISE_SHARES = (0.0, 0.01, 0.1, 0.3)  # of the variance of a response
N_ACTIVE = 5  # inputs that matter in families that leave others inert

Respond = Callable[[FloatArray, np.random.Generator], FloatArray]


def draw_random(n: int, d: int, seed: int, n_test: int = N_TEST) -> Split:
    """Training and test runs of a random function of d inputs, uniform in the unit cube; y has variance near 1.

    Example:
        >>> split = draw_random(40, 10, 0)
        >>> split.X_train.shape, split.y_test.shape
        ((40, 10), (400,))
    """
    rng = np.random.default_rng([STREAM, n, d, seed])
    X = rng.uniform(size=(n + n_test, d))
    f = FAMILIES[seed % len(FAMILIES)](X, rng)
    share = NOISE_SHARES[int(rng.integers(len(NOISE_SHARES)))]
    return _split(X, _standardised(f) * math.sqrt(1 - share), math.sqrt(share), n, rng)


def draw_replicated(n_inputs: int, n_repeats: int, seed: int, n_test: int = 1_000) -> Split:
    """Runs repeated at few inputs of two to four dimensions, and test runs at new ones.

    Example:
        >>> len(np.unique(draw_replicated(30, 10, 0).X_train, axis=0))
        30
    """
    rng = np.random.default_rng([STREAM, n_inputs, n_repeats, seed])
    d, sd = 2 + seed % 3, (0.05, 0.1, 0.25)[(seed // 3) % 3]
    X = np.vstack([np.repeat(rng.uniform(size=(n_inputs, d)), n_repeats, axis=0), rng.uniform(size=(n_test, d))])
    return _split(X, REPLICATED[seed % len(REPLICATED)](X, rng), sd, n_inputs * n_repeats, rng)


def _split(X: FloatArray, f: FloatArray, sd: float, n: int, rng: np.random.Generator) -> Split:
    y = f + sd * rng.standard_normal(len(f))
    return Split(X[:n], y[:n], X[n:], y[n:], f_test=f[n:])


def _standardised(f: FloatArray) -> FloatArray:
    return np.asarray((f - f.mean()) / f.std())


def _ridges(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Six ridges across four inputs, of one of three shapes."""
    n_active = min(X.shape[1], 4)
    columns = rng.choice(X.shape[1], n_active, replace=False)
    W = 3 * rng.standard_normal((n_active, 6)) / math.sqrt(n_active)
    shift, size = rng.uniform(-2, 2, 6), rng.standard_normal(6)
    t = (X[:, columns] - 0.5) @ W + shift
    shape = int(rng.integers(3))
    bent = np.tanh(t) if shape == 0 else np.sin(t) if shape == 1 else np.exp(-t * t)
    return np.asarray(bent @ size)


def _friedman(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    x = X[:, np.resize(rng.permutation(X.shape[1]), 5)].T
    return np.asarray(10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4])


def _additive(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    d = X.shape[1]
    size = rng.standard_normal(d) * rng.exponential(size=d) ** 2
    return np.asarray((np.sin(rng.uniform(1, 6, d) * X + rng.uniform(0, 6, d)) * size).sum(axis=1))


def _planes(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    w = rng.standard_normal((3, X.shape[1])) * rng.exponential(size=X.shape[1])
    return np.asarray(((X - 0.5) @ w.T + 0.3 * rng.standard_normal(3)).max(axis=1))


def _path(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    d = X.shape[1]
    length = 0.6 * np.exp(rng.uniform(-0.7, 1.5, d)) * math.sqrt(min(d, N_ACTIVE))
    length[rng.permutation(d)[N_ACTIVE:]] *= 20
    K, _ = CORRELATIONS["matern52"].between(X / length, X / length)
    return np.asarray(np.linalg.cholesky(K + 1e-10 * np.eye(len(X))) @ rng.standard_normal(len(X)))


def _wave(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    return np.asarray(np.sin(6 * X[:, 0]) + X[:, -1] ** 2)


def _slope(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    return np.asarray(2 * np.tanh(4 * (X.mean(axis=1) - 0.5)))


def _product(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    return np.asarray(3 * X[:, 0] * X[:, -1] + np.cos(5 * X[:, 0]))


def _kink(X: FloatArray, rng: np.random.Generator) -> FloatArray:
    return np.asarray(4 * np.abs(X[:, 0] - 0.4) + X[:, -1])


FAMILIES: tuple[Respond, ...] = (_ridges, _friedman, _additive, _planes, _path)
REPLICATED: tuple[Respond, ...] = (_wave, _slope, _product, _kink)
