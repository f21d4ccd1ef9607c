"""Exact restricted likelihood of a stationary GP and its gradient, one Cholesky factor an evaluation.

With u distinct inputs, counts a_i, K = C + g A^{-1} and ybar their mean responses (Binois, Gramacy & Ludkovski 2018,
section 3.1), for N runs:

    nu = [sum scatter / g + (ybar - beta)' K^{-1} (ybar - beta)] / (N - 1),   beta = 1'K^{-1} ybar / 1'K^{-1} 1,
    log L = -(N - 1)/2 log(2 pi e nu) - 1/2 log|K| - 1/2 log 1'K^{-1} 1 - 1/2 sum ((a_i - 1) log g + log a_i).

With alpha = K^{-1}(ybar - beta), w = K^{-1} 1 and M = alpha alpha'/nu - K^{-1} + w w'/(1'w), the gradient is
dL / dtheta = 1/2 tr(M dK / dtheta).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.linalg import lapack

from genbayes.arrays import FloatArray
from genbayes.gp.correlation import Correlation
from genbayes.gp.matern import matern52_with_slope
from genbayes.gp.profile import Profile, degrees_of_freedom, noise_terms
from genbayes.gp.replicates import Replicates

__all__ = ["correlation_panels", "exact_profile", "factorise", "solve_factored"]

PANEL = 256  # rows of K built at a time: the lower triangle costs half of the square, and a panel stays in the cache
JITTERS = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)  # tried in turn on the diagonal until the Cholesky factor exists


def exact_profile(
    runs: Replicates,
    length: FloatArray,
    nugget: float,
    *,
    with_gradient: bool = True,
    correlation: Correlation = matern52_with_slope,
) -> Profile:
    """Restricted log-likelihood and gradient at given length scales and nugget.

    Args:
        runs: Training runs with inputs of shape (u, p).
        length: Length scales, shape (p,).
        nugget: Noise variance divided by process variance.
        with_gradient: Whether to compute the gradient, two thirds of the work; NaN otherwise.
        correlation: Squared distances to correlations and slopes.

    Returns:
        Value, gradient in log length and log nugget, and the profiled mean and variance.

    Example:
        >>> runs = Replicates.collect(np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0]), np.ones(3))
        >>> profile = exact_profile(runs, np.ones(1), 0.1)
        >>> round(profile.value, 4), profile.gradient.round(4)
        (-2.6708, array([-0.4867,  0.0597]))
    """
    W = runs.Z / length
    noise = nugget / runs.count
    factor, slopes = factorise(W, noise, correlation)
    log_determinant = 2 * float(np.log(factor.diagonal()).sum())
    ones = np.ones(len(runs))
    w, inverse_y = solve_factored(factor, np.column_stack([ones, runs.mean])).T
    total = float(w.sum())
    mean = float(w @ runs.mean) / total
    alpha = inverse_y - mean * w
    squares, constant, noise_slope = noise_terms(runs, nugget)
    dof = degrees_of_freedom(runs)
    variance = (squares + float(alpha @ (runs.mean - mean))) / dof
    value = -0.5 * (dof * math.log(2 * math.pi * math.e * variance) + log_determinant + math.log(total)) + constant
    if not with_gradient:
        return Profile(value, np.full(len(length) + 1, np.nan), variance, mean, variance / total)
    inverse = lapack.dpotri(factor.T, lower=0, overwrite_c=1)[0].T  # the lower triangle of K^{-1}
    terms = np.column_stack([alpha / math.sqrt(variance), w / math.sqrt(total)])
    by_length, diagonal = _trace_with_slopes(W, slopes, inverse, terms)
    noise_slope += 0.5 * (float(diagonal @ noise) + float(runs.scatter.sum()) / (nugget * variance))
    return Profile(value, np.append(by_length, noise_slope), variance, mean, variance / total)


def factorise(
    W: FloatArray, noise: FloatArray, correlation: Correlation = matern52_with_slope
) -> tuple[FloatArray, list[FloatArray]]:
    """Lower Cholesky factor of C + diag(noise), C the correlations of scaled inputs.

    Args:
        W: Inputs divided by their length scales, shape (u, p).
        noise: Diagonal to add, shape (u,).
        correlation: Squared distances to correlations and slopes.

    Returns:
        The factor, shape (u, u) with zeros above the diagonal, and the panels of slopes of `correlation_panels`.

    Example:
        >>> factor, _ = factorise(np.array([[0.0], [100.0]]), np.array([3.0, 8.0]))
        >>> factor.round(6)
        array([[2., 0.],
               [0., 3.]])
    """
    slopes = []
    K = np.zeros((len(W), len(W)))
    for start, panel, slope in correlation_panels(W, correlation):
        K[start : start + len(panel), : panel.shape[1]] = panel
        slopes.append(slope)
    diagonal = 1 + noise
    for jitter in JITTERS:
        np.fill_diagonal(K, diagonal + jitter)
        # A C-ordered lower triangle is LAPACK's upper one; overwriting would lose K, should a larger jitter be needed.
        factor, failure = lapack.dpotrf(K.T, lower=0, clean=1, overwrite_a=0)
        if failure == 0:
            break
    assert failure == 0, "correlations with a jitter of 1e-6 are positive definite"
    return np.asarray(factor.T), slopes


def correlation_panels(
    W: FloatArray, correlation: Correlation = matern52_with_slope
) -> Iterator[tuple[int, FloatArray, FloatArray]]:
    """Lower triangle of the correlation matrix in panels of rows: (first row, correlations, slopes).

    A panel that starts at row i and ends before row j has j columns; entries right of the diagonal are to be ignored.
    Slopes are derivatives with respect to the squared scaled distance.
    """
    norms = (W * W).sum(axis=1)
    for start in range(0, len(W), PANEL):
        stop = min(start + PANEL, len(W))
        s = W[start:stop] @ (-2 * W[:stop].T)
        s += norms[:stop]
        s += norms[start:stop, None]
        np.maximum(s, 0.0, out=s)  # rounding may leave tiny negative numbers
        yield start, *correlation(s)


def solve_factored(factor: FloatArray, right: FloatArray) -> FloatArray:
    """K^{-1} right, shape (u, r), from the lower Cholesky factor of K, shape (u, u)."""
    solution, failure = lapack.dpotrs(factor.T, right, lower=0)
    assert failure == 0
    return np.asarray(solution)


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
        _keep_below_diagonal(G, start)
        sums[start:stop] += G.sum(axis=1)
        sums[:stop] += G.sum(axis=0)
        cross += (W[start:stop] * (G @ W[:stop])).sum(axis=0)
    return -2 * ((W * W).T @ sums - 2 * cross), diagonal


def _keep_below_diagonal(G: FloatArray, start: int) -> None:
    rows = np.arange(len(G))
    G[:, start:][rows[:, None] <= rows] = 0.0
