"""Restricted likelihood of a GP whose noise variance differs from input to input, and its gradient.

With u distinct inputs, counts a_i, noise ratios lambda_i (noise variance over process variance), Lambda and A their
diagonal matrices and K = C + Lambda A^{-1} (Binois, Gramacy & Ludkovski 2018, section 3.1), for N runs:

    nu = [sum_i scatter_i / lambda_i + (ybar - beta)' K^{-1} (ybar - beta)] / (N - 1),
    log L = -(N - 1)/2 log(2 pi e nu) - 1/2 log|K| - 1/2 log 1'K^{-1} 1 - 1/2 sum_i ((a_i - 1) log lambda_i + log a_i).

With equal noise ratios this is `genbayes.gp.likelihood.exact_profile`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from genbayes.arrays import FloatArray
from genbayes.gp.matern import matern52_with_slope
from genbayes.gp.profile import SMALLEST_VARIANCE, degrees_of_freedom
from genbayes.gp.replicates import Replicates

__all__ = ["NoisyProfile", "correlations", "factorise", "invert", "noisy_profile", "slope_by_log_length"]

JITTERS = (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)  # tried in turn on the diagonal until the Cholesky factor exists


@dataclass(frozen=True)
class NoisyProfile:
    """Restricted log-likelihood at given length scales and noise ratios, maximised over mean and process variance.

    Attributes:
        value: The log-likelihood.
        by_log_length: Its derivatives with respect to log length, shape (p,).
        by_log_noise: Its derivatives with respect to log lambda, shape (u,).
        leftover: Share of each input's mean response that the GP leaves to the noise, between 0 and 1, shape (u,).
        variance: Process variance nu that maximises it.
        mean: Generalised least squares estimate of the mean.
        mean_variance: Variance of that estimate.
    """

    value: float
    by_log_length: FloatArray
    by_log_noise: FloatArray
    leftover: FloatArray
    variance: float
    mean: float
    mean_variance: float


def noisy_profile(runs: Replicates, length: FloatArray, noise: FloatArray) -> NoisyProfile:
    """Restricted log-likelihood and gradient at given length scales and noise ratios.

    dL = 1/2 tr(M dK) + terms of the replicates, M = alpha alpha'/nu - P, P = K^{-1} - w w'/(1'w),
    alpha = K^{-1}(ybar - beta), w = K^{-1} 1.

    Args:
        runs: Training runs with inputs of shape (u, p).
        length: Length scales, shape (p,).
        noise: Noise variance of one run over the process variance, positive, shape (u,).

    Returns:
        Value, gradient, and what was profiled out.

    Example:
        >>> import numpy as np
        >>> runs = Replicates.collect(np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0]), np.ones(3))
        >>> profile = noisy_profile(runs, np.ones(1), np.full(3, 0.1))
        >>> round(profile.value, 4), profile.by_log_length.round(4), profile.by_log_noise.sum().round(4)
        (-2.6708, array([-0.4867]), np.float64(0.0597))
    """
    W = torch.from_numpy(runs.Z / length)
    C, slope = correlations(W)
    count, lam, scatter, y = (torch.tensor(part) for part in (runs.count, noise, runs.scatter, runs.mean))
    inverse, log_determinant = invert(C, lam / count)
    w = inverse.sum(1)
    total = float(w.sum())
    mean = float(w @ y) / total
    alpha = inverse @ (y - mean)
    dof = degrees_of_freedom(runs)
    squares = float((scatter / lam).sum() + alpha @ (y - mean)) + SMALLEST_VARIANCE * runs.n_runs
    variance = squares / dof
    replicates = -0.5 * float(((count - 1) * torch.log(lam) + torch.log(count)).sum())
    value = -0.5 * (dof * math.log(2 * math.pi * math.e * variance) + log_determinant + math.log(total)) + replicates
    P = inverse.addr_(w, w, alpha=-1 / total)
    leftover = lam * P.diagonal() / count
    M = torch.outer(alpha / variance, alpha).sub_(P)
    by_noise = 0.5 * (M.diagonal() * lam / count + scatter / (lam * variance) - (count - 1))
    by_length = slope_by_log_length(W, slope, M.mul_(0.5))
    return NoisyProfile(value, by_length.numpy(), by_noise.numpy(), leftover.numpy(), variance, mean, variance / total)


def correlations(W: Tensor) -> tuple[Tensor, Tensor]:
    """Matern-5/2 correlations of scaled inputs, shape (u, p), and their slopes in squared distance; (u, u) each.

    Example:
        >>> C, slope = correlations(torch.tensor([[0.0], [1.0]], dtype=torch.float64))
        >>> C.numpy().round(3)
        array([[1.   , 0.524], [0.524, 1.   ]])
    """
    norms = (W * W).sum(1)
    s = torch.addmm(norms[:, None] + norms, W, W.T, alpha=-2).clamp_(min=0)
    s.fill_diagonal_(0.0)
    C, slope = matern52_with_slope(s.numpy())
    return torch.from_numpy(C), torch.from_numpy(slope)


def invert(C: Tensor, diagonal: Tensor) -> tuple[Tensor, float]:
    """(C + diag)^{-1} and log|C + diag| by Cholesky, C of shape (u, u), the diagonal to add of shape (u,).

    Raises:
        FloatingPointError: The matrix holds numbers that are not finite.

    Example:
        >>> inverse, log_determinant = invert(torch.zeros(1, 1), torch.tensor([4.0]))
        >>> float(inverse), round(log_determinant, 3)
        (0.25, 1.386)
    """
    root = factorise(C, diagonal)
    return torch.cholesky_inverse(root), 2 * float(torch.log(root.diagonal()).sum())


def factorise(C: Tensor, diagonal: Tensor) -> Tensor:
    """Lower Cholesky factor of C + diag, C of shape (u, u), the diagonal to add of shape (u,).

    Raises:
        FloatingPointError: The matrix holds numbers that are not finite.

    Example:
        >>> factorise(torch.zeros(1, 1), torch.tensor([4.0]))
        tensor([[2.]])
    """
    for jitter in JITTERS:
        K = C.clone()
        K.diagonal().add_(diagonal + jitter)
        root, failure = torch.linalg.cholesky_ex(K)
        if int(failure) == 0 and bool(torch.isfinite(root.diagonal()).all()):
            return root  # type: ignore[no-any-return]
    raise FloatingPointError("covariance matrix is not finite")


def slope_by_log_length(W: Tensor, slope: Tensor, G: Tensor) -> Tensor:
    """sum_ij G_ij dC_ij / dlog length_k for every k, shape (p,).

    dC_ij / dlog length_k = -2 slope_ij (w_ik - w_jk)^2; the square is multiplied out, so that one product with W
    serves all p derivatives.

    Args:
        W: Inputs over length scales, shape (u, p).
        slope: Derivative of the correlations in squared distance, shape (u, u).
        G: Symmetric weights, shape (u, u).
    """
    G = G * slope
    return -4 * ((W * W).T @ G.sum(1) - (W * (G @ W)).sum(0))
