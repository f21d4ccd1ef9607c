"""The latent Gaussian process of the log noise: smoothing, penalty, prediction.

log lambda = level + eta, eta a GP with covariance K = tau^2 C. What the runs say about it is summarised, as in Fisher
scoring, by working values delta_i of variance 1/h_i (Binois, Gramacy & Ludkovski 2018, section 3.2, where h_i is
a_i / g): eta = K (K + H^{-1})^{-1} delta. Integrating eta out by Laplace's method turns the density of eta into

    penalty = -1/2 eta'K^{-1} eta - 1/2 log|I + H K|,

which is zero for constant noise; the paper's own penalty grows without bound there, the noise process collapsing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import solve_triangular

from genbayes.arrays import FloatArray
from genbayes.gp.cholesky import factorise, invert_factored, log_determinant
from genbayes.gp.correlation import matern52_with_slope, squared_distances

__all__ = ["NoiseProcess", "SmoothedNoise"]

ENTRIES_AT_ONCE = 1_000_000  # of the table of correlations with the training inputs: 8 MB


class SmoothedNoise:
    """The smoothed log noise at the training inputs, its penalty, and the derivatives of both.

    Args:
        Z: Distinct inputs, shape (u, p).
        length: Length scales of the noise process, shape (p,).
        variance: Its variance tau^2.
        delta: Working values of eta, shape (u,).
        information: Their precisions h, positive, shape (u,).

    Attributes:
        eta: Log noise above its level, shape (u,).
        weights: v = (K + H^{-1})^{-1} delta, so that eta = K v, shape (u,).
        penalty: Log of the Laplace factor, above.

    Example:
        >>> Z, delta = np.array([[0.0], [100.0]]), np.array([1.0, -1.0])
        >>> SmoothedNoise(Z, np.ones(1), 3.0, delta, np.ones(2)).eta  # far apart: shrunk by 3 / (3 + 1)
        array([ 0.75, -0.75])
    """

    def __init__(
        self, Z: FloatArray, length: FloatArray, variance: float, delta: FloatArray, information: FloatArray
    ) -> None:
        self._W = Z / length
        C, self._slope = matern52_with_slope(squared_distances(self._W, self._W))
        self._variance, self._h, self._K = variance, information, variance * C
        factor = factorise(self._K.copy(), variance + 1 / information)
        lower = np.tril(invert_factored(factor))
        self._inverse = lower + np.tril(lower, -1).T
        self.weights = self._inverse @ delta
        self.eta = self._K @ self.weights
        log_factor = log_determinant(factor) + float(np.log(information).sum())
        self.penalty = -0.5 * (float(self.weights @ self.eta) + log_factor)

    def gradient(self, by_eta: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        """Derivatives of f(eta) + penalty, where by_eta = df/deta, shape (u,).

        With B = (K + H^{-1})^{-1}, w = B eta and c = B H^{-1} by_eta + w: d(f + penalty) = tr(G dK) + g'ddelta,
        G = (c v' + v c' - v v' - B) / 2 and g = B K by_eta - w.

        Returns:
            By log length, shape (p,), by log variance, and by delta, shape (u,).
        """
        v, B, W = self.weights, self._inverse, self._W
        w = B @ self.eta
        c = B @ (by_eta / self._h) + w
        G = np.outer(c - 0.5 * v, v)
        G = 0.5 * (G + G.T - B)
        by_variance = float((G * self._K).sum())
        G *= self._slope  # dC_ij / dlog length_k = -2 slope_ij (w_ik - w_jk)^2, the square multiplied out
        by_length = -4 * self._variance * ((W * W).T @ G.sum(axis=1) - (W * (G @ W)).sum(axis=0))
        return by_length, by_variance, B @ (self._K @ by_eta) - w


@dataclass(frozen=True)
class NoiseProcess:
    """Law of the log noise ratio at any input; constant where it has no training inputs.

    Attributes:
        level: Mean of the log noise ratio.
        variance: Variance tau^2 of the process around it.
        length: Length scales, shape (p,).
        Z: Training inputs, shape (u, p).
        information: Precision h of the working values there, shape (u,).
        weights: (K + H^{-1})^{-1} delta, shape (u,).
    """

    level: float
    variance: float
    length: FloatArray
    Z: FloatArray
    information: FloatArray
    weights: FloatArray
    _root: FloatArray = field(init=False, repr=False, compare=False)
    _range: tuple[float, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.is_constant:
            return
        K = self._covariance(self.Z)
        known = self.level + K @ self.weights
        object.__setattr__(self, "_range", (known.min(initial=self.level), known.max(initial=self.level)))
        object.__setattr__(self, "_root", factorise(K, self.variance + 1 / self.information))

    @classmethod
    def constant(cls, level: float, p: int) -> NoiseProcess:
        """The same noise everywhere.

        Example:
            >>> NoiseProcess.constant(-1.0, 2).predict(np.zeros((1, 2)))
            (array([-1.]), array([0.]))
        """
        return cls(level, 0.0, np.ones(p), np.zeros((0, p)), np.zeros(0), np.zeros(0))

    @property
    def is_constant(self) -> bool:
        """Whether the noise is the same everywhere."""
        return len(self.Z) == 0

    def predict(self, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Posterior mean and variance of the log noise ratio, (n, p) -> (n,), (n,).

        level + k'v and tau^2 - k'(K + H^{-1})^{-1} k; far from all training inputs level and tau^2. The mean stays
        within what was found at the training inputs, since a trend carried on in the log soon is absurd.
        """
        if self.is_constant:
            return np.full(len(Z), self.level), np.zeros(len(Z))
        mean, variance = np.empty((2, len(Z)))
        size = max(1, ENTRIES_AT_ONCE // len(self.Z))
        for start in range(0, len(Z), size):
            part = slice(start, start + size)
            k = self._covariance(Z[part])
            half = solve_triangular(self._root, k.T, lower=True)
            mean[part] = np.clip(self.level + k @ self.weights, *self._range)
            variance[part] = np.maximum(self.variance - (half * half).sum(axis=0), 0.0)
        return mean, variance

    def _covariance(self, Z: FloatArray) -> FloatArray:
        """Covariances with the training inputs, (n, p) -> (n, u)."""
        return self.variance * matern52_with_slope(squared_distances(Z / self.length, self.Z / self.length))[0]
