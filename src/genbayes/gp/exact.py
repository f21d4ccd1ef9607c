"""Exact prediction of a stationary GP with a constant, estimated mean: ordinary kriging from one Cholesky factor.

With K = C + g A^{-1}, w = K^{-1} 1 and alpha = K^{-1}(ybar - beta), at correlations k with the training inputs:

    mean = beta + k'alpha,   variance = nu (1 - k'K^{-1}k) + var(beta) (1 - k'w)^2,

the last term for not knowing beta (Rasmussen & Williams 2006, section 2.7).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack

from genbayes.arrays import FloatArray
from genbayes.gp.correlation import Correlation
from genbayes.gp.likelihood import factorise, solve_factored
from genbayes.gp.matern import matern52_with_slope
from genbayes.gp.profile import GPParameters
from genbayes.gp.replicates import Replicates

__all__ = ["ExactKriging"]

ENTRIES_AT_ONCE = 1_000_000  # of the table of correlations with the training inputs: 8 MB


class ExactKriging:
    """Prediction from all training runs; costs u^2 operations a row after u^3 / 3 once.

    Attributes:
        parameters: The GP.
        runs: Training runs with u distinct inputs of shape (u, p).
        correlation: Squared distances to correlations and slopes.
    """

    def __init__(
        self, parameters: GPParameters, runs: Replicates, correlation: Correlation = matern52_with_slope
    ) -> None:
        self.parameters, self.runs, self.correlation = parameters, runs, correlation
        self._W = runs.Z / parameters.length
        self._factor, _ = factorise(self._W, parameters.nugget / runs.count, correlation)
        sides = np.column_stack([np.ones(len(runs)), runs.mean - parameters.mean])
        self._w, self._alpha = solve_factored(self._factor, sides).T

    def predict(self, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the latent function at new inputs, (n, p) -> (n,), (n,)."""
        mean, variance = np.empty((2, len(Z)))
        size = max(1, ENTRIES_AT_ONCE // len(self.runs))
        for start in range(0, len(Z), size):
            part = slice(start, start + size)
            mean[part], variance[part] = self._predict_chunk(Z[part] / self.parameters.length)
        return mean, variance

    def leave_one_out(self) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the latent function at each training input, its own runs left out; (u,), (u,).

        With P = K^{-1} - w w'/(1'w): mean_i = ybar_i - alpha_i / P_ii, and nu / P_ii is the variance of ybar_i
        (Dubrule 1983). The mean beta is estimated anew without the row; length scales, nugget and nu are kept.
        """
        inverse = lapack.dpotri(self._factor.T, lower=0)[0]
        precision = inverse.diagonal() - self._w**2 / self._w.sum()
        noise = self.parameters.nugget / self.runs.count
        variance = self.parameters.variance * np.maximum(1 / precision - noise, 0.0)
        return self.runs.mean - self._alpha / precision, variance

    def _predict_chunk(self, W: FloatArray) -> tuple[FloatArray, FloatArray]:
        parameters = self.parameters
        s = W @ (-2 * self._W.T) + (W * W).sum(axis=1)[:, None] + (self._W * self._W).sum(axis=1)
        k, _ = self.correlation(np.maximum(s, 0.0))
        half = blas.dtrsm(1.0, self._factor.T, k.T, lower=0, trans_a=1)  # L^{-1} k, columns are new rows
        explained = (half * half).sum(axis=0)
        slack = 1 - k @ self._w
        variance = parameters.variance * np.maximum(1 - explained, 0.0) + parameters.mean_variance * slack**2
        return parameters.mean + k @ self._alpha, variance
