"""Kriging with everything that design asks of it: covariances between new inputs, leave-one-out, variance reduction.

With K = C + g A^{-1} = L L', h(x) = L^{-1} c(x), v = K^{-1} 1 and t = 1'v, posterior covariances of the latent
function, the unknown mean included, are

    cov(x, x') = nu [c(x, x') - h(x)'h(x') + (1 - v'c(x)) (1 - v'c(x')) / t]

(Rasmussen & Williams 2006, section 2.7). They do not depend on responses, which is what makes fantasies cheap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas

from genbayes.arrays import FloatArray
from genbayes.design.process.likelihood import factorise_runs, squared_distances, symmetric_inverse
from genbayes.gp.correlation import CORRELATIONS
from genbayes.gp.likelihood import solve_factored
from genbayes.gp.profile import GPParameters
from genbayes.gp.replicates import Replicates

__all__ = ["Kriging", "Seen"]


@dataclass(frozen=True)
class Seen:
    """What a GP has worked out about some inputs, so that it need not do so again.

    Attributes:
        W: Inputs divided by the length scales, shape (n, p).
        k: Correlations with the runs, shape (n, u).
        half: L^{-1} k', shape (u, n).
        slack: 1 - v'k, shape (n,).
    """

    W: FloatArray
    k: FloatArray
    half: FloatArray
    slack: FloatArray


class Kriging:
    """A GP with given parameters, conditioned on runs.

    Args:
        parameters: Length scales, nugget, variance and mean.
        correlation: Name of the correlation.
        runs: Runs with u distinct inputs of shape (u, p).

    Example:
        >>> runs = Replicates.collect(np.array([[0.0], [1.0]]), np.array([-1.0, 1.0]), np.ones(2))
        >>> gp = Kriging(GPParameters(np.ones(1), 1e-8, 1.0, 0.0, 0.0), "matern52", runs)
        >>> mean, variance = gp.predict(np.array([[0.0], [0.5]]))
        >>> mean.round(3), variance.round(3)
        (array([-1.,  0.]), array([0.   , 0.105]))
    """

    def __init__(self, parameters: GPParameters, correlation: str, runs: Replicates) -> None:
        self.parameters, self.correlation, self.runs = parameters, correlation, runs
        self._W = runs.Z / parameters.length
        self._factor, _ = factorise_runs(self._W, parameters.nugget / runs.count, CORRELATIONS[correlation])
        sides = np.column_stack([np.ones(len(runs)), runs.mean - parameters.mean])
        self._v, self._alpha = solve_factored(self._factor, sides).T
        self._total = float(self._v.sum())

    def look_at(self, Z: FloatArray) -> Seen:
        """What predictions and covariances at inputs share, (n, p)."""
        W = Z / self.parameters.length
        k = CORRELATIONS[self.correlation](squared_distances(W, self._W))[0]
        half = blas.dtrsm(1.0, self._factor.T, k.T, lower=0, trans_a=1)
        return Seen(W, k, half, 1 - k @ self._v)

    def predict(self, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the latent function, (n, p) -> (n,), (n,)."""
        seen = self.look_at(Z)
        return self.mean(seen), self.variance(seen)

    def mean(self, seen: Seen) -> FloatArray:
        """Mean of the latent function, shape (n,)."""
        return np.asarray(self.parameters.mean + seen.k @ self._alpha)

    def variance(self, seen: Seen) -> FloatArray:
        """Variance of the latent function, shape (n,)."""
        left = np.maximum(1 - (seen.half * seen.half).sum(axis=0), 0.0)
        return np.asarray(self.parameters.variance * (left + seen.slack**2 / self._total))

    def covariance(self, a: Seen, b: Seen) -> FloatArray:
        """Covariance of the latent function between inputs, shape (a, b)."""
        prior = CORRELATIONS[self.correlation](squared_distances(a.W, b.W))[0]
        prior -= a.half.T @ b.half
        prior += np.outer(a.slack / self._total, b.slack)
        prior *= self.parameters.variance
        return prior

    def leave_one_out(self) -> tuple[FloatArray, FloatArray]:
        """Error ybar_i - mean_i and variance of ybar_i, the runs at input i left out, shape (u,) each.

        With P = K^{-1} - v v'/t: alpha_i / P_ii and nu / P_ii (Dubrule 1983).
        """
        precision = symmetric_inverse(self._factor).diagonal() - self._v**2 / self._total
        return self._alpha / precision, self.parameters.variance / precision

    def with_runs(self, Z: FloatArray, y: FloatArray) -> Kriging:
        """The same GP told of further runs, (n, p) and (n,); its parameters stay."""
        known = self.runs
        fresh = Replicates.collect(Z, y, np.ones(len(y)))
        joined = Replicates(
            np.vstack([known.Z, fresh.Z]),
            np.append(known.mean, fresh.mean),
            np.append(known.count, fresh.count),
            np.append(known.scatter, fresh.scatter),
        )
        return Kriging(self.parameters, self.correlation, joined)
