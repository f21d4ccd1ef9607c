"""The two kriging steps of one draw: from inputs to the hidden layer, from there to the response.

As in Sauer, Gramacy & Higdon (2023). Predictions, design and warm starts all go through here.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.linalg import lapack
from scipy.spatial.distance import cdist, pdist

from genbayes.arrays import FloatArray
from genbayes.gp.deep.correlation import CorrelationMatrix, correlate, latent_jitter
from genbayes.gp.deep.draws import DeepGPDraws
from genbayes.gp.deep.likelihood import whiten

__all__ = ["HIDDEN", "DrawnLayers", "Hidden", "rows_per_chunk"]

Hidden = Literal["drawn", "mean"]
HIDDEN: tuple[Hidden, ...] = ("drawn", "mean")
CELLS_PER_CHUNK = 2**20  # 8 MiB an array; a handful of such arrays is alive at a time


def rows_per_chunk(*widths: int) -> int:
    """How many rows to treat at a time when each needs arrays as wide as the widest of `widths`.

    Example:
        >>> rows_per_chunk(1024, 10)
        1024
    """
    return max(1, CELLS_PER_CHUNK // max(widths))


class DrawnLayers:
    """Both layers of one draw, factorised once for any number of new inputs.

    Args:
        draws: Posterior draws.
        t: Which of them.
    """

    def __init__(self, draws: DeepGPDraws, t: int) -> None:
        n = len(draws.y)
        self._draws, self._t = draws, t
        self._matrix = CorrelationMatrix(n, draws.kernel)
        self._s_x = pdist(draws.X, "sqeuclidean")
        self.tau2, self.nugget = float(draws.tau2[t]), float(draws.nugget[t])
        self._factor = self._factorise(pdist(draws.w[t], "sqeuclidean"), float(draws.theta_y[t]), self.nugget)
        self._alpha = _solve(self._factor, draws.y)

    def hidden(self, X_new: FloatArray, hidden: Hidden) -> FloatArray:
        """Hidden layer at new inputs, its conditional mean or a draw around it, (k, d) -> (k, h).

        w(x) = m(x) + xi s(x): given the hidden layer at the training inputs, m and s are kriging mean and standard
        deviation and xi the draw's standard normal number, one for each column, so that w is a smooth function of x
        with the right law at every x. "mean" sets xi = 0.
        """
        s_new = cdist(X_new, self._draws.X, "sqeuclidean")
        return np.column_stack([self._hidden_column(j, s_new, hidden) for j in range(self._draws.w.shape[2])])

    def outer_moments(self, w_new: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the noise-free response at new points of the hidden layer, (k, h) -> (k,), (k,).

        Mean k' (K + g I)^-1 y, variance tau2 (1 - k' (K + g I)^-1 k).
        """
        cross = self.correlation(w_new, self._draws.w[self._t])
        mean = cross @ self._alpha
        return mean, self.tau2 * self.unexplained(whiten(self._factor, cross.T))

    def whitened(self, w_new: FloatArray) -> FloatArray:
        """L^-1 k(W, w) with L L' = K + g I, for new points of the hidden layer, (k, h) -> (n, k)."""
        return whiten(self._factor, self.correlation(w_new, self._draws.w[self._t]).T)

    @staticmethod
    def unexplained(whitened: FloatArray) -> FloatArray:
        """Share of the prior variance that the data leave, 1 - |L^-1 k|^2, never negative, (n, k) -> (k,)."""
        explained: FloatArray = np.einsum("nk,nk->k", whitened, whitened)
        return np.maximum(1.0 - explained, 0.0)  # rounding may leave -1e-16

    def correlation(self, w: FloatArray, other: FloatArray) -> FloatArray:
        """Correlations of the outer layer between points of the hidden layer, (k, h), (l, h) -> (k, l)."""
        s = cdist(w, other, "sqeuclidean")
        return correlate(s, float(self._draws.theta_y[self._t]), self._draws.kernel, out=s)

    def _hidden_column(self, j: int, s_new: FloatArray, hidden: Hidden) -> FloatArray:
        draws, theta = self._draws, float(self._draws.theta_w[self._t, j])
        factor = self._factorise(self._s_x, theta, latent_jitter(len(draws.y)))
        cross = correlate(s_new, theta, draws.kernel)
        mean: FloatArray = cross @ _solve(factor, draws.w[self._t, :, j])
        if hidden == "mean":
            return mean
        spread = np.sqrt(self.unexplained(whiten(factor, cross.T)))
        return mean + float(draws.xi[self._t, j]) * spread

    def _factorise(self, s: FloatArray, theta: float, nugget: float) -> FloatArray:
        factor = self._matrix.factor(s, theta, nugget)
        assert factor is not None, "a draw was factorised when it was made"
        return factor.copy(order="F")


def _solve(factor: FloatArray, v: FloatArray) -> FloatArray:
    solution: FloatArray = lapack.dpotrs(factor, v, lower=1)[0]
    return solution
