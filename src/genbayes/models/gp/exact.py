"""Exact prediction of a stationary GP with an estimated mean, constant or linear: universal kriging from one factor.

With K = C + g A^{-1} = L L', columns F of the trend, T = F'K^{-1} F = R R', V = K^{-1} F R^{-T}, residuals
alpha = K^{-1}(ybar - F beta) and h(x) = L^{-1} k(x), at correlations k(x) with the training inputs:

    mean(x) = f(x)'beta + k(x)'alpha,
    cov(x, x') = nu [c(x, x') - h(x)'h(x') + s(x)'s(x')],    s(x) = R^{-1} f(x) - V'k(x),

the last term for not knowing beta (Rasmussen & Williams 2006, section 2.7). Covariances do not depend on responses,
which is what makes it cheap to take runs for done whose responses are still to come.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas

from genbayes.arrays import FloatArray
from genbayes.models.gp.cholesky import invert_factored, solve_factored
from genbayes.models.gp.kernels import MATERN52, Correlation, slices
from genbayes.models.gp.likelihood import (
    GPParameters,
    Replicates,
    factorise_correlations,
    trend_columns,
    whiten_trend,
)


@dataclass(frozen=True)
class Seen:
    """What a GP has worked out about some inputs, so that it need not do so again.

    Attributes:
        W: Inputs divided by the length scales, shape (n, p).
        k: Correlations with the runs, shape (n, u).
        half: L^{-1} k', shape (u, n).
        slack: s, what the runs leave open of the trend, shape (q, n).
        trend: f'beta, shape (n,).
    """

    W: FloatArray
    k: FloatArray
    half: FloatArray
    slack: FloatArray
    trend: FloatArray


class Kriging:
    """A GP with given parameters, conditioned on runs; costs u^2 operations a row after u^3 / 3 once.

    Args:
        parameters: Length scales, nugget, variance and mean, with slopes or without.
        runs: Training runs with u distinct inputs of shape (u, p).
        correlation: Of scaled inputs.

    Attributes:
        jitter: What the correlations needed on their diagonal besides the nugget, to be factorised; zero as a rule.

    Example:
        >>> runs = Replicates.collect(np.array([[0.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2))
        >>> gp = Kriging(GPParameters(np.ones(1), 1e-8, 1.0, 0.0), runs)
        >>> mean, variance = gp.predict(np.array([[0.0], [0.5]]))
        >>> mean.round(3), variance.round(3)
        (array([-1.,  0.]), array([0.   , 0.105]))
    """

    def __init__(self, parameters: GPParameters, runs: Replicates, correlation: Correlation = MATERN52) -> None:
        self.parameters, self.runs, self.correlation = parameters, runs, correlation
        self._W = runs.Z / parameters.length
        self._factor, _, self.jitter = factorise_correlations(self._W, parameters.nugget / runs.count, correlation)
        F = trend_columns(runs.Z, parameters.sloped)
        solved = solve_factored(self._factor, np.column_stack([F, runs.mean - parameters.trend(runs.Z)]))
        self._alpha = solved[:, -1]
        self._root, self._V = whiten_trend(F, solved[:, :-1])

    def predict(self, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the latent function at new inputs, (n, p) -> (n,), (n,)."""
        mean, variance = np.empty((2, len(Z)))
        for part in slices(len(Z), len(self.runs)):
            seen = self.look_at(Z[part])
            mean[part], variance[part] = self.mean(seen), self.variance(seen)
        return mean, variance

    def look_at(self, Z: FloatArray) -> Seen:
        """What predictions and covariances at inputs share, (n, p)."""
        W = Z / self.parameters.length
        k, _ = self.correlation.between(W, self._W)
        half = blas.dtrsm(1.0, self._factor.T, k.T, lower=0, trans_a=1)
        f = trend_columns(Z, self.parameters.sloped)
        slack = np.linalg.solve(self._root, f.T) - (k @ self._V).T
        return Seen(W, k, half, slack, self.parameters.trend(Z))

    def mean(self, seen: Seen) -> FloatArray:
        """Mean of the latent function, shape (n,)."""
        return np.asarray(seen.trend + seen.k @ self._alpha)

    def variance(self, seen: Seen) -> FloatArray:
        """Variance of the latent function, shape (n,)."""
        left = np.maximum(1 - (seen.half * seen.half).sum(axis=0), 0.0)
        return np.asarray(self.parameters.variance * (left + (seen.slack * seen.slack).sum(axis=0)))

    def covariance(self, a: Seen, b: Seen) -> FloatArray:
        """Covariance of the latent function between inputs, shape (a, b)."""
        covariance, _ = self.correlation.between(a.W, b.W)
        covariance = covariance - a.half.T @ b.half
        covariance += a.slack.T @ b.slack
        covariance *= self.parameters.variance
        return covariance

    def leave_one_out(self) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the latent function at each training input, its own runs left out; (u,), (u,).

        With P = K^{-1} - V V': mean_i = ybar_i - alpha_i / P_ii, and nu / P_ii is the variance of ybar_i
        (Dubrule 1983). The trend beta is estimated anew without the row; length scales, nugget and nu are kept.
        """
        precision = invert_factored(self._factor).diagonal() - (self._V * self._V).sum(axis=1)
        noise = self.parameters.nugget / self.runs.count
        variance = self.parameters.variance * np.maximum(1 / precision - noise, 0.0)
        return self.runs.mean - self._alpha / precision, variance

    def with_runs(self, Z: FloatArray, y: FloatArray) -> Kriging:
        """The same GP given further runs too, (n, p) and (n,); its parameters stay."""
        known, more = self.runs, Replicates.collect(Z, y, np.ones(len(y)))
        joined = Replicates(
            np.vstack([known.Z, more.Z]),
            np.append(known.mean, more.mean),
            np.append(known.count, more.count),
            np.append(known.scatter, more.scatter),
        )
        return Kriging(self.parameters, joined, self.correlation)
