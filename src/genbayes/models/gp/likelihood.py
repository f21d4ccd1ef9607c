"""Exact restricted likelihood of a GP, its noise equal or different from input to input, and its gradient.

With u distinct inputs, counts a_i, noise ratios lambda_i (noise variance over process variance), Lambda and A their
diagonal matrices, K = C + Lambda A^{-1} and ybar the mean responses (Binois, Gramacy & Ludkovski 2018, section 3.1),
for N runs and a trend F beta of q columns, the first of them ones:

    nu = [sum scatter_i / lambda_i + (ybar - F beta)' K^{-1} (ybar - F beta)] / (N - q),
    beta = T^{-1} F'K^{-1} ybar,  T = F'K^{-1} F,
    log L = -(N - q)/2 log(2 pi e nu) - 1/2 log|K| - 1/2 log|T| - 1/2 sum ((a_i - 1) log lambda_i + log a_i).

With alpha = K^{-1}(ybar - F beta) and M = alpha alpha'/nu - K^{-1} + K^{-1} F T^{-1} F'K^{-1}, the gradient is
dL / dtheta = 1/2 tr(M dK / dtheta), to which replicates add the derivatives of their own terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from genbayes.arrays import FloatArray, IntArray
from genbayes.models.gp.cholesky import (
    factorise,
    factorise_with_jitter,
    invert_factored,
    log_determinant,
    solve_factored,
)
from genbayes.models.gp.kernels import MATERN52, Correlation

NO_SLOPES: IntArray = np.empty(0, np.int64)  # a constant mean


@dataclass(frozen=True)
class Replicates:
    """Runs repeated at one input, reduced to what a Gaussian likelihood needs of them: mean, count, spread.

    With u distinct inputs among n runs every matrix is u x u instead of n x n (Binois, Gramacy & Ludkovski 2018,
    section 3.1). A run of weight w counts as w equal runs.

    Attributes:
        Z: Distinct inputs, shape (u, p).
        mean: Weighted mean response at each, shape (u,).
        count: Total weight at each, shape (u,).
        scatter: Weighted sum of squares around the mean at each, shape (u,).
    """

    Z: FloatArray
    mean: FloatArray
    count: FloatArray
    scatter: FloatArray

    def __len__(self) -> int:
        return len(self.mean)

    @property
    def n_runs(self) -> float:
        """Number of runs, replicates included."""
        return float(self.count.sum())

    def take(self, rows: IntArray) -> Replicates:
        """Some of the groups, in the order of their numbers, shape (b,)."""
        return Replicates(self.Z[rows], self.mean[rows], self.count[rows], self.scatter[rows])

    @classmethod
    def collect(cls, Z: FloatArray, y: FloatArray, weight: FloatArray) -> Replicates:
        """Group runs by their inputs.

        Args:
            Z: Inputs, shape (n, p).
            y: Responses, shape (n,).
            weight: Positive weights, shape (n,).

        Returns:
            One group per distinct input, sorted.

        Example:
            >>> groups = Replicates.collect(np.array([[1.0], [0.0], [1.0]]), np.array([2.0, 5.0, 4.0]), np.ones(3))
            >>> groups.Z.ravel(), groups.mean, groups.count, groups.scatter
            (array([0., 1.]), array([5., 3.]), array([1., 2.]), array([0., 2.]))
        """
        distinct, group = np.unique(Z, axis=0, return_inverse=True)
        group = group.reshape(-1)
        count = np.bincount(group, weights=weight)
        mean = np.bincount(group, weights=weight * y) / count
        scatter = np.bincount(group, weights=weight * (y - mean[group]) ** 2)
        return cls(distinct, mean, np.asarray(count, np.float64), np.asarray(scatter, np.float64))


@dataclass(frozen=True)
class GPParameters:
    """Everything a stationary GP with a constant or linear mean is made of.

    Attributes:
        length: Length scales, shape (p,).
        nugget: Noise variance of one run divided by the process variance.
        variance: Process variance.
        mean: Mean where inputs are zero, its generalised least squares estimate.
        slope: Slopes of the mean in those inputs that have one, likewise, shape (q - 1,); empty for a constant mean.
        sloped: Numbers of these inputs, shape (q - 1,).
    """

    length: FloatArray
    nugget: float
    variance: float
    mean: float
    slope: FloatArray = field(default_factory=lambda: np.empty(0))
    sloped: IntArray = field(default_factory=lambda: NO_SLOPES)

    @property
    def noise(self) -> float:
        """Noise variance of one run."""
        return self.nugget * self.variance

    def trend(self, Z: FloatArray) -> FloatArray:
        """Mean of the process at inputs, (n, p) -> (n,)."""
        return np.asarray(self.mean + Z[:, self.sloped] @ self.slope)


def trend_columns(Z: FloatArray, sloped: IntArray) -> FloatArray:
    """Columns F of a linear trend: ones, and the inputs that have a slope, (n, p) -> (n, q).

    Example:
        >>> trend_columns(np.array([[2.0, 3.0], [4.0, 5.0]]), np.array([1]))
        array([[1., 3.],
               [1., 5.]])
    """
    return np.column_stack([np.ones(len(Z)), Z[:, sloped]])


@dataclass(frozen=True)
class Profile:
    """Restricted log-likelihood at given length scales and noise, maximised over the rest.

    Restricted: the mean is integrated out instead of plugged in, so that the variance is not underestimated
    when runs are few.

    Attributes:
        value: The log-likelihood.
        by_log_length: Its derivative with respect to log length, shape (p,).
        by_log_noise: Its derivatives with respect to log noise, one or more that add up, shape (m,).
        variance: Process variance that maximises it.
        mean: Generalised least squares estimate of the mean where inputs are zero.
        slope: Those of the slopes, shape (q - 1,); empty for a constant mean.
    """

    value: float
    by_log_length: FloatArray
    by_log_noise: FloatArray
    variance: float
    mean: float
    slope: FloatArray

    @property
    def gradient(self) -> FloatArray:
        """Derivative with respect to log length and the log of a noise that all inputs share, shape (p + 1,)."""
        return np.append(self.by_log_length, self.by_log_noise.sum())


def match_rows(known: FloatArray, Z: FloatArray) -> IntArray:
    """Row of `known` that each row of Z equals, or -1, (u, p) and (n, p) -> (n,).

    Example:
        >>> match_rows(np.array([[1.0], [2.0]]), np.array([[2.0], [5.0], [1.0]]))
        array([ 1, -1,  0])
    """
    _, group = np.unique(np.vstack([known, Z]), axis=0, return_inverse=True)
    group = group.reshape(-1)
    row_of_group = np.full(group.max() + 1, -1)
    row_of_group[group[: len(known)]] = np.arange(len(known))
    return row_of_group[group[len(known) :]]


def profile_out(
    runs: Replicates, noise: float | FloatArray, quadratic: float, log_determinant: float, log_total: float, q: int = 1
) -> tuple[float, float]:
    """Restricted log-likelihood, maximised over the process variance, and that variance.

    Replicates add scatter / lambda to the quadratic form (Binois, Gramacy & Ludkovski 2018, equation 9). Of N runs q
    are spent on the mean, half of them at most.

    Args:
        runs: Training runs at u inputs.
        noise: Noise variance over process variance, one number or shape (u,).
        quadratic: (ybar - F beta)' K^{-1} (ybar - F beta).
        log_determinant: log|K|.
        log_total: log|F'K^{-1} F|.
        q: Columns of F.

    Example:
        >>> runs = Replicates.collect(np.zeros((2, 1)), np.array([1.0, 3.0]), np.ones(2))
        >>> [round(part, 3) for part in profile_out(runs, 0.5, 0.0, 0.0, 0.0)]
        [-2.112, 4.0]
    """
    dof = max(runs.n_runs - q, runs.n_runs / 2)
    # The smallest variance, 1e-12 of a standardised y, gives a constant y a likelihood too.
    squares = float((runs.scatter / noise).sum()) + 1e-12 * runs.n_runs
    variance = (squares + quadratic) / dof
    replicates = float(((runs.count - 1) * np.log(noise) + np.log(runs.count)).sum())
    spread = dof * math.log(2 * math.pi * math.e * variance)
    return -0.5 * (spread + log_determinant + log_total) - 0.5 * replicates, variance


PANEL = 256  # rows of K built at a time: the lower triangle costs half of the square, and a panel stays in the cache


@dataclass(frozen=True)
class ExactProfile(Profile):
    """A profile that knows each input.

    Attributes:
        by_log_noise: Derivative with respect to the log noise ratio of each input, shape (u,).
        leftover: Share of each input's mean response that the GP leaves to the noise, between 0 and 1, shape (u,).
    """

    leftover: FloatArray


def exact_profile(
    runs: Replicates,
    length: FloatArray,
    noise: float | FloatArray,
    *,
    with_gradient: bool = True,
    correlation: Correlation = MATERN52,
    sloped: IntArray = NO_SLOPES,
) -> ExactProfile:
    """Restricted log-likelihood and gradient at given length scales and noise.

    Args:
        runs: Training runs with inputs of shape (u, p).
        length: Length scales, shape (p,).
        noise: Noise variance of one run divided by process variance: one number, or one for each input, shape (u,).
        with_gradient: Whether to compute gradient and leftover, two thirds of the work; NaN otherwise.
        correlation: Of scaled inputs.
        sloped: Numbers of the inputs in which the mean has a slope, shape (q - 1,).

    Returns:
        Value, gradient in log length and log noise, and the profiled mean, slopes and variance.

    Example:
        >>> runs = Replicates.collect(np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0]), np.ones(3))
        >>> profile = exact_profile(runs, np.ones(1), 0.1)
        >>> round(profile.value, 4), profile.by_log_length.round(4), profile.by_log_noise.sum().round(4)
        (-2.6708, array([-0.4867]), np.float64(0.0597))
    """
    W = runs.Z / length
    own_noise = noise / runs.count
    factor, known, _ = factorise_correlations(W, own_noise, correlation)
    F = trend_columns(runs.Z, sloped)
    solved = solve_factored(factor, np.column_stack([F, runs.mean]))
    inverse_F, inverse_y = solved[:, :-1], solved[:, -1]
    root, known_F = whiten_trend(F, inverse_F)
    beta = np.asarray(np.linalg.solve(root.T, known_F.T @ runs.mean), np.float64)
    alpha = inverse_y - inverse_F @ beta
    quadratic, mean, slope = float(alpha @ (runs.mean - F @ beta)), float(beta[0]), beta[1:]
    value, variance = profile_out(runs, noise, quadratic, log_determinant(factor), log_determinant(root), F.shape[1])
    if not with_gradient:
        unknown = np.full(len(runs), np.nan)
        return ExactProfile(value, np.full(len(length), np.nan), unknown, variance, mean, slope, unknown)
    inverse = invert_factored(factor)
    by_length, diagonal = _trace(
        W, correlation, known, inverse, np.column_stack([alpha / math.sqrt(variance), known_F])
    )
    by_noise = 0.5 * (diagonal * own_noise + runs.scatter / (noise * variance) - (runs.count - 1))
    leftover = own_noise * (inverse.diagonal() - (known_F * known_F).sum(axis=1))
    return ExactProfile(value, by_length, by_noise, variance, mean, slope, leftover)


def whiten_trend(F: FloatArray, inverse_F: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lower Cholesky factor R of T = F'K^{-1} F, (q, q), and K^{-1} F R^{-T}, whose square is K^{-1} F T^{-1} F'K^{-1}.

    Args:
        F: Columns of the trend, shape (u, q).
        inverse_F: K^{-1} F, shape (u, q).
    """
    T = F.T @ inverse_F
    root = factorise(T.copy(), T.diagonal())
    return root, np.asarray(np.linalg.solve(root, inverse_F.T).T, np.float64)


