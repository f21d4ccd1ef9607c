"""Cholesky factors of covariance matrices that may be singular to rounding, and what follows from a factor."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from scipy.linalg import lapack

from genbayes.arrays import FloatArray

Factor = TypeVar("Factor")


def least_jitter(attempt: Callable[[float], Factor | None]) -> Factor:
    """What `attempt` returns for the least jitter, to be added to the diagonal, with which it does not return None.

    Raises:
        FloatingPointError: None will do; the matrix holds numbers that are not finite.
    """
    for jitter in (0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6):
        factor = attempt(jitter)
        if factor is not None:
            return factor
    raise FloatingPointError("covariance matrix is not finite")


def factorise(K: FloatArray, diagonal: FloatArray) -> FloatArray:
    """Lower Cholesky factor of K with another diagonal, and zeros above it, shape (u, u).

    Args:
        K: Symmetric, of which the lower triangle is read and the diagonal written, shape (u, u).
        diagonal: Shape (u,).

    Example:
        >>> factorise(np.zeros((2, 2)), np.array([4.0, 9.0]))
        array([[2., 0.],
               [0., 3.]])
    """

    def attempt(jitter: float) -> FloatArray | None:
        np.fill_diagonal(K, diagonal + jitter)
        # A C-ordered lower triangle is LAPACK's upper one; overwriting would lose K, should a larger jitter be needed.
        factor, failure = lapack.dpotrf(K.T, lower=0, clean=1, overwrite_a=0)
        return None if failure or not np.isfinite(factor.diagonal()).all() else np.asarray(factor.T)

    return least_jitter(attempt)


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
