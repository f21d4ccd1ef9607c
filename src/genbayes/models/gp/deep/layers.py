"""What a two-layer deep GP assumes, its correlations, and the likelihood of its outer layer.

y | W ~ N(0, tau2 (K_theta(W) + g I)) with tau2 integrated out; the inner layer has unit variance and needs no such
integral. The priors are those of Sauer, Gramacy & Higdon (2023) and of their R package deepgp, meant for inputs in
[0, 1] and responses of mean 0 and variance 1. A chain factorises small matrices many thousand times, so the distances
of the n (n - 1) / 2 pairs are kept as a vector, correlations are written into a buffer, and LAPACK works on that buffer
without a copy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from scipy.linalg import lapack

from genbayes.arrays import FloatArray, IntArray
from genbayes.errors import InvalidInput
from genbayes.models.gp.cholesky import log_determinant
from genbayes.models.gp.kernels import matern52
from genbayes.validation import check_choice, check_count, check_nonnegative

Kernel = Literal["matern52", "squared-exponential"]
KERNELS: tuple[Kernel, ...] = ("matern52", "squared-exponential")
NOISE_FREE = 1e-8  # nugget of a deterministic simulator: far below any signal, far above rounding in a Cholesky factor
SMALLEST_NUGGET = 1e-10  # n^2 times the machine precision at n = 700; below it factorisations start to fail
LATENT_JITTER = 1e-10  # as a standard deviation 1e-5: invisible next to a hidden layer of unit variance
LARGE_N = 500  # from here on rounding, which grows with n^2, asks for more


@dataclass(frozen=True)
class GammaPrior:
    """Gamma distribution of a positive parameter, density proportional to v^(shape - 1) exp(-rate v).

    Example:
        >>> prior = GammaPrior(shape=1.5, rate=3.9)
        >>> round(prior.log_density(1.0) - prior.log_density(2.0), 3)
        3.553
    """

    shape: float
    rate: float

    def __post_init__(self) -> None:
        check_nonnegative(self.shape, "shape", strictly=True)
        check_nonnegative(self.rate, "rate", strictly=True)

    def log_density(self, value: float) -> float:
        """Log density up to a constant, of a positive value."""
        return (self.shape - 1) * math.log(value) - self.rate * value


@dataclass(frozen=True)
class ScalePrior:
    """Inverse-gamma prior of the outer variance tau2, density proportional to tau2^(-shape - 1) exp(-rate / tau2).

    shape = rate = 0 is the reference prior 1 / tau2. It is improper, but the posterior is not as soon as n >= 1.
    """

    shape: float = 0.0
    rate: float = 0.0

    def __post_init__(self) -> None:
        check_nonnegative(self.shape, "shape")
        check_nonnegative(self.rate, "rate")


@dataclass(frozen=True)
class DeepGPSettings:
    """Model and chain of a two-layer deep GP.

    Attributes:
        kernel: Correlation of both layers.
        n_samples: Draws kept.
        n_burn_in: Iterations before the first kept draw.
        thinning: Iterations per kept draw.
        nugget: Noise variance in units of tau2, fixed; None to sample it, `NOISE_FREE` for a deterministic simulator.
        n_hidden: Width of the hidden layer; None for as many columns as inputs.
        theta_y: Prior of the outer squared length scale.
        theta_w: Prior of each inner squared length scale.
        nugget_prior: Prior of the nugget when it is sampled.
        scale_prior: Prior of tau2.
    """

    kernel: Kernel = "matern52"
    n_samples: int = 200
    n_burn_in: int = 1000
    thinning: int = 10
    nugget: float | None = None
    n_hidden: int | None = None
    theta_y: GammaPrior = GammaPrior(1.5, 3.9 / 6)
    theta_w: GammaPrior = GammaPrior(1.5, 3.9 / 4)
    nugget_prior: GammaPrior = GammaPrior(1.5, 3.9)
    scale_prior: ScalePrior = ScalePrior()

    def __post_init__(self) -> None:
        check_choice(self.kernel, "kernel", KERNELS)
        check_count(self.n_samples, "n_samples")
        check_count(self.n_burn_in, "n_burn_in", at_least=0)
        check_count(self.thinning, "thinning")
        if self.n_hidden is not None:
            check_count(self.n_hidden, "n_hidden")
        if self.nugget is not None and check_nonnegative(self.nugget, "nugget") < SMALLEST_NUGGET:
            raise InvalidInput(
                f"nugget must be at least {SMALLEST_NUGGET}, got {self.nugget!r}; "
                f"pass {NOISE_FREE} for a deterministic simulator"
            )

    @property
    def n_iterations(self) -> int:
        """Length of the whole chain."""
        return self.n_burn_in + self.n_samples * self.thinning


class Likelihood(Protocol):
    """What the sampler asks of the outer layer."""

    def __call__(self, s: FloatArray, theta: float, nugget: float) -> float:
        """Log likelihood given the squared distances of the hidden layer's pairs."""

    def scale(self, s: FloatArray, theta: float, nugget: float) -> float:
        """Posterior mean of tau2 given the same."""


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


def whiten(factor: FloatArray, v: FloatArray) -> FloatArray:
    """L^-1 v for a lower factor L, shape (n, n), and v of shape (n,) or (n, k).

    Example:
        >>> import numpy as np
        >>> whiten(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0]))
        array([1. , 0.5])
    """
    solution: FloatArray = lapack.dtrtrs(factor, v, lower=1)[0]
    return solution


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
    return matern52(s, theta, out)


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
