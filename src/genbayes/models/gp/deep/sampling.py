"""Posterior sampling of a two-layer deep GP: where the chain starts, its moves, how long it runs, what is kept.

Gibbs sampling as in Sauer, Gramacy & Higdon (2023): sliding-window moves of the nugget and the length scales,
v* ~ U(v / 2, 2 v), elliptical slice sampling of each column of the hidden layer (Murray, Adams & MacKay 2010). One move
is added, see `TwoLayerChain._rescale_column`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import blas
from threadpoolctl import threadpool_limits  # comes with scikit-learn

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.models.gp.cholesky import log_determinant
from genbayes.models.gp.deep.layers import (
    CorrelationMatrix,
    DeepGPSettings,
    GammaPrior,
    Likelihood,
    OuterLikelihood,
    latent_jitter,
    pairs_of,
    whiten,
)
from genbayes.models.gp.deep.prediction import DeepGPDraws, DrawnLayers
from genbayes.progress import Report
from genbayes.validation import check_array, check_targets

SMALLEST_BRACKET = 1e-14  # angles below it change nothing in double precision
WINDOW = 2.0  # u / l of the paper, where l = 1 and u = 2
SMALLEST_N = 3  # with two responses or fewer the mean of tau2 is infinite under the reference prior
FIRST_THETA, FIRST_NUGGET = 0.1, 0.01  # deepgp's starting values
REPORT_EVERY = 10  # iterations; drawing a progress bar must not cost as much as sampling


def sample_deep_gp(
    X: ArrayLike,
    y: ArrayLike,
    settings: DeepGPSettings,
    rng: np.random.Generator,
    start: DeepGPDraws | None = None,
    report: Report | None = None,
) -> DeepGPDraws:
    """Draws from the posterior of a two-layer deep GP, by Gibbs and elliptical slice sampling.

    y | W ~ N(0, tau2 (K_theta_y(W) + g I)); columns of W independent, w_j | X ~ N(0, K_theta_w_j(X)).
    Source: Sauer, Gramacy & Higdon (2023).

    Args:
        X: Inputs, scaled to about [0, 1] in each column, shape (n, d).
        y: Responses, scaled to mean 0 and variance 1, shape (n,).
        settings: Model and length of the chain.
        rng: Source of all randomness.
        start: Earlier draws; the chain goes on from the last of them. Its inputs may be the first rows of X, the
            others then start where they are predicted, or any others. Without noise a chain that is continued over
            many added runs may stay in a poor mode: choose runs with it, but predict from a fresh one at the end.
        report: Called now and then with the iteration, the length of the chain and the log likelihood.

    Returns:
        `settings.n_samples` draws.

    Example:
        >>> X = np.linspace(0, 1, 8)[:, None]
        >>> settings = DeepGPSettings(n_samples=5, n_burn_in=10, thinning=2)
        >>> draws = sample_deep_gp(X, np.sin(6 * X[:, 0]), settings, np.random.default_rng(0))
        >>> draws.w.shape
        (5, 8, 1)
    """
    X = check_array(X, "X", "(n, d)")
    y = check_targets(y, len(X))
    if len(X) < SMALLEST_N:
        raise InvalidInput(f"X must have at least {SMALLEST_N} rows, got {len(X)}")
    likelihood = OuterLikelihood(y, settings.kernel, settings.scale_prior)
    state = _identity(X, settings) if start is None else _continue(X, settings, start)
    with threadpool_limits(limits=1, user_api="blas"):  # at n = 100 threads cost more than they do
        chain = TwoLayerChain(X, likelihood, settings, state)
        if not np.isfinite(chain.log_likelihood):
            raise InvalidInput(f"nugget must be larger for these {len(X)} rows, got {settings.nugget!r}")
        kept = list(_run(chain, settings, rng, report))
    parts = [np.array(part) for part in zip(*kept, strict=True)]
    return DeepGPDraws(settings.kernel, X, y, *parts)


class _Kept(NamedTuple):
    """One draw, in the order of the fields of `DeepGPDraws`."""

    w: FloatArray
    theta_y: float
    theta_w: FloatArray
    xi: FloatArray
    nugget: float
    tau2: float
    log_likelihood: float


def _run(
    chain: TwoLayerChain, settings: DeepGPSettings, rng: np.random.Generator, report: Report | None
) -> Iterator[_Kept]:
    """Make all iterations and hand out the kept draws."""
    for i in range(1, settings.n_iterations + 1):
        chain.step(rng)
        if report is not None and (i % REPORT_EVERY == 0 or i == settings.n_iterations):
            report(i, settings.n_iterations, chain.log_likelihood)
        since = i - settings.n_burn_in
        if since > 0 and since % settings.thinning == 0:
            xi = rng.standard_normal(len(chain.w))
            w, theta_w = chain.w.T.copy(), chain.theta_w.copy()
            yield _Kept(w, chain.theta_y, theta_w, xi, chain.nugget, chain.tau2, chain.log_likelihood)


def _identity(X: FloatArray, settings: DeepGPSettings) -> ChainState:
    """The paper's start: the hidden layer equals the inputs, repeated or cut to its width."""
    d = X.shape[1]
    h = d if settings.n_hidden is None else settings.n_hidden
    nugget = FIRST_NUGGET if settings.nugget is None else settings.nugget
    return ChainState(X[:, np.arange(h) % d], FIRST_THETA, np.full(h, FIRST_THETA), nugget)


