"""Where a stationary GP errs more than it says, found from its own leave-one-out errors.

A GP with one variance for the whole space is too sure of itself where the response is lively and too modest where it
is calm. The squares of its standardised leave-one-out errors, of mean 1 where it is right, say where; their local mean

    rho(x) = (1 + sum_i k(x, x_i) e_i^2 / s_i^2) / (1 + sum_i k(x, x_i)),   k = exp(-|w(x) - w(x_i)|^2 / (2 h^2)),

multiplies its variance. The two ones are a run that errs as expected: far from all runs rho is 1. In the spirit of
Le Gratiet & Cannamela (2015), who weigh the variance by the leave-one-out errors of the nearest run.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.gp.correlation import squared_distances
from genbayes.gp.exact import Kriging

__all__ = ["LocalScale"]

BANDWIDTH = 0.5  # h, in length scales: errors are felt as far as half the distance at which the response is
PRIOR_RUNS = 1.0  # runs that erred as expected, everywhere


@dataclass(frozen=True)
class LocalScale:
    """Factor for the variance of a GP, from place to place.

    Attributes:
        length: Length scales, shape (p,).
        W: Inputs of the runs divided by them, shape (u, p).
        ratio: Squared standardised leave-one-out errors, shape (u,).
    """

    length: FloatArray
    W: FloatArray
    ratio: FloatArray

    @classmethod
    def learn(cls, gp: Kriging) -> LocalScale:
        """From the leave-one-out errors of a GP.

        Example:
            >>> from genbayes.gp.profile import GPParameters
            >>> from genbayes.gp.replicates import Replicates
            >>> Z = np.linspace(-2, 2, 21)[:, None]
            >>> runs = Replicates.collect(Z, np.where(Z[:, 0] > 1, np.sin(9 * Z[:, 0]), 0.0), np.ones(21))
            >>> gp = Kriging(GPParameters(np.ones(1), 1e-4, 1.0, 0.0), runs)
            >>> calm, lively = LocalScale.learn(gp).at(np.array([[-1.0], [1.5]]))
            >>> bool(calm < 0.3 < 1 < lively)
            True
        """
        mean, latent = gp.leave_one_out()
        variance = latent + gp.parameters.noise / gp.runs.count
        return cls(gp.parameters.length, gp.runs.Z / gp.parameters.length, (gp.runs.mean - mean) ** 2 / variance)

    def at(self, Z: FloatArray) -> FloatArray:
        """The factor at inputs, (n, p) -> (n,)."""
        k = np.exp(squared_distances(Z / self.length, self.W) / (-2 * BANDWIDTH**2))
        return np.asarray((PRIOR_RUNS + k @ self.ratio) / (PRIOR_RUNS + k.sum(axis=1)))

    def without_own(self) -> FloatArray:
        """The factor at each run, its own error left out, shape (u,)."""
        k = np.exp(squared_distances(self.W, self.W) / (-2 * BANDWIDTH**2))
        np.fill_diagonal(k, 0.0)
        return np.asarray((PRIOR_RUNS + k @ self.ratio) / (PRIOR_RUNS + k.sum(axis=1)))
