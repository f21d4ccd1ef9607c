"""Exact restricted likelihood of a GP, its noise equal or different from input to input, and its gradient.

With u distinct inputs, counts a_i, noise ratios lambda_i (noise variance over process variance), Lambda and A their
diagonal matrices, K = C + Lambda A^{-1} and ybar the mean responses (Binois, Gramacy & Ludkovski 2018, section 3.1),
for N runs:

    nu = [sum scatter_i / lambda_i + (ybar - beta)' K^{-1} (ybar - beta)] / (N - 1),  beta = 1'K^{-1} ybar / 1'K^{-1} 1,
    log L = -(N - 1)/2 log(2 pi e nu) - 1/2 log|K| - 1/2 log 1'K^{-1} 1 - 1/2 sum ((a_i - 1) log lambda_i + log a_i).

With alpha = K^{-1}(ybar - beta), w = K^{-1} 1 and M = alpha alpha'/nu - K^{-1} + w w'/(1'w), the gradient is
dL / dtheta = 1/2 tr(M dK / dtheta), to which replicates add the derivatives of their own terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.gp.cholesky import factorise, invert_factored, log_determinant, solve_factored
from genbayes.gp.correlation import Correlation, matern52_with_slope, squared_distances
from genbayes.gp.profile import Profile, degrees_of_freedom, noise_terms
from genbayes.gp.replicates import Replicates

__all__ = ["ExactProfile", "exact_profile", "factorise_correlations"]

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
    correlation: Correlation = matern52_with_slope,
) -> ExactProfile:
    """Restricted log-likelihood and gradient at given length scales and noise.

    Args:
        runs: Training runs with inputs of shape (u, p).
        length: Length scales, shape (p,).
        noise: Noise variance of one run divided by process variance: one number, or one for each input, shape (u,).
        with_gradient: Whether to compute gradient and leftover, two thirds of the work; NaN otherwise.
        correlation: Squared distances to correlations and slopes.

    Returns:
        Value, gradient in log length and log noise, and the profiled mean and variance.

    Example:
        >>> runs = Replicates.collect(np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0]), np.ones(3))
        >>> profile = exact_profile(runs, np.ones(1), 0.1)
        >>> round(profile.value, 4), profile.by_log_length.round(4), profile.by_log_noise.sum().round(4)
        (-2.6708, array([-0.4867]), np.float64(0.0597))
    """
    W = runs.Z / length
    own_noise = noise / runs.count
    factor, slopes = factorise_correlations(W, own_noise, correlation)
    w, inverse_y = solve_factored(factor, np.column_stack([np.ones(len(runs)), runs.mean])).T
    total = float(w.sum())
    mean = float(w @ runs.mean) / total
    alpha = inverse_y - mean * w
    squares, constant = noise_terms(runs, noise)
    dof = degrees_of_freedom(runs)
    variance = (squares + float(alpha @ (runs.mean - mean))) / dof
    spread = dof * math.log(2 * math.pi * math.e * variance)
    value = -0.5 * (spread + log_determinant(factor) + math.log(total)) + constant
    if not with_gradient:
        unknown = np.full(len(runs), np.nan)
        return ExactProfile(value, np.full(len(length), np.nan), unknown, variance, mean, unknown)
    inverse = invert_factored(factor)
    terms = np.column_stack([alpha / math.sqrt(variance), w / math.sqrt(total)])
    by_length, diagonal = _trace_with_slopes(W, slopes, inverse, terms)
    by_noise = 0.5 * (diagonal * own_noise + runs.scatter / (noise * variance) - (runs.count - 1))
    leftover = own_noise * (inverse.diagonal() - w**2 / total)
    return ExactProfile(value, by_length, by_noise, variance, mean, leftover)


def factorise_correlations(
    W: FloatArray, noise: FloatArray, correlation: Correlation = matern52_with_slope
) -> tuple[FloatArray, list[FloatArray]]:
    """Lower Cholesky factor of C + diag(noise), C the correlations of scaled inputs.

    Args:
        W: Inputs divided by their length scales, shape (u, p).
        noise: Diagonal to add, shape (u,).
        correlation: Squared distances to correlations and slopes.

    Returns:
        The factor, shape (u, u) with zeros above the diagonal, and the slopes of the lower triangle in panels of rows:
        one that ends before row j has j columns; its entries right of the diagonal are to be ignored.

    Example:
        >>> factor, _ = factorise_correlations(np.array([[0.0], [100.0]]), np.array([3.0, 8.0]))
        >>> factor.round(6)
        array([[2., 0.],
               [0., 3.]])
    """
    if len(W) <= PANEL:
        K, slope = correlation(squared_distances(W, W))
        return factorise(K, 1 + noise), [slope]
    slopes = []
    K = np.zeros((len(W), len(W)))
    for start in range(0, len(W), PANEL):
        stop = min(start + PANEL, len(W))
        K[start:stop, :stop], slope = correlation(squared_distances(W[start:stop], W[:stop]))
        slopes.append(slope)
    return factorise(K, 1 + noise), slopes


def _trace_with_slopes(
    W: FloatArray, slopes: list[FloatArray], inverse: FloatArray, terms: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """1/2 tr(M dK / dlog length_k) for every k, shape (p,), and the diagonal of M, shape (u,).

    M = terms terms' - inverse. dK_ij / dlog l_k = -2 slope_ij (w_ik - w_jk)^2, and for symmetric G = M * slope
    sum_{i>j} G_ij (w_ik - w_jk)^2 = sum_i w_ik^2 (row + column sums of G)_i - 2 w_k' G w_k: one product with W serves
    all p derivatives.
    """
    sums, cross = np.zeros(len(W)), np.zeros(W.shape[1])
    diagonal = (terms * terms).sum(axis=1) - inverse.diagonal()
    for panel, slope in enumerate(slopes):
        start, stop = panel * PANEL, panel * PANEL + len(slope)
        G = terms[start:stop] @ terms[:stop].T
        G -= inverse[start:stop, :stop]
        G *= slope
        rows = np.arange(len(G))
        G[:, start:][rows[:, None] <= rows] = 0.0  # only what lies below the diagonal counts
        sums[start:stop] += G.sum(axis=1)
        sums[:stop] += G.sum(axis=0)
        cross += (W[start:stop] * (G @ W[:stop])).sum(axis=0)
    return -2 * ((W * W).T @ sums - 2 * cross), diagonal
