"""Cholesky factors of covariance matrices that may be singular to rounding, and what follows from a factor.

LAPACK is called by its address, as SciPy offers it to compiled code: SciPy's wrappers keep the interpreter's lock, so
that two GPs which are fitted in two threads would wait for each other in every factor.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable

import numpy as np
import scipy
from scipy.linalg import cython_lapack

from genbayes.arrays import FloatArray
from genbayes.errors import NotFinite

# Tried in turn on the diagonal until the factor exists. Rounding alone spoils the smallest eigenvalues of correlations
# of some hundred inputs by 1e-14.
JITTERS = (0.0, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)
# side, sizes, factor, its leading size, right sides with theirs, failure
SIGNATURE = re.compile(rb"void \(char \*, int \*,( int \*,)? \w+_d \*, int \*,( \w+_d \*, int \*,)? int \*\)")


def _routine(name: str) -> Callable[..., None]:
    """A routine of LAPACK, all of whose arguments are addresses; the interpreter's lock is free while it runs."""
    capsule = cython_lapack.__pyx_capi__[name]
    api = ctypes.pythonapi
    signature = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))(capsule)
    if not SIGNATURE.fullmatch(signature):  # such as integers of 64 bits: memory would be misread
        raise ImportError(
            f"{name} of SciPy {scipy.__version__} takes other arguments than known; install another version"
        )
    find = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
    made: Callable[..., None] = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * signature.count(b"*"))(
        find(capsule, signature)
    )
    return made


_dpotrf, _dpotri, _dpotrs = (_routine(name) for name in ("dpotrf", "dpotri", "dpotrs"))


def _run(routine: Callable[..., None], factor: FloatArray, *right: FloatArray) -> int:
    """Call LAPACK in place on a matrix whose lower triangle counts, (u, u) in rows; and what it says, 0 if all is well.

    A lower triangle in rows is LAPACK's upper one, which lies in columns. Right sides, (u, r), lie in columns.
    """
    size, failure = ctypes.c_int(len(factor)), ctypes.c_int()
    n, sides = ctypes.byref(size), [(ctypes.byref(ctypes.c_int(b.shape[1])), b.ctypes.data) for b in right]
    more = [side for _, at in sides for side in (at, n)]
    routine(b"U", n, *[count for count, _ in sides], factor.ctypes.data, n, *more, ctypes.byref(failure))
    return failure.value


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
        factor = np.tril(K)
        if _run(_dpotrf, factor) == 0 and np.isfinite(factor.diagonal()).all():
            return factor, jitter
    raise NotFinite(
        "covariances must be finite, got NaN or infinity; inputs or length scales are too large or too small"
    )


def solve_factored(factor: FloatArray, right: FloatArray) -> FloatArray:
    """K^{-1} right, shape (u, r), from the lower Cholesky factor of K, shape (u, u)."""
    solution = np.array(right, dtype=np.float64, order="F")
    failure = _run(_dpotrs, np.ascontiguousarray(factor), solution)
    assert failure == 0
    return solution


def invert_factored(factor: FloatArray) -> FloatArray:
    """K^{-1} from the lower Cholesky factor of K, (u, u) -> (u, u); of use is the lower triangle only."""
    inverse = np.array(factor, order="C")
    _run(_dpotri, inverse)
    return inverse


def log_determinant(factor: FloatArray) -> float:
    """Log determinant log |L L'| = 2 sum_i log L_ii of a lower factor, shape (u, u).

    Example:
        >>> log_determinant(np.eye(3))
        0.0
    """
    return 2 * float(np.log(factor.diagonal()).sum())
