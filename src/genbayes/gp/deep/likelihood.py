"""Likelihood of the outer layer, y | W ~ N(0, tau2 (K_theta(W) + g I)), with tau2 integrated out.

As in Sauer, Gramacy & Higdon (2023). The inner layer has unit variance and needs no such integral.
"""

from __future__ import annotations

import math
from typing import Protocol

from scipy.linalg import lapack

from genbayes.arrays import FloatArray
from genbayes.gp.cholesky import log_determinant
from genbayes.gp.deep.correlation import CorrelationMatrix
from genbayes.gp.deep.settings import Kernel, ScalePrior

__all__ = ["Likelihood", "OuterLikelihood", "whiten"]


class Likelihood(Protocol):
    """What the sampler asks of the outer layer."""

    def __call__(self, s: FloatArray, theta: float, nugget: float) -> float:
        """Log likelihood given the squared distances of the hidden layer's pairs."""

    def scale(self, s: FloatArray, theta: float, nugget: float) -> float:
        """Posterior mean of tau2 given the same."""


def whiten(factor: FloatArray, v: FloatArray) -> FloatArray:
    """L^-1 v for a lower factor L, shape (n, n), and v of shape (n,) or (n, k).

    Example:
        >>> import numpy as np
        >>> whiten(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0]))
        array([1. , 0.5])
    """
    solution: FloatArray = lapack.dtrtrs(factor, v, lower=1)[0]
    return solution


class OuterLikelihood:
    """log p(y | W, theta, g) with tau2 ~ InverseGamma(a, b) integrated out, up to a constant.

    -(a + n/2) log(b + q/2) - 1/2 log |K + g I|, where q = y' (K + g I)^-1 y; a = b = 0 is the reference prior.

    Args:
        y: Responses of mean 0 and variance 1, shape (n,).
        kernel: Correlation of the outer layer.
        prior: Prior of tau2.

    Example:
        >>> import numpy as np
        >>> outer = OuterLikelihood(np.array([1.0, -1.0]), "matern52", ScalePrior(shape=2.0, rate=1.0))
        >>> round(outer(np.array([1e9]), 1.0, 0.0), 6)  # uncorrelated rows: q = 2, so -3 log 2
        -2.079442
    """

    def __init__(self, y: FloatArray, kernel: Kernel, prior: ScalePrior) -> None:
        self._y = y
        self._matrix = CorrelationMatrix(len(y), kernel)
        self._shape = prior.shape + len(y) / 2
        self._rate = prior.rate

    def __call__(self, s: FloatArray, theta: float, nugget: float) -> float:
        """Log likelihood; minus infinity where the matrix cannot be factorised.

        Args:
            s: Squared distances of the hidden layer's pairs, shape (n (n - 1) / 2,).
            theta: Outer squared length scale.
            nugget: Noise variance in units of tau2.
        """
        factor = self._matrix.factor(s, theta, nugget)
        if factor is None:
            return -math.inf
        return -self._shape * math.log(self._rate + self._half_quadratic(factor)) - 0.5 * log_determinant(factor)

    def scale(self, s: FloatArray, theta: float, nugget: float) -> float:
        """E[tau2 | y, W] = (b + q/2) / (a + n/2 - 1), with arguments as in a call."""
        factor = self._matrix.factor(s, theta, nugget)
        assert factor is not None, "the state of a chain has a finite likelihood"
        return (self._rate + self._half_quadratic(factor)) / (self._shape - 1)

    def _half_quadratic(self, factor: FloatArray) -> float:
        z = whiten(factor, self._y)
        return 0.5 * float(z @ z)
