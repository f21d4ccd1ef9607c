"""What a likelihood returns once the process variance and the mean are profiled out of it.

Shared by the exact likelihood and by its Vecchia approximation. Restricted likelihood: the constant mean is
integrated out instead of plugged in, so that the variance is not underestimated when runs are few.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.gp.replicates import Replicates

__all__ = ["GPParameters", "Profile", "degrees_of_freedom", "noise_terms"]


@dataclass(frozen=True)
class GPParameters:
    """Everything a stationary GP with constant mean is made of.

    Attributes:
        length: Length scales, shape (p,).
        nugget: Noise variance of one run divided by the process variance.
        variance: Process variance.
        mean: Constant mean, its generalised least squares estimate.
    """

    length: FloatArray
    nugget: float
    variance: float
    mean: float

    @property
    def noise(self) -> float:
        """Noise variance of one run."""
        return self.nugget * self.variance


@dataclass(frozen=True)
class Profile:
    """Restricted log-likelihood at given length scales and noise, maximised over the rest.

    Attributes:
        value: The log-likelihood.
        by_log_length: Its derivative with respect to log length, shape (p,).
        by_log_noise: Its derivatives with respect to log noise, one or more that add up, shape (m,).
        variance: Process variance that maximises it.
        mean: Generalised least squares estimate of the mean.
    """

    value: float
    by_log_length: FloatArray
    by_log_noise: FloatArray
    variance: float
    mean: float

    @property
    def gradient(self) -> FloatArray:
        """Derivative with respect to log length and the log of a noise that all inputs share, shape (p + 1,)."""
        return np.append(self.by_log_length, self.by_log_noise.sum())


def degrees_of_freedom(runs: Replicates) -> float:
    """N - 1 for N runs, one being spent on the mean; half of N where the total weight is below two.

    Example:
        >>> degrees_of_freedom(Replicates.collect(np.zeros((3, 1)), np.arange(3.0), np.ones(3)))
        2.0
    """
    return max(runs.n_runs - 1, runs.n_runs / 2)


def noise_terms(runs: Replicates, noise: float | FloatArray) -> tuple[float, float]:
    """What replicates alone add: to the sum of squares, and to the log-likelihood.

    Binois, Gramacy & Ludkovski (2018), equation 9: scatter / lambda joins the quadratic form, and
    -1/2 sum ((a_i - 1) log lambda_i + log a_i) the log-likelihood. The smallest variance, 1e-12 of a standardised y,
    is added so that a constant y has a likelihood too.

    Args:
        runs: Training runs at u inputs.
        noise: Noise variance over process variance, one number or shape (u,).

    Example:
        >>> runs = Replicates.collect(np.zeros((2, 1)), np.array([1.0, 3.0]), np.ones(2))
        >>> [round(term, 3) for term in noise_terms(runs, 0.5)]
        [4.0, -0.0]
    """
    squares = float((runs.scatter / noise).sum()) + 1e-12 * runs.n_runs
    return squares, -0.5 * float(((runs.count - 1) * np.log(noise) + np.log(runs.count)).sum())