def _continue(X: FloatArray, settings: DeepGPSettings, start: DeepGPDraws) -> ChainState:
    """The last draw, with its hidden layer predicted at inputs that are new."""
    n, d = start.X.shape
    h = d if settings.n_hidden is None else settings.n_hidden
    if (X.shape[1], settings.kernel, h) != (d, start.kernel, start.w.shape[2]):
        raise InvalidInput(
            f"start must have the inputs, kernel and hidden width of the new chain ({X.shape[1]}, "
            f"{settings.kernel}, {h}), got ({d}, {start.kernel}, {start.w.shape[2]})"
        )
    if np.array_equal(X[:n], start.X):
        w = start.w[-1]
        if len(X) > n:
            w = np.vstack([w, DrawnLayers(start, -1).hidden(X[n:], "mean")])
    else:
        w = DrawnLayers(start, -1).hidden(X, "mean")
    nugget = float(start.nugget[-1]) if settings.nugget is None else settings.nugget
    return ChainState(w, float(start.theta_y[-1]), start.theta_w[-1], nugget)


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
    """A chain whose stationary distribution is the posterior; `step` makes one iteration.

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


def elliptical_slice(
    w: FloatArray,
    nu: FloatArray,
    log_likelihood: Callable[[FloatArray], float],
    current: float,
    rng: np.random.Generator,
) -> tuple[FloatArray, float]:
    """One move along the ellipse w cos(phi) + nu sin(phi) that leaves prior times likelihood invariant.

    A level below the current log likelihood is drawn, then angles, from the whole ellipse first and then from
    ever shorter brackets around phi = 0, until one lies above the level.

    Args:
        w: Current state, shape (n,).
        nu: A fresh draw from the prior of w, shape (n,).
        log_likelihood: Log likelihood of a state.
        current: Its value at w.
        rng: Source of the level and the angles.

    Returns:
        The new state, shape (n,), and its log likelihood.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> w, value = elliptical_slice(np.zeros(2), np.ones(2), lambda w: -float(w @ w), 0.0, rng)
        >>> bool(value == -w @ w)
        True
    """
    level = current - rng.standard_exponential()  # log of a uniform share of the likelihood
    phi = rng.uniform(0.0, 2.0 * math.pi)
    lower, upper = phi - 2.0 * math.pi, phi
    while upper - lower > SMALLEST_BRACKET:
        proposal = w * math.cos(phi) + nu * math.sin(phi)
        value = log_likelihood(proposal)
        if value >= level:
            return proposal, value
        if phi < 0.0:
            lower = phi
        else:
            upper = phi
        phi = rng.uniform(lower, upper)
    # phi = 0 is always above the level, unless rounding lets an ill-conditioned likelihood differ from its own value
    return w, current


def propose_slide(value: float, rng: np.random.Generator) -> float:
    """A proposal v* ~ U(v / 2, 2 v) for a positive value v.

    Example:
        >>> 0.5 <= propose_slide(1.0, np.random.default_rng(0)) <= 2.0
        True
    """
    return float(rng.uniform(value / WINDOW, WINDOW * value))


def accept_slide(value: float, proposal: float, gain: float, rng: np.random.Generator) -> bool:
    """Whether to move from v to v*, with probability min(1, exp(gain) v / v*).

    The window's width is proportional to v, so q(v | v*) / q(v* | v) = v / v*.

    Args:
        value: Current value v.
        proposal: Proposed value v*.
        gain: log posterior(v*) - log posterior(v); minus infinity is never accepted.
        rng: Source of the decision.

    Example:
        >>> accept_slide(1.0, 1.5, -np.inf, np.random.default_rng(0))
        False
    """
    threshold = -rng.standard_exponential()
    return bool(gain + math.log(value / proposal) > threshold)
