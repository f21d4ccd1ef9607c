"""The latent Gaussian process of the log noise, and the joint search for it and the mean process.

log lambda = level + eta, eta a GP with covariance K = tau^2 C. What the runs say about it is summarised, as in Fisher
scoring, by working values delta_i of variance 1/h_i (Binois, Gramacy & Ludkovski 2018, section 3.2, where h_i is
a_i / g): eta = K (K + H^{-1})^{-1} delta. Integrating eta out by Laplace's method turns the density of eta into

    penalty = -1/2 eta'K^{-1} eta - 1/2 log|I + H K|,

which is zero for constant noise; the paper's own penalty grows without bound there, the noise process collapsing. One
posterior of length scales of both processes, variance and level of the log noise, and delta is climbed by L-BFGS-B. The
precisions h are the Fisher information where a climb begins; a second climb begins with better ones. Inputs are taken
to be of order one, responses standardised.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from genbayes.arrays import FloatArray
from genbayes.deadline import require_time
from genbayes.models.gp.cholesky import factorise, invert_factored, log_determinant
from genbayes.models.gp.kernels import CORRELATIONS, matern52_with_slope, slices, squared_distances
from genbayes.models.gp.likelihood import ExactProfile, GPParameters, Replicates, exact_profile, match_rows
from genbayes.models.gp.search import LENGTH_BOUNDS, LENGTH_CENTRE, log_prior

SMALLEST_RATIO = 1e-8  # of noise to process variance, added: replicates may agree to the last digit
LEVEL_BOUNDS = (SMALLEST_RATIO, 1e3)  # of the same ratio
VARIANCE_BOUNDS = (1e-4, 25.0)  # of the log noise: from nothing to a factor of e^5 a standard deviation
START_VARIANCE = 1.0
# The noise is taken to vary more slowly than the mean: twice its typical length, whichever inputs the mean ignores.
# Tails of a power law, length^-1, so that some dozens of runs can say otherwise.
NOISE_LENGTH_CENTRE, NOISE_LENGTH_PULL = 2 * LENGTH_CENTRE, 1.0
LARGEST_CORRECTION = 3.0  # of a working value: a squared residual has a long tail, on which a first step overshoots
LEAST_INFORMATION = 0.05  # per run: a GP that nearly interpolates leaves next to nothing to learn the noise from
CURVATURE = 0.1  # of the loss in log parameters, per run; puts them on a footing with the working values
GAIN = 0.01  # in log posterior, too small for another step
HISTORY = 20  # steps that L-BFGS remembers; dear evaluations, cheap memory
OVERFLOW_LOSS = 1e10  # loss where the covariance overflows, so that the line search turns back


@dataclass(frozen=True)
class NoisyGP:
    """Length scales of the mean process, shape (p,), its kernel by name, the noise process, and the log posterior."""

    length: FloatArray
    noise: NoiseProcess
    log_posterior: float
    kernel: str = "matern52"


def constant_noise(runs: Replicates, parameters: GPParameters, kernel: str = "matern52") -> NoisyGP:
    """A stationary GP seen as a heteroskedastic one, with its log posterior on the same scale.

    Example:
        >>> runs = Replicates.collect(np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0]), np.ones(3))
        >>> constant_noise(runs, GPParameters(np.ones(1), 1.0, 2.0, 0.0)).noise.predict(np.zeros((1, 1)))
        (array([0.]), array([0.]))
    """
    length, level = parameters.length, math.log(parameters.nugget)
    profile = exact_profile(runs, length, parameters.nugget, with_gradient=False, correlation=CORRELATIONS[kernel])
    value = profile.value + log_prior(np.append(np.log(length), level))[0]
    return NoisyGP(length, NoiseProcess.constant(level, len(length)), value, kernel)


def climb_jointly(runs: Replicates, start: NoisyGP, *, n_steps: int = 40) -> NoisyGP:
    """Climb the joint posterior of these runs from a GP that was fitted to them or to a subset of them.

    Begins with one step of Fisher scoring: working values eta + score / h, smoothed.

    Args:
        runs: Training runs with inputs of shape (u, p).
        start: Where to begin; its noise may be constant.
        n_steps: Most steps.

    Returns:
        The best GP found.

    Example:
        >>> Z = np.repeat(np.linspace(-1, 1, 30), 4)[:, None]
        >>> y = np.tile([-1.0, 1.0, -1.0, 1.0], 30) * np.exp(Z[:, 0])  # noise alone, growing to the right
        >>> runs = Replicates.collect(Z, y, np.ones(120))
        >>> start = constant_noise(runs, GPParameters(np.ones(1), 1.0, 1.0, 0.0))
        >>> found = climb_jointly(runs, start)
        >>> found.log_posterior > start.log_posterior + 10
        True
    """
    noise = start.noise
    log_noise, _ = noise.predict(runs.Z)
    profile = exact_profile(runs, start.length, noise_ratios(log_noise), correlation=CORRELATIONS[start.kernel])
    information = _information(runs, profile)
    correction = np.clip(profile.by_log_noise / information, -LARGEST_CORRECTION, LARGEST_CORRECTION)
    length, variance = noise.length, noise.variance
    if noise.is_constant:
        length, variance = np.full_like(start.length, NOISE_LENGTH_CENTRE * math.sqrt(len(length))), START_VARIANCE
    theta = np.concatenate(
        [np.log(start.length), np.log(length), [math.log(variance), noise.level], log_noise - noise.level + correction]
    )
    return _climb(JointPosterior(runs, information, start.kernel), theta, n_steps)


def _climb(posterior: JointPosterior, theta: FloatArray, n_steps: int) -> NoisyGP:
    units, p = posterior.units, posterior.p
    bounds = np.column_stack(posterior.bounds) * units[:, None]
    start = np.clip(theta * units, *bounds.T)
    size = max(1.0, abs(posterior.loss(start)[0]))
    # stops once a step gains less than ftol times the loss, or no variable's gradient exceeds gtol
    options = {"maxiter": n_steps, "maxcor": HISTORY, "ftol": GAIN / size, "gtol": math.sqrt(GAIN) / 10}
    found = minimize(posterior.loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    theta = found.x / units
    length, noise_length, variance = np.exp(theta[:p]), np.exp(theta[p : 2 * p]), math.exp(theta[2 * p])
    weights, Z = posterior.smooth(theta).weights, posterior.runs.Z
    noise = NoiseProcess(float(theta[2 * p + 1]), variance, noise_length, Z, posterior.information, weights)
    return NoisyGP(length, noise, -float(found.fun), posterior.kernel)


def _information(runs: Replicates, profile: ExactProfile) -> FloatArray:
    """Fisher information about each log noise, shape (u,): (a_i - 1) / 2 by replicates, leftover^2 / 2 by ybar_i."""
    information = 0.5 * (runs.count - 1 + profile.leftover**2)
    return np.maximum(information, LEAST_INFORMATION * runs.count)


@dataclass(frozen=True)
class JointPosterior:
    """Log posterior of theta = (log length, log noise length, log noise variance, noise level, delta).

    Attributes:
        runs: Training runs with u distinct inputs of shape (u, p).
        information: Precisions h of the working values, shape (u,).
        kernel: Name of the correlation of the mean process.
    """

    runs: Replicates
    information: FloatArray
    kernel: str = "matern52"
    units: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        shared = np.full(2 * self.p + 2, math.sqrt(CURVATURE * self.runs.n_runs))
        object.__setattr__(self, "units", np.concatenate([shared, np.sqrt(self.information)]))

    @property
    def p(self) -> int:
        """Number of inputs."""
        return int(self.runs.Z.shape[1])

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of theta, shape (2 p + 2 + u,) each; the working values are free."""
        lower, upper = np.full((2, len(self.units)), np.inf) * [[-1.0], [1.0]]
        for bound, place in (lower, 0), (upper, 1):
            bound[: 2 * self.p] = math.log(LENGTH_BOUNDS[place])
            bound[2 * self.p : 2 * self.p + 2] = math.log(VARIANCE_BOUNDS[place]), math.log(LEVEL_BOUNDS[place])
        return lower, upper

    def smooth(self, theta: FloatArray) -> SmoothedNoise:
        """The log noise that theta, shape (2 p + 2 + u,), gives the training inputs."""
        p = self.p
        length, variance, delta = np.exp(theta[p : 2 * p]), math.exp(theta[2 * p]), theta[2 * p + 2 :]
        return SmoothedNoise(self.runs.Z, length, variance, delta, self.information)

    def value_and_gradient(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Log likelihood + penalty of the noise process + weak priors, and the gradient of their sum."""
        p = self.p
        smoothed = self.smooth(theta)
        log_noise = theta[2 * p + 1] + smoothed.eta
        noise = noise_ratios(log_noise)
        profile = exact_profile(self.runs, np.exp(theta[:p]), noise, correlation=CORRELATIONS[self.kernel])
        by_eta = profile.by_log_noise * np.exp(log_noise) / noise
        by_length, by_variance, by_delta = smoothed.gradient(by_eta)
        prior, slope = _log_prior(theta, p)
        slope[:p] += profile.by_log_length
        slope[p:] += np.concatenate([by_length, [by_variance, by_eta.sum()], by_delta])
        return profile.value + smoothed.penalty + prior, slope

    def loss(self, scaled: FloatArray) -> tuple[float, FloatArray]:
        """What L-BFGS-B sees: theta times units, in which every variable has a curvature of order one."""
        require_time()
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                value, gradient = self.value_and_gradient(scaled / self.units)
        except FloatingPointError:
            return OVERFLOW_LOSS, np.zeros_like(scaled)
        return -value, -gradient / self.units


def _log_prior(theta: FloatArray, p: int) -> tuple[float, FloatArray]:
    """Weak prior of both processes and its gradient, shape (2 p + 2 + u,); zero at the centre of the noise lengths."""
    slope = np.zeros_like(theta)
    mean_part = np.append(np.arange(p), 2 * p + 1)  # the level of the noise takes the place of the nugget
    value, slope[mean_part] = log_prior(theta[mean_part])
    away = theta[p : 2 * p] - math.log(NOISE_LENGTH_CENTRE * math.sqrt(p))
    height = np.sqrt(1 + away * away)
    slope[p : 2 * p] = -NOISE_LENGTH_PULL * away / height
    return value - NOISE_LENGTH_PULL * float((height - 1).sum()), slope


def noise_ratios(log_noise: FloatArray) -> FloatArray:
    """Noise over process variance at given log noise, any shape, kept away from zero.

    Example:
        >>> noise_ratios(np.array([0.0, -50.0]))
        array([1.00000001e+00, 1.00000000e-08])
    """
    return np.asarray(SMALLEST_RATIO + np.exp(log_noise))


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
        self._W = Z / length
        C, self._slope = matern52_with_slope(squared_distances(self._W, self._W))
        self._variance, self._h, self._K = variance, information, variance * C
        factor = factorise(self._K.copy(), variance + 1 / information)
        lower = np.tril(invert_factored(factor))
        self._inverse = lower + np.tril(lower, -1).T
        self.weights = self._inverse @ delta
        self.eta = self._K @ self.weights
        log_factor = log_determinant(factor) + float(np.log(information).sum())
        self.penalty = -0.5 * (float(self.weights @ self.eta) + log_factor)

    def gradient(self, by_eta: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        """Derivatives of f(eta) + penalty, where by_eta = df/deta, shape (u,).

        With B = (K + H^{-1})^{-1}, w = B eta and c = B H^{-1} by_eta + w: d(f + penalty) = tr(G dK) + g'ddelta,
        G = (c v' + v c' - v v' - B) / 2 and g = B K by_eta - w.

        Returns:
            By log length, shape (p,), by log variance, and by delta, shape (u,).
        """
        v, B, W = self.weights, self._inverse, self._W
        w = B @ self.eta
        c = B @ (by_eta / self._h) + w
        G = np.outer(c - 0.5 * v, v)
        G = 0.5 * (G + G.T - B)
        by_variance = float((G * self._K).sum())
        G *= self._slope  # dC_ij / dlog length_k = -2 slope_ij (w_ik - w_jk)^2, the square multiplied out
        by_length = -4 * self._variance * ((W * W).T @ G.sum(axis=1) - (W * (G @ W)).sum(axis=0))
        return by_length, by_variance, B @ (self._K @ by_eta) - w


@dataclass(frozen=True)
class NoiseProcess:
    """Distribution of the log noise ratio at any input; constant where it has no training inputs.

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
    _root: FloatArray = field(init=False, repr=False, compare=False)
    _range: tuple[float, float] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.is_constant:
            return
        K = self._covariance(self.Z)
        known = self.level + K @ self.weights
        object.__setattr__(self, "_range", (known.min(initial=self.level), known.max(initial=self.level)))
        object.__setattr__(self, "_root", factorise(K, self.variance + 1 / self.information))

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
        mean, variance = np.empty((2, len(Z)))
        for part in slices(len(Z), len(self.Z)):
            k = self._covariance(Z[part])
            half = solve_triangular(self._root, k.T, lower=True, check_finite=False)
            mean[part] = np.clip(self.level + k @ self.weights, *self._range)
            variance[part] = np.maximum(self.variance - (half * half).sum(axis=0), 0.0)
        return mean, variance

    def leave_out(self, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As `predict`, but at a training input without its own working value.

        With B = (K + H^{-1})^{-1} and v = B delta the mean is level + delta_i - v_i / B_ii and the variance
        1 / B_ii - 1 / h_i (Dubrule 1983); level, variance and length scales stay.
        """
        mean, variance = self.predict(Z)
        row = match_rows(self.Z, Z) if not self.is_constant else np.full(len(Z), -1)
        if (row < 0).all():
            return mean, variance
        precision = invert_factored(self._root).diagonal()
        delta = self._covariance(self.Z) @ self.weights + self.weights / self.information
        left = np.clip(self.level + delta - self.weights / precision, *self._range)
        spread = np.maximum(1 / precision - 1 / self.information, 0.0)
        return np.where(row >= 0, left[row], mean), np.where(row >= 0, spread[row], variance)

    def _covariance(self, Z: FloatArray) -> FloatArray:
        """Covariances with the training inputs, (n, p) -> (n, u)."""
        return self.variance * matern52_with_slope(squared_distances(Z / self.length, self.Z / self.length))[0]
