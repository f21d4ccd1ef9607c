"""Predictions of a two-layer deep GP, moments for each posterior draw and over all of them, and active learning by it.

As in Sauer, Gramacy & Higdon (2023). The hidden layer at a new input is uncertain even when it is known at the training
inputs. deepgp plugs in its mean, which leaves the intervals too narrow, the more so the more inputs there are; here
each draw carries its own deviation from that mean, unless `hidden` is "mean".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lapack
from scipy.spatial.distance import cdist, pdist

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.models.gp.deep.layers import CorrelationMatrix, Kernel, correlate, latent_jitter, whiten
from genbayes.models.gp.kernels import slices
from genbayes.persistence import FOREIGN
from genbayes.validation import check_array, check_choice

Hidden = Literal["drawn", "mean"]
HIDDEN: tuple[Hidden, ...] = ("drawn", "mean")
CELLS_PER_CHUNK = 2**20  # 8 MiB an array; a handful of such arrays is alive at a time


@dataclass(frozen=True)
class DeepGPDraws:
    """t draws from the posterior of hidden layer and parameters, with the data they belong to.

    Attributes:
        kernel: Correlation of both layers.
        X: Training inputs, shape (n, d).
        y: Training responses, shape (n,).
        w: Hidden layer, shape (t, n, h).
        theta_y: Outer squared length scale, shape (t,).
        theta_w: Inner squared length scales, shape (t, h).
        xi: Standard normal numbers that place the hidden layer at new inputs around its conditional mean, (t, h).
        nugget: Noise variance in units of tau2, shape (t,).
        tau2: Outer variance, its posterior mean given the rest of the draw, shape (t,).
        log_likelihood: Of the outer layer, tau2 integrated out, up to a constant, shape (t,).
    """

    kernel: Kernel
    X: FloatArray
    y: FloatArray
    w: FloatArray
    theta_y: FloatArray
    theta_w: FloatArray
    xi: FloatArray
    nugget: FloatArray
    tau2: FloatArray
    log_likelihood: FloatArray

    def __len__(self) -> int:
        return len(self.theta_y)

    def __getitem__(self, which: slice) -> DeepGPDraws:
        """Some of the draws, for instance every second one: draws[::2].

        Example:
            >>> import numpy as np
            >>> X, y, t = np.zeros((5, 1)), np.zeros(5), np.ones(4)
            >>> w, per_column = np.ones((4, 5, 1)), np.ones((4, 1))
            >>> draws = DeepGPDraws("matern52", X, y, w, t, per_column, per_column, nugget=t, tau2=t, log_likelihood=t)
            >>> len(draws[::2])
            2
        """
        return DeepGPDraws(
            self.kernel,
            self.X,
            self.y,
            w=self.w[which],
            theta_y=self.theta_y[which],
            theta_w=self.theta_w[which],
            xi=self.xi[which],
            nugget=self.nugget[which],
            tau2=self.tau2[which],
            log_likelihood=self.log_likelihood[which],
        )


@dataclass(frozen=True)
class DeepGPPrediction:
    """Predictive moments of the response.

    Attributes:
        mean: Shape (k,).
        latent_variance: Variance of the noise-free response, shape (k,).
        noise_variance: Variance of the noise, shape (k,).
    """

    mean: FloatArray
    latent_variance: FloatArray
    noise_variance: FloatArray


def predict_deep_gp(draws: DeepGPDraws, X_new: ArrayLike, hidden: Hidden = "drawn") -> DeepGPPrediction:
    """Predictive mean and variance by the law of total variance over the draws.

    mean = avg_t mu_t, latent variance = avg_t v_t + var_t mu_t, noise variance = avg_t tau2_t g_t.
    Source: Sauer, Gramacy & Higdon (2023), where `hidden="mean"`.

    Args:
        draws: Posterior draws.
        X_new: Inputs on the scale of the training inputs, shape (k, d).
        hidden: "drawn" to account for the hidden layer's own uncertainty at new inputs, "mean" to ignore it.

    Returns:
        Moments, each of shape (k,).

    Example:
        >>> from genbayes.models.gp.deep import NOISE_FREE, DeepGPSettings, sample_deep_gp
        >>> X = np.linspace(0, 1, 8)[:, None]
        >>> settings = DeepGPSettings(nugget=NOISE_FREE, n_samples=10, n_burn_in=20, thinning=1)
        >>> draws = sample_deep_gp(X, np.sin(6 * X[:, 0]), settings, np.random.default_rng(0))
        >>> bool(np.allclose(predict_deep_gp(draws, X).mean, np.sin(6 * X[:, 0]), atol=1e-3))
        True
    """
    X_new = check_new_inputs(draws, X_new, "X_new")
    check_choice(hidden, "hidden", HIDDEN)
    parts = []
    for mean, variance in _chunks(draws, X_new, hidden):
        parts.append((mean.mean(axis=0), variance.mean(axis=0) + mean.var(axis=0)))
    means, variances = (np.concatenate(part) for part in zip(*parts, strict=True))
    return DeepGPPrediction(means, variances, np.full(len(X_new), float(np.mean(draws.tau2 * draws.nugget))))


def predict_each_draw(
    draws: DeepGPDraws, X_new: ArrayLike, hidden: Hidden = "drawn"
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Moments under each draw, of which the posterior predictive is the mixture.

    Args:
        draws: Posterior draws.
        X_new: Inputs on the scale of the training inputs, shape (k, d).
        hidden: As in `predict_deep_gp`.

    Returns:
        Means, shape (t, k), variances of the noise-free response, shape (t, k), and of the noise, shape (t,).

    Example:
        >>> from genbayes.models.gp.deep import DeepGPSettings, sample_deep_gp
        >>> X = np.linspace(0, 1, 8)[:, None]
        >>> settings = DeepGPSettings(n_samples=5, n_burn_in=0, thinning=1)
        >>> draws = sample_deep_gp(X, np.cos(X[:, 0]), settings, np.random.default_rng(0))
        >>> [part.shape for part in predict_each_draw(draws, X[:3])]
        [(5, 3), (5, 3), (5,)]
    """
    X_new = check_new_inputs(draws, X_new, "X_new")
    check_choice(hidden, "hidden", HIDDEN)
    means, variances = (np.concatenate(part, axis=1) for part in zip(*_chunks(draws, X_new, hidden), strict=True))
    return means, variances, draws.tau2 * draws.nugget


