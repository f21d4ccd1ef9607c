"""A Bayesian last layer: y = phi(x)'w + noise with w normal a posteriori, everything in closed form.

    precision P = Phi'Phi / s^2 + lambda I,   cov(f(x), f(x')) = phi(x)'P^{-1} phi(x').

Bishop (2006), section 3.3. What makes the features phi, and the mean of w, is left to those who use it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from genbayes.arrays import FloatArray

__all__ = ["BayesianHead"]

SMALLEST_NOISE = 1e-6  # of a variance, responses being standardised: a network that interpolates is not certain


@dataclass(frozen=True)
class BayesianHead:
    """Last layer with a normal posterior.

    Attributes:
        weight: Mean of w, shape (m,).
        root: Lower Cholesky factor of the precision, shape (m, m).
        noise: Variance s^2 of the noise.
    """

    weight: FloatArray
    root: FloatArray
    noise: float

    @classmethod
    def learn(
        cls, Phi: FloatArray, y: FloatArray, noise: float, prior: float, weight: FloatArray | None = None
    ) -> BayesianHead:
        """From features (n, m) and standardised responses (n,).

        Args:
            Phi: Features of the runs.
            y: Their responses.
            noise: Variance of the noise.
            prior: Prior precision lambda.
            weight: Mean of w where it is known already; otherwise P^{-1} Phi'y / s^2.

        Example:
            >>> head = BayesianHead.learn(np.ones((4, 1)), np.full(4, 2.0), noise=1.0, prior=1e-9)
            >>> head.weight.round(3), head.variance(np.ones((1, 1))).round(3)
            (array([2.]), array([0.25]))
        """
        noise = max(noise, SMALLEST_NOISE)
        root = np.asarray(np.linalg.cholesky(Phi.T @ Phi / noise + prior * np.eye(Phi.shape[1])), np.float64)
        if weight is None:
            weight = cho_solve((root, True), Phi.T @ y / noise)
        return cls(np.asarray(weight), root, noise)

    def mean(self, Phi: FloatArray) -> FloatArray:
        """Mean of f, (n, m) -> (n,)."""
        return np.asarray(Phi @ self.weight)

    def variance(self, Phi: FloatArray) -> FloatArray:
        """Variance of f, (n, m) -> (n,)."""
        half = solve_triangular(self.root, Phi.T, lower=True)
        return np.asarray((half * half).sum(axis=0))

    def covariance(self, Phi: FloatArray, Psi: FloatArray) -> FloatArray:
        """Covariance of f between inputs, (n, m) and (r, m) -> (n, r)."""
        left, right = (solve_triangular(self.root, part.T, lower=True) for part in (Phi, Psi))
        return np.asarray(left.T @ right)

    def draw(self, Phi: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One function f at all inputs, (n, m) -> (n,)."""
        away = solve_triangular(self.root, rng.standard_normal(len(self.weight)), lower=True, trans="T")
        return np.asarray(Phi @ (self.weight + away))

    def with_runs(self, Phi: FloatArray) -> BayesianHead:
        """The head once runs with these features, (q, m), are done with the responses expected of them."""
        precision = self.root @ self.root.T + Phi.T @ Phi / self.noise
        return replace(self, root=np.asarray(np.linalg.cholesky(precision), np.float64))

    def leave_one_out(self, Phi: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Error and variance of each run by the others, the features being kept, (n, m), (n,) -> (n,), (n,).

        e_i / (1 - h_i) and s^2 / (1 - h_i), h_i = var f(x_i) / s^2 the leverage.
        """
        left = np.maximum(1 - self.variance(Phi) / self.noise, SMALLEST_NOISE)
        return (y - self.mean(Phi)) / left, self.noise / left
