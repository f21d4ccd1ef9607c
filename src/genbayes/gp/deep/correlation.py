"""Correlation of the layers of a deep GP from squared distances, in NumPy and in place.

A chain factorises small matrices many thousand times, so the distances of the n (n - 1) / 2 pairs are kept as a
vector, correlations are written into a buffer, and LAPACK works on that buffer without a copy.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from genbayes.arrays import FloatArray, IntArray
from genbayes.gp.correlation import matern52_with_slope
from genbayes.gp.deep.settings import Kernel

__all__ = ["CorrelationMatrix", "correlate", "latent_jitter", "pairs_of"]

LATENT_JITTER = 1e-10  # as a standard deviation 1e-5: invisible next to a hidden layer of unit variance
LARGE_N = 500  # from here on rounding, which grows with n^2, asks for more


def correlate(s: FloatArray, theta: float, kernel: Kernel, out: FloatArray | None = None) -> FloatArray:
    """Correlations of squared distances s at squared length scale theta, any shape.

    theta is a squared length, the parametrisation of Sauer, Gramacy & Higdon (2023): the squared exponential is
    exp(-s / theta), without the factor 1/2 of the other GPs; Matern-5/2 is theirs at s / theta.

    Args:
        s: Squared distances.
        theta: Squared length scale.
        kernel: "matern52" or "squared-exponential".
        out: Array to write the result to; a new one when None.

    Returns:
        Correlations, of the shape of s.

    Example:
        >>> correlate(np.array([0.0, 2.0]), 2.0, "squared-exponential")
        array([1.        , 0.36787944])
    """
    if kernel == "squared-exponential":
        out = np.multiply(s, -1.0 / theta, out=out)
        return np.exp(out, out=out)
    return matern52_with_slope(s * (1.0 / theta), out)[0]


def pairs_of(n: int) -> tuple[IntArray, IntArray]:
    """First and second row of each of the n (n - 1) / 2 pairs, the order in which distances are kept.

    Example:
        >>> pairs_of(3)
        (array([0, 0, 1]), array([1, 2, 2]))
    """
    first, second = np.triu_indices(n, 1)
    return first, second


def latent_jitter(n: int) -> float:
    """Variance added to the prior of a hidden column at n inputs, without which its Cholesky factor may fail.

    Example:
        >>> latent_jitter(100), latent_jitter(1000)
        (1e-10, 4e-10)
    """
    return LATENT_JITTER * max(1.0, (n / LARGE_N) ** 2)


class CorrelationMatrix:
    """Cholesky factors of K + nugget I for one set of n rows, computed in a buffer of their own.

    Args:
        n: Number of rows.
        kernel: Correlation function.
    """

    def __init__(self, n: int, kernel: Kernel) -> None:
        first, second = pairs_of(n)
        self._kernel = kernel
        self._correlation = np.empty(len(first))
        self._matrix = np.empty((n, n), order="F")
        self._memory = self._matrix.T.reshape(-1)  # the same memory as a vector: entry (i, j) is at j n + i
        self._below_diagonal = first * n + second
        self._diagonal = self._memory[:: n + 1]

    def factor(self, s: FloatArray, theta: float, nugget: float) -> FloatArray | None:
        """Lower Cholesky factor of K + nugget I; None where rounding makes the matrix indefinite.

        The factor lies in the buffer (entries above its diagonal are arbitrary): copy it to keep it.

        Args:
            s: Squared distances of the pairs, shape (n (n - 1) / 2,).
            theta: Squared length scale.
            nugget: Added to the diagonal.

        Returns:
            Shape (n, n), Fortran order.

        Example:
            >>> CorrelationMatrix(2, "squared-exponential").factor(np.array([1e9]), 1.0, 3.0).diagonal()
            array([2., 2.])
        """
        self._memory[self._below_diagonal] = correlate(s, theta, self._kernel, out=self._correlation)
        self._diagonal[:] = 1.0 + nugget
        factor, failed = lapack.dpotrf(self._matrix, lower=1, clean=0, overwrite_a=1)
        return None if failed else factor
