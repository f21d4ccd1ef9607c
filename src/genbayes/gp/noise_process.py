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
import torch
from torch import Tensor

from genbayes.arrays import FloatArray
from genbayes.gp.kernel import matern52, scaled_distances
from genbayes.gp.noisy_likelihood import correlations, factorise, invert, slope_by_log_length

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
        self._W = torch.from_numpy(Z / length)
        C, self._slope = correlations(self._W)
        self._variance = variance
        h = torch.tensor(information)
        self._h = h
        self._K = C.mul_(variance)
        self._inverse, log_determinant = invert(self._K, 1 / h)
        self._v = self._inverse @ torch.tensor(delta)
        self._eta = self._K @ self._v
        self.eta, self.weights = self._eta.numpy(), self._v.numpy()
        self.penalty = -0.5 * (float(self._v @ self._eta) + log_determinant + float(torch.log(h).sum()))

    def gradient(self, by_eta: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        """Derivatives of f(eta) + penalty, where by_eta = df/deta, shape (u,).

        With B = (K + H^{-1})^{-1}, w = B eta and c = B H^{-1} by_eta + w: d(f + penalty) = tr(G dK) + g'ddelta,
        G = (c v' + v c' - v v' - B) / 2 and g = B K by_eta - w.

        Returns:
            By log length, shape (p,), by log variance, and by delta, shape (u,).
        """
        b, v, B = torch.tensor(by_eta), self._v, self._inverse
        w = B @ self._eta
        c = B @ (b / self._h) + w
        G = torch.outer(c - 0.5 * v, v)
        G = (G + G.T).sub_(B).mul_(0.5)
        by_delta = B @ (self._K @ b) - w
        by_length = slope_by_log_length(self._W, self._slope, G) * self._variance
        return by_length.numpy(), float((G * self._K).sum()), by_delta.numpy()


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
    _root: Tensor = field(init=False, repr=False, compare=False)
    _range: tuple[float, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        K = correlations(torch.from_numpy(self.Z / self.length))[0].mul_(self.variance)
        object.__setattr__(self, "_root", factorise(K, torch.from_numpy(1 / self.information)))
        known = self.level + (K @ torch.tensor(self.weights)).numpy()
        object.__setattr__(self, "_range", (known.min(initial=self.level), known.max(initial=self.level)))

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
        parts = torch.tensor(Z).split(max(1, ENTRIES_AT_ONCE // len(self.Z)))
        means, variances = zip(*(self._predict_chunk(part) for part in parts), strict=True)
        return torch.cat(means).numpy(), torch.cat(variances).numpy()

    def _predict_chunk(self, Z: Tensor) -> tuple[Tensor, Tensor]:
        s = scaled_distances(Z, torch.tensor(self.Z), torch.tensor(self.length))
        k = self.variance * matern52(s)
        half = torch.linalg.solve_triangular(self._root, k.T, upper=False)
        mean = (self.level + k @ torch.tensor(self.weights)).clamp(*self._range)
        return mean, (self.variance - (half * half).sum(0)).clamp(min=0)
