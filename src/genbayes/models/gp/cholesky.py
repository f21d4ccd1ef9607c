"""Cholesky factors of covariance matrices that may be singular to rounding, and what follows from a factor."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from genbayes.arrays import FloatArray
from genbayes.errors import NotFinite

# Tried in turn on the diagonal until the factor exists. Rounding alone spoils the smallest eigenvalues of correlations
# of some hundred inputs by 1e-14.
JITTERS = (0.0, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)


def factorise(K: FloatArray, diagonal: FloatArray) -> FloatArray:
    """Lower Cholesky factor of K with another diagonal, and zeros above it, shape (u, u); see `factorise_with_jitter`.

    Example:
        >>> factorise(np.zeros((2, 2)), np.array([4.0, 9.0]))
        array([[2., 0.],
               [0., 3.]])
    """
    return factorise_with_jitter(K, diagonal)[0]


def factorise_with_jitter(K: FloatArray, diagonal: FloatArray) -> tuple[FloatArray, float]:
    """Lower Cholesky factor of K with another diagonal, and what had to be added to that, zero as a rule.

    Args:
        K: Symmetric, of which the lower triangle is read and the diagonal written, shape (u, u).
        diagonal: Shape (u,).

    Returns:
        The factor, shape (u, u) with zeros above the diagonal, and the jitter.

    Raises:
        NotFinite: The matrix holds numbers that are not finite.

    Example:
        >>> factor, jitter = factorise_with_jitter(np.ones((2, 2)), np.ones(2))
        >>> 0 < jitter < 1e-12
        True
    """
    for jitter in JITTERS:
        np.fill_diagonal(K, diagonal + jitter)
        # A C-ordered lower triangle is LAPACK's upper one; overwriting would lose K, should a larger jitter be needed.
        factor, failure = lapack.dpotrf(K.T, lower=0, clean=1, overwrite_a=0)
        if failure == 0 and np.isfinite(factor.diagonal()).all():
            return np.asarray(factor.T), jitter
    raise NotFinite(
        "covariances must be finite, got NaN or infinity; inputs or length scales are too large or too small"
    )


def solve_factored(factor: FloatArray, right: FloatArray) -> FloatArray:
    """K^{-1} right, shape (u, r), from the lower Cholesky factor of K, shape (u, u)."""
    solution, failure = lapack.dpotrs(factor.T, right, lower=0)
    assert failure == 0
    return np.asarray(solution)


def invert_factored(factor: FloatArray) -> FloatArray:
    """K^{-1} from the lower Cholesky factor of K, (u, u) -> (u, u); of use is the lower triangle only."""
    return np.asarray(lapack.dpotri(factor.T, lower=0)[0].T)


def log_determinant(factor: FloatArray) -> float:
    """Log determinant log |L L'| = 2 sum_i log L_ii of a lower factor, shape (u, u).

    Example:
        >>> log_determinant(np.eye(3))
        0.0
    """
    return 2 * float(np.log(factor.diagonal()).sum())
