"""Continuous ranked probability score, the paper's main measure (section 5.1), and its form for vectors.

Here it is computed from arrays; exact scores are methods of the distributions.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from scipy.special import ndtr

from genbayes.arrays import BoolArray, FloatArray
from genbayes.errors import InvalidInput
from genbayes.validation import check_array, check_column, check_targets, describe_rows

BLOCK = 1_024  # draws compared with all others at a time: bounds the table of distances to BLOCK x S


def crps(q: ArrayLike, y: ArrayLike) -> FloatArray:
    """Continuous ranked probability score of equally spaced quantiles, paper section 5.1.

    mean_j |q_j - y| - 1/2 mean_{j,l} |q_j - q_l|; for sorted q the last term is
    sum_j (2j - m - 1) q_j / m^2, which spares the m x m table. The paper's levels are j / (m + 1).

    Args:
        q: Quantiles, or sorted draws, non-decreasing along the last axis, shape (n, m).
        y: Observations, shape (n,).

    Returns:
        One score per observation, smaller is better, shape (n,).

    Example:
        >>> crps(np.array([[1.0, 2.0]]), np.array([3.0]))
        array([1.25])
    """
    q = check_array(q, "q", "(n, m)")
    y = check_targets(y, len(q))
    falls: BoolArray = np.any(np.diff(q, axis=1) < 0, axis=1)
    if falls.any():
        raise InvalidInput(f"q must not decrease along a row, got {describe_rows(falls)} that do; sort each row")
    m = q.shape[1]
    rank_weight = 2 * np.arange(1, m + 1) - m - 1
    e = q - y[:, None]  # the weights sum to zero, so the shift changes nothing but saves digits
    score: FloatArray = np.abs(e).mean(axis=1) - (e * rank_weight).sum(axis=1) / m**2
    return score


def crps_normal(mu: ArrayLike, sigma: ArrayLike, y: ArrayLike) -> FloatArray:
    """Continuous ranked probability score of normal distributions, in closed form.

    (y - mu) (2 Phi(w) - 1) + sigma (2 phi(w) - 1 / sqrt(pi)) with w = (y - mu) / sigma
    (Gneiting and Raftery 2007, section 4.2); sigma = 0 is a point mass and scores |y - mu|.

    Args:
        mu: Means, shape (n,) or one for all.
        sigma: Standard deviations, zero or positive, shape (n,) or one for all.
        y: Observations, shape (n,).

    Returns:
        One score per observation, smaller is better, shape (n,).

    Example:
        >>> crps_normal(0.0, 1.0, np.array([0.0])).round(4)
        array([0.2337])
    """
    n = max(np.size(mu), np.size(sigma), np.size(y))
    y = check_targets(y, n)
    e = y - check_column(mu, "mu", n)
    sigma = check_column(sigma, "sigma", n)
    if (sigma < 0).any():
        raise InvalidInput(f"sigma must be zero or positive, got {float(sigma.min())!r}")
    with np.errstate(over="ignore"):  # a tiny sigma sends w to infinity, where Phi and phi have their limits
        w = np.divide(e, sigma, out=np.copysign(np.inf, e), where=sigma > 0)
        phi = np.exp(-0.5 * w**2) / math.sqrt(2 * math.pi)
    score: FloatArray = e * (2 * ndtr(w) - 1) + sigma * (2 * phi - 1 / math.sqrt(math.pi))
    return score


def energy_score(samples: ArrayLike, y: ArrayLike) -> FloatArray:
    """Energy score of joint draws, Gneiting and Raftery (2007), equation 22 with beta = 1.

    mean_s |X_s - y| - 1/2 mean_{s,t} |X_s - X_t| with Euclidean norms; for q = 1 this is `crps` of the draws.

    Args:
        samples: Joint draws, shape (n, S, q).
        y: Observed vectors, shape (n, q).

    Returns:
        One score per observation, smaller is better, shape (n,).

    Example:
        >>> energy_score([[[0.0, 0.0], [6.0, 8.0]]], [[0.0, 0.0]])
        array([2.5])
    """
    samples = check_array(samples, "samples", "(n, S, q)")
    y = check_array(y, "y", "(n, q)")
    n, _, q = samples.shape
    if y.shape != (n, q):
        raise InvalidInput(f"y must have shape ({n}, {q}), one vector per row of samples, got {y.shape}")
    scores = np.empty(n)
    for i, (x, observed) in enumerate(zip(samples, y, strict=True)):
        error = cdist(x, observed[None, :]).mean()
        blocks = [x[a : a + BLOCK] for a in range(0, len(x), BLOCK)]
        scores[i] = error - 0.5 * sum(cdist(some, x).sum() for some in blocks) / len(x) ** 2
    return scores
