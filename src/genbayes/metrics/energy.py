"""Energy score: the CRPS of vector responses, from joint draws."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.validation import check_array

__all__ = ["energy_score"]

BLOCK = 1_024  # draws compared with all others at a time: bounds the table of distances to BLOCK x S


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
    return np.array([one_score(x, observed) for x, observed in zip(samples, y, strict=True)])


def one_score(x: FloatArray, observed: FloatArray) -> float:
    """Energy score of draws x, shape (S, q), for one observed vector."""
    error = cdist(x, observed[None, :]).mean()
    spread = sum(cdist(x[i : i + BLOCK], x).sum() for i in range(0, len(x), BLOCK)) / len(x) ** 2
    return float(error - 0.5 * spread)