def factorise_correlations(
    W: FloatArray, noise: FloatArray, correlation: Correlation = MATERN52
) -> tuple[FloatArray, list[FloatArray], float]:
    """Lower Cholesky factor of C + diag(noise), C the correlations of scaled inputs.

    Args:
        W: Inputs divided by their length scales, shape (u, p).
        noise: Diagonal to add, shape (u,).
        correlation: Of scaled inputs.

    Returns:
        The factor, shape (u, u) with zeros above the diagonal; what the correlation knows of the lower triangle in
        panels of rows: one that ends before row j has j columns, and entries on and right of the diagonal are to be
        ignored; and the jitter that the factor needed.

    Example:
        >>> factor, _, jitter = factorise_correlations(np.array([[0.0], [100.0]]), np.array([3.0, 8.0]))
        >>> factor.round(6), jitter
        (array([[2., 0.],
               [0., 3.]]), 0.0)
    """
    if len(W) <= PANEL:
        K, part = correlation.between(W, W)
        factor, jitter = factorise_with_jitter(K, 1 + noise)
        return factor, [part], jitter
    known = []
    K = np.zeros((len(W), len(W)))
    for start in range(0, len(W), PANEL):
        stop = min(start + PANEL, len(W))
        K[start:stop, :stop], part = correlation.between(W[start:stop], W[:stop])
        known.append(part)
    factor, jitter = factorise_with_jitter(K, 1 + noise)
    return factor, known, jitter


def _trace(
    W: FloatArray, correlation: Correlation, known: list[FloatArray], inverse: FloatArray, terms: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """1/2 tr(M dK / dlog length_k) for every k, shape (p,), and the diagonal of M, shape (u,).

    M = terms terms' - inverse; being symmetric, half its trace is the sum over what lies below the diagonal.
    """
    by_length = np.zeros(W.shape[1])
    diagonal = (terms * terms).sum(axis=1) - inverse.diagonal()
    for panel, part in enumerate(known):
        start, stop = panel * PANEL, panel * PANEL + len(part)
        G = terms[start:stop] @ terms[:stop].T
        G -= inverse[start:stop, :stop]
        rows = np.arange(len(G))
        G[:, start:][rows[:, None] <= rows] = 0.0  # only what lies below the diagonal counts
        by_length += correlation.by_log_length(G, part, W[start:stop], W[:stop])
    return by_length, diagonal
