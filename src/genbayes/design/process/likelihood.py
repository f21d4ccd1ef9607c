"""Restricted likelihood of a stationary GP with constant mean for any of the correlations, and its gradient.

The formulas are those of `genbayes.gp.likelihood`, which is written for many runs and one kernel. Here runs are
hundreds, so the matrices are formed whole. With K = C + g A^{-1}, alpha = K^{-1}(ybar - beta), v = K^{-1} 1,

    M = alpha alpha'/nu - K^{-1} + v v'/(1'v),   dL/dlog l_k = -sum_ij (M * slope)_ij (w_ik - w_jk)^2.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import lapack

from genbayes.arrays import FloatArray
from genbayes.gp.correlation import Correlation
from genbayes.gp.likelihood import solve_factored
from genbayes.gp.profile import Profile, degrees_of_freedom, noise_terms
from genbayes.gp.replicates import Replicates

__all__ = ["factorise_runs", "profile_of", "squared_distances"]

JITTERS = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)  # tried in turn on the diagonal until the Cholesky factor exists


def squared_distances(A: FloatArray, B: FloatArray) -> FloatArray:
    """Squared distances between rows, (a, p) and (b, p) -> (a, b), never negative.

    Example:
        >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]))
        array([[25.]])
    """
    s = A @ (-2 * B.T)
    s += (B * B).sum(axis=1)
    s += (A * A).sum(axis=1)[:, None]
    return np.maximum(s, 0.0, out=s)  # rounding may leave tiny negative numbers


def factorise_runs(W: FloatArray, noise: FloatArray, correlation: Correlation) -> tuple[FloatArray, FloatArray]:
    """Lower Cholesky factor of C(W) + diag(noise), shape (u, u), and the slopes of C, shape (u, u).

    Args:
        W: Inputs divided by their length scales, shape (u, p).
        noise: Diagonal to add, shape (u,).
        correlation: Squared distances to correlations and slopes.

    Example:
        >>> from genbayes.gp.correlation import CORRELATIONS
        >>> W = np.array([[0.0], [100.0]])
        >>> factorise_runs(W, np.array([3.0, 8.0]), CORRELATIONS["matern52"])[0].round(6)
        array([[2., 0.],
               [0., 3.]])
    """
    K, slope = correlation(squared_distances(W, W))
    for jitter in JITTERS:
        np.fill_diagonal(K, 1 + noise + jitter)
        factor, failure = lapack.dpotrf(K.T, lower=0, clean=1, overwrite_a=0)
        if failure == 0:
            break
    assert failure == 0, "correlations with a jitter of 1e-6 are positive definite"
    return np.asarray(factor.T), slope


def profile_of(
    runs: Replicates, correlation: Correlation, length: FloatArray, nugget: float, *, with_gradient: bool = True
) -> Profile:
    """Restricted log-likelihood and gradient at given length scales and nugget.

    Args:
        runs: Training runs with inputs of shape (u, p).
        correlation: Squared distances to correlations and slopes.
        length: Length scales, shape (p,).
        nugget: Noise variance divided by process variance.
        with_gradient: Whether to compute the gradient, two thirds of the work; NaN otherwise.

    Returns:
        Value, gradient in log length and log nugget, and the profiled mean and variance.

    Example:
        >>> from genbayes.gp.correlation import CORRELATIONS
        >>> runs = Replicates.collect(np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0]), np.ones(3))
        >>> profile = profile_of(runs, CORRELATIONS["matern52"], np.ones(1), 0.1)
        >>> round(profile.value, 4), profile.gradient.round(4)
        (-2.6708, array([-0.4867,  0.0597]))
    """
    W, noise = runs.Z / length, nugget / runs.count
    factor, slope = factorise_runs(W, noise, correlation)
    v, inverse_y = solve_factored(factor, np.column_stack([np.ones(len(runs)), runs.mean])).T
    total = float(v.sum())
    mean = float(v @ runs.mean) / total
    alpha = inverse_y - mean * v
    squares, constant, noise_slope = noise_terms(runs, nugget)
    dof = degrees_of_freedom(runs)
    variance = (squares + float(alpha @ (runs.mean - mean))) / dof
    log_determinant = 2 * float(np.log(factor.diagonal()).sum())
    value = -0.5 * (dof * math.log(2 * math.pi * math.e * variance) + log_determinant + math.log(total)) + constant
    if not with_gradient:
        return Profile(value, np.full(len(length) + 1, np.nan), variance, mean, variance / total)
    terms = np.column_stack([alpha / math.sqrt(variance), v / math.sqrt(total)])
    M = terms @ terms.T - symmetric_inverse(factor)
    noise_slope += 0.5 * (float(M.diagonal() @ noise) + float(runs.scatter.sum()) / (nugget * variance))
    M *= slope
    by_length = -2 * ((W * W).T @ M.sum(axis=1) - (W * (M @ W)).sum(axis=0))
    return Profile(value, np.append(by_length, noise_slope), variance, mean, variance / total)


def symmetric_inverse(factor: FloatArray) -> FloatArray:
    """K^{-1}, both triangles, from the lower Cholesky factor of K, (u, u) -> (u, u)."""
    upper = np.triu(lapack.dpotri(factor.T, lower=0)[0])
    return np.asarray(upper + np.triu(upper, 1).T)
