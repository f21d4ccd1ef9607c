"""What a likelihood returns once the process variance and the mean are profiled out of it.

Shared by the exact likelihood and by its Vecchia approximation. Restricted likelihood: the constant mean is
integrated out instead of plugged in, so that the variance is not underestimated when runs are few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.gp.replicates import Replicates

__all__ = ["GPParameters", "Profile", "degrees_of_freedom", "noise_terms"]

SMALLEST_VARIANCE = 1e-12  # y is standardised: added to the variance, so that a constant y has a likelihood too


@dataclass(frozen=True)
class GPParameters:
    """Everything a stationary GP with constant mean is made of.

    Attributes:
        length: Length scales, shape (p,).
        nugget: Noise variance of one run divided by the process variance.
        variance: Process variance.
        mean: Constant mean, its generalised least squares estimate.
        mean_variance: Variance of that estimate.
    """

    length: FloatArray
    nugget: float
    variance: float
    mean: float
    mean_variance: float

    @property
    def noise(self) -> float:
        """Noise variance of one run."""
        return self.nugget * self.variance


@dataclass(frozen=True)
class Profile:
    """Restricted log-likelihood at given length scales and nugget, maximised over the rest.

    Attributes:
        value: The log-likelihood.
        gradient: Its derivative with respect to log length (p of them) and log nugget, shape (p + 1,).
        variance: Process variance that maximises it.
        mean: Generalised least squares estimate of the mean.
        mean_variance: Variance of that estimate.
    """

    value: float
    gradient: FloatArray
    variance: float
    mean: float
    mean_variance: float


def degrees_of_freedom(runs: Replicates) -> float:
    """N - 1 for N runs, one being spent on the mean; half of N where the total weight is below two.

    Example:
        >>> degrees_of_freedom(Replicates.collect(np.zeros((3, 1)), np.arange(3.0), np.ones(3)))
        2.0
    """
    return max(runs.n_runs - 1, runs.n_runs / 2)


def noise_terms(runs: Replicates, nugget: float) -> tuple[float, float, float]:
    """What replicates alone add: sum of squares, log-likelihood, and d log-likelihood / d log nugget of the latter.

    Binois, Gramacy & Ludkovski (2018), equation 9: scatter / g joins the quadratic form, and
    -1/2 sum ((a_i - 1) log g + log a_i) the log-likelihood.

    Example:
        >>> runs = Replicates.collect(np.zeros((2, 1)), np.array([1.0, 3.0]), np.ones(2))
        >>> [round(term, 3) for term in noise_terms(runs, 0.5)]
        [4.0, -0.0, -0.5]
    """
    extra = float((runs.count - 1).sum())
    squares = float(runs.scatter.sum()) / nugget + SMALLEST_VARIANCE * runs.n_runs
    return squares, -0.5 * (extra * math.log(nugget) + float(np.log(runs.count).sum())), -0.5 * extra