def _chunks(draws: DeepGPDraws, X_new: FloatArray, hidden: Hidden) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Means and variances under each draw, (t, rows) each, for so many rows at a time that memory stays bounded."""
    for rows in slices(len(X_new), max(len(draws.y), len(draws)), CELLS_PER_CHUNK):
        moments = []
        for t in range(len(draws)):
            layers = DrawnLayers(draws, t)
            moments.append(layers.outer_moments(layers.hidden(X_new[rows], hidden)))
        means, variances = zip(*moments, strict=True)
        yield np.array(means), np.array(variances)


def alc(draws: DeepGPDraws, candidates: ArrayLike, reference: ArrayLike) -> FloatArray:
    """Expected reduction of the mean predictive variance over reference points when a candidate is run.

    avg_t avg_r tau2 c_t(r, x)^2 / (v_t(x) + g_t), where c_t and v_t are posterior covariance and variance of the
    outer layer in units of tau2, given the draw's hidden layer; inputs are mapped to its conditional mean.

    Args:
        draws: Posterior draws.
        candidates: Inputs that might be run next, shape (c, d).
        reference: Inputs at which predictions matter, shape (r, d).

    Returns:
        One score per candidate, larger is better, shape (c,).

    Example:
        >>> from genbayes.models.gp.deep import NOISE_FREE, DeepGPSettings, sample_deep_gp
        >>> X = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 1.0])[:, None]
        >>> settings = DeepGPSettings(nugget=NOISE_FREE, n_samples=10, n_burn_in=20, thinning=1)
        >>> draws = sample_deep_gp(X, np.sin(9 * X[:, 0]), settings, np.random.default_rng(0))
        >>> scores = alc(draws, [[0.25], [0.7]], np.linspace(0, 1, 20)[:, None])
        >>> int(scores.argmax())  # the gap, not the crowd
        1
    """
    X_c, X_r = check_new_inputs(draws, candidates, "candidates"), check_new_inputs(draws, reference, "reference")
    total = np.zeros(len(X_c))
    for t in range(len(draws)):
        total += _alc_of_draw(DrawnLayers(draws, t), X_c, X_r)
    return total / len(draws)


def _alc_of_draw(layers: DrawnLayers, X_c: FloatArray, X_r: FloatArray) -> FloatArray:
    w_c, w_r = layers.hidden(X_c, "mean"), layers.hidden(X_r, "mean")
    V_r = layers.whitened(w_r)
    parts = slices(len(w_c), max(V_r.shape), CELLS_PER_CHUNK)
    return np.concatenate([_reductions(layers, w_c[rows], w_r, V_r) for rows in parts])


def _reductions(layers: DrawnLayers, w_c: FloatArray, w_r: FloatArray, V_r: FloatArray) -> FloatArray:
    V_c = layers.whitened(w_c)
    covariance = layers.correlation(w_r, w_c) - V_r.T @ V_c  # (r, c)
    variance = layers.unexplained(V_c) + layers.nugget
    reduction: FloatArray = layers.tau2 * np.mean(covariance**2, axis=0) / variance
    return reduction


def check_new_inputs(draws: DeepGPDraws, X: ArrayLike, name: str) -> FloatArray:
    """Finite inputs with as many columns as the training inputs, shape (k, d), k at least 1.

    Example:
        >>> one = np.ones((1, 1))
        >>> draws = DeepGPDraws("matern52", one, one[0], one[None], one[0], one, one, one[0], one[0], one[0])
        >>> check_new_inputs(draws, [[2]], "X_new")
        array([[2.]])
    """
    array = check_array(X, name, "(k, d)")
    d = draws.X.shape[1]
    if len(array) == 0 or array.shape[1] != d:
        raise InvalidInput(f"{name} must have shape (k, {d}) with k at least 1, got {array.shape}")
    return array


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
        with the right distribution at every x. "mean" sets xi = 0.
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
        if factor is None:  # a draw was factorised when it was made
            raise UnreadableFile(f"the draws of the deep GP must be as they were saved, got others; {FOREIGN}")
        return factor.copy(order="F")


def _solve(factor: FloatArray, v: FloatArray) -> FloatArray:
    solution: FloatArray = lapack.dpotrs(factor, v, lower=1)[0]
    return solution
