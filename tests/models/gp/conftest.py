"""Runs and dense formulas that the tests of the GP compare with: everything n x n, nothing clever."""

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from genbayes.arrays import FloatArray
from genbayes.models.gp.likelihood import Replicates

KERNELS = {
    "matern72": Matern(nu=3.5),
    "matern52": Matern(nu=2.5),
    "matern32": Matern(nu=1.5),
    "squared-exponential": RBF(),
}


def correlation(A: FloatArray, B: FloatArray, length: FloatArray, kernel: str = "matern52") -> FloatArray:
    if kernel == "matern52-separable":
        one_input = [
            KERNELS["matern52"](a / one, b / one)
            for a, b, one in zip(A.T[..., None], B.T[..., None], length, strict=True)
        ]
        return np.asarray(np.prod(one_input, axis=0))
    return np.asarray(KERNELS[kernel](A / length, B / length))


def krige(
    Z: FloatArray, y: FloatArray, noise: FloatArray, length: FloatArray, Z_new: FloatArray, kernel: str = "matern52"
) -> tuple[FloatArray, FloatArray]:
    """Ordinary kriging by a dense inverse: mean, and latent variance over the process variance."""
    inverse = np.linalg.inv(correlation(Z, Z, length, kernel) + np.diag(noise))
    k, w = correlation(Z_new, Z, length, kernel), inverse.sum(axis=1)
    beta = w @ y / w.sum()
    variance = 1 - np.einsum("ij,jk,ik->i", k, inverse, k) + (1 - k @ w) ** 2 / w.sum()
    return beta + k @ inverse @ (y - beta), variance


def draw_runs(n: int, p: int, seed: int = 0, n_copies: int = 0, noise: float = 0.2) -> Replicates:
    """Noisy runs of a smooth function, some inputs visited twice, in random order."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, p))
    Z = np.concatenate([Z, Z[:n_copies]])
    y = np.sin(Z[:, 0]) + 0.5 * np.cos(2 * Z[:, -1]) + noise * rng.normal(size=len(Z))
    runs = Replicates.collect(Z, y, np.ones(len(Z)))
    return runs.take(rng.permutation(len(runs)))


@pytest.fixture
def dense_correlation() -> Callable[..., FloatArray]:
    return correlation


@pytest.fixture
def dense_kriging() -> Callable[..., tuple[FloatArray, FloatArray]]:
    return krige


@pytest.fixture
def make_runs() -> Callable[..., Replicates]:
    return draw_runs
