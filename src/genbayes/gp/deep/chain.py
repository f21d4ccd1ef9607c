"""The Markov chain of a two-layer deep GP: its state and the moves that make up one iteration.

Gibbs sampling as in Sauer, Gramacy & Higdon (2023): sliding-window moves of the nugget and the length
scales, elliptical slice sampling of each column of the hidden layer. One move is added, see `_rescale_column`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import blas

from genbayes.arrays import FloatArray
from genbayes.gp.cholesky import log_determinant
from genbayes.gp.deep.correlation import CorrelationMatrix, latent_jitter, pairs_of
from genbayes.gp.deep.elliptical import elliptical_slice
from genbayes.gp.deep.likelihood import Likelihood, whiten
from genbayes.gp.deep.metropolis import accept_slide, propose_slide
from genbayes.gp.deep.settings import DeepGPSettings, GammaPrior

__all__ = ["ChainState", "TwoLayerChain"]


@dataclass(frozen=True)
class ChainState:
    """Where a chain starts.

    Attributes:
        w: Hidden layer, shape (n, h).
        theta_y: Outer squared length scale.
        theta_w: Inner squared length scales, shape (h,).
        nugget: Noise variance in units of tau2.
    """

    w: FloatArray
    theta_y: float
    theta_w: FloatArray
    nugget: float


class TwoLayerChain:
    """A chain whose stationary law is the posterior; `step` makes one iteration.

    Its state is in `w` (columns first, shape (h, n)), `theta_y`, `theta_w`, `nugget`; all else follows from these to
    the last bit, so that a chain stopped and started again equals one that ran through.

    Args:
        X: Inputs, shape (n, d).
        likelihood: Likelihood of the outer layer.
        settings: Kernel and priors; a nugget given here stays as it is.
        start: First state.
    """

    def __init__(self, X: FloatArray, likelihood: Likelihood, settings: DeepGPSettings, start: ChainState) -> None:
        n = len(X)
        self._first, self._second = pairs_of(n)
        self._likelihood = likelihood
        self._settings = settings
        self._inner = CorrelationMatrix(n, settings.kernel)
        self._jitter = latent_jitter(n)
        self._s_x = np.sum([self._squared_differences(column) for column in X.T], axis=0)
        self.w = np.array(start.w.T)  # a move needs one column in one piece
        self.theta_y, self.theta_w, self.nugget = start.theta_y, np.array(start.theta_w), start.nugget
        self._s_w = np.array([self._squared_differences(column) for column in self.w])
        self._factors = [self._factor_of_start(theta) for theta in self.theta_w]
        self.log_likelihood = likelihood(self.s, self.theta_y, self.nugget)

    @property
    def s(self) -> FloatArray:
        """Squared distances of the hidden layer's pairs, shape (n (n - 1) / 2,)."""
        return np.asarray(self._s_w.sum(axis=0))

    @property
    def tau2(self) -> float:
        """Posterior mean of the outer variance given the state."""
        return self._likelihood.scale(self.s, self.theta_y, self.nugget)

    def step(self, rng: np.random.Generator) -> None:
        """One iteration: every parameter and every column of the hidden layer gets its moves."""
        s = self.s
        if self._settings.nugget is None:
            self._slide_nugget(s, rng)
        self._slide_theta_y(s, rng)
        for j in range(len(self.w)):
            self._slide_theta_w(j, rng)
            self._rescale_column(j, rng)
            self._slice_column(j, rng)

    def _slide_nugget(self, s: FloatArray, rng: np.random.Generator) -> None:
        proposal = propose_slide(self.nugget, rng)
        value = self._likelihood(s, self.theta_y, proposal)
        gain = value - self.log_likelihood + _prior_gain(self._settings.nugget_prior, self.nugget, proposal)
        if accept_slide(self.nugget, proposal, gain, rng):
            self.nugget, self.log_likelihood = proposal, value

    def _slide_theta_y(self, s: FloatArray, rng: np.random.Generator) -> None:
        proposal = propose_slide(self.theta_y, rng)
        value = self._likelihood(s, proposal, self.nugget)
        gain = value - self.log_likelihood + _prior_gain(self._settings.theta_y, self.theta_y, proposal)
        if accept_slide(self.theta_y, proposal, gain, rng):
            self.theta_y, self.log_likelihood = proposal, value

    def _slide_theta_w(self, j: int, rng: np.random.Generator) -> None:
        """Move the length scale of a column given the column, when the outer layer has no say."""
        theta = float(self.theta_w[j])
        proposal = propose_slide(theta, rng)
        factor = self._inner_factor(proposal)
        if factor is None:
            return
        gain = _log_normal(factor, self.w[j]) - _log_normal(self._factors[j], self.w[j])
        if accept_slide(theta, proposal, gain + _prior_gain(self._settings.theta_w, theta, proposal), rng):
            self.theta_w[j], self._factors[j] = proposal, factor

    def _rescale_column(self, j: int, rng: np.random.Generator) -> None:
        """Move the length scale of a column given its whitened form z, so that w = L(theta) z moves along.

        Given w, a smooth column all but fixes its length scale, and the chain creeps; given z, which is N(0, I)
        whatever theta is, it does not. Doing both is the interweaving of Yu & Meng (2011).
        """
        theta = float(self.theta_w[j])
        proposal = propose_slide(theta, rng)
        factor = self._inner_factor(proposal)
        if factor is None:
            return
        w = _colour(factor, whiten(self._factors[j], self.w[j]))
        s_j = self._squared_differences(w)
        value = self._likelihood(self._others(j) + s_j, self.theta_y, self.nugget)
        gain = value - self.log_likelihood + _prior_gain(self._settings.theta_w, theta, proposal)
        if accept_slide(theta, proposal, gain, rng):
            self.theta_w[j], self._factors[j] = proposal, factor
            self.w[j], self._s_w[j], self.log_likelihood = w, s_j, value

    def _slice_column(self, j: int, rng: np.random.Generator) -> None:
        """Move a column by elliptical slice sampling."""
        others = self._others(j)
        nu = _colour(self._factors[j], rng.standard_normal(self.w.shape[1:]))

        def log_likelihood(w: FloatArray) -> float:
            return self._likelihood(others + self._squared_differences(w), self.theta_y, self.nugget)

        self.w[j], self.log_likelihood = elliptical_slice(self.w[j], nu, log_likelihood, self.log_likelihood, rng)
        self._s_w[j] = self._squared_differences(self.w[j])

    def _inner_factor(self, theta: float) -> FloatArray | None:
        factor = self._inner.factor(self._s_x, theta, self._jitter)
        return None if factor is None else factor.copy(order="F")

    def _factor_of_start(self, theta: float) -> FloatArray:
        factor = self._inner_factor(float(theta))
        assert factor is not None, "the jitter makes the prior of the hidden layer definite"
        return factor

    def _others(self, j: int) -> FloatArray:
        """Squared distances in all columns of the hidden layer but j; for the last j plus its own this is `s`."""
        return np.asarray(self._s_w[:j].sum(axis=0) + self._s_w[j + 1 :].sum(axis=0))

    def _squared_differences(self, column: FloatArray) -> FloatArray:
        difference = column[self._first] - column[self._second]
        difference *= difference
        return difference


def _prior_gain(prior: GammaPrior, value: float, proposal: float) -> float:
    return prior.log_density(proposal) - prior.log_density(value)


def _log_normal(factor: FloatArray, w: FloatArray) -> float:
    """Log density log N(w; 0, L L') up to a constant."""
    z = whiten(factor, w)
    return -0.5 * float(z @ z) - 0.5 * log_determinant(factor)


def _colour(factor: FloatArray, z: FloatArray) -> FloatArray:
    """L z, the inverse of `whiten`."""
    w: FloatArray = blas.dtrmv(factor, z, lower=1)
    return w
