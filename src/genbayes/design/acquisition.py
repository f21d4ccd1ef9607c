"""Acquisition functions: how much a run at x is worth, `(model, X) -> (n,)`, larger is better.

For those who want to know the response everywhere (paper section 4.3): disagreement of the members' medians,
predictive variance, width of the 5-95% interval, reduction of the variance over a reference set. For regimes: seeking
their boundary. For those who look for an optimum: `optimum`. Any model with `predict_distribution` will do for most.

Members' medians at two inputs covary where a run at one would say something of the other. A handful of members also
covaries by chance, so covariances are damped with distance, as ensemble Kalman filters do ("localisation": Houtekamer
& Mitchell 2001):

    cov(x, x') = t(x, x')  sum_k (f_k(x) - f(x)) (f_k(x') - f(x')) / (K - 1),   t = exp(-|x - x'|^2 / (2 l^2)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.models.protocols import HasMembers, Predicts, PredictsFailure, ReducesVariance, gives_mean
from genbayes.validation import check_array, check_level, check_nonnegative

NORMAL_WIDTH = 3.2897  # of the 5-95% interval of a standard normal distribution


class Acquisition(Protocol):
    """A model and inputs, (n, d), to one score for each, (n,)."""

    def __call__(self, model: Predicts, X: ArrayLike, /) -> FloatArray:
        """The scores."""


def disagreement(model: Predicts, X: ArrayLike) -> FloatArray:
    """How far the members of an ensemble are apart, the paper's acquisition for GBC-AL.

    a(x) = sqrt(sum_k (median_k(x) - mean_k median_k(x))^2 / (K - 1)), paper section 4.3. For a model without members
    it is the standard deviation of what the model knows of E[y | x], which is where many members would lead to.

    Args:
        model: A surrogate with two or more members, or a model that tells `of="mean"`.
        X: Inputs, shape (n, d).

    Returns:
        Shape (n,), in units of y.

    Example:
        >>> from genbayes.design.gp import DesignGP
        >>> X = np.array([[0.1], [0.2], [0.3], [0.9]])
        >>> model = DesignGP().fit(X, np.array([0.0, 1.0, 0.0, 1.0]), np.random.default_rng(0))
        >>> int(disagreement(model, np.array([[0.2], [0.6]])).argmax())  # the gap
        1
    """
    medians = member_medians(model, X)
    if medians is not None:
        return np.asarray(medians.std(axis=0, ddof=1))
    if not gives_mean(model):
        raise InvalidInput(
            f"model must have members or answer predict_distribution(X, of='mean'), got {type(model).__name__}; "
            "use predictive_variance"
        )
    return model.predict_distribution(X, of="mean").std()


def predictive_variance(model: Predicts, X: ArrayLike) -> FloatArray:
    """Variance of a new run, paper section 4.3; its noise included, which no run removes.

    Args:
        model: Any fitted model.
        X: Inputs, shape (n, d).

    Returns:
        Shape (n,), in units of y squared.

    Example:
        >>> from genbayes.design.gp import DesignGP
        >>> X = np.array([[0.1], [0.2], [0.3], [0.9]])
        >>> model = DesignGP().fit(X, np.array([0.0, 1.0, 0.0, 1.0]), np.random.default_rng(0))
        >>> int(predictive_variance(model, [[0.2], [0.6]]).argmax())
        1
    """
    return model.predict_distribution(X).var()


@dataclass(frozen=True)
class IntervalWidth:
    """Width of the central interval for a new run, equation for x*_{n+1} of paper section 4.3.

    F^{-1}((1 + level) / 2 | x) - F^{-1}((1 - level) / 2 | x).

    Args:
        level: Nominal coverage of the interval; 0.9 is the paper's 5-95%.

    Example:
        >>> from genbayes.design.gp import DesignGP
        >>> X = np.array([[0.1], [0.2], [0.3], [0.9]])
        >>> model = DesignGP().fit(X, np.array([0.0, 1.0, 0.0, 1.0]), np.random.default_rng(0))
        >>> int(IntervalWidth(0.5)(model, [[0.2], [0.6]]).argmax())
        1
    """

    level: float = 0.9

    def __call__(self, model: Predicts, X: ArrayLike) -> FloatArray:
        """Widths, shape (n,), in units of y."""
        lower, upper = model.predict_distribution(X).interval(check_level(self.level))
        return np.asarray(upper - lower)


interval_width = IntervalWidth()


@dataclass(frozen=True)
class VarianceReduction:
    """How much a run at x lowers the variance over a reference set: active learning Cohn (ALC), IMSE in sum.

    mean_r cov(r, x)^2 / (var(x) + noise). Exact for Gaussian processes; for an ensemble the covariance is that of the
    members' medians, damped with distance (above). Cohn (1996); Gramacy &
    Lee (2009).

    Args:
        reference: Inputs at which predictions matter, shape (r, d).

    Example:
        >>> from genbayes.design.gp import DesignGP
        >>> X = np.array([[0.1], [0.2], [0.3], [0.9]])
        >>> model = DesignGP().fit(X, np.array([0.0, 1.0, 0.0, 1.0]), np.random.default_rng(0))
        >>> score = VarianceReduction(np.linspace(0, 1, 50)[:, None])
        >>> int(score(model, np.array([[0.2], [0.6], [1.0]])).argmax())  # inside the gap, not at the wall
        1
    """

    reference: FloatArray

    def __call__(self, model: Predicts, X: ArrayLike) -> FloatArray:
        """Reductions, shape (n,), in units of y squared."""
        if isinstance(model, ReducesVariance):
            return model.variance_reduction(X, self.reference)
        X, reference = np.asarray(X, dtype=np.float64), check_array(self.reference, "reference", "(r, d)")
        F, G = member_medians(model, X), member_medians(model, reference)
        if F is None or G is None:
            raise InvalidInput(
                f"model must have two or more members or a covariance of its own, got {type(model).__name__}; "
                "fit QuantileSurrogate(n_members=3, prior_scale=0.5) or use predictive_variance"
            )
        span = np.ptp(reference, axis=0)
        span = np.where(span > 0, span, 1.0)
        damping = taper(X / span, reference / span, 0.25 * np.sqrt(X.shape[1]))  # over a quarter of the extent
        variance = F.var(axis=0, ddof=1)
        lower, upper = model.predict_distribution(X).interval(0.9)
        noise = np.maximum(((upper - lower) / NORMAL_WIDTH) ** 2 - variance, 0.0)  # beyond what members disagree on
        gain = (covariance_of_members(F, G, damping) ** 2).mean(axis=1)
        return np.asarray(gain / np.maximum(variance + noise, np.finfo(np.float64).tiny))


@dataclass(frozen=True)
class BoundarySeeking:
    """How undecided it is on which side of a threshold a run at x falls, times how far the members disagree.

    4 p (1 - p) with p = P(Y > threshold | x) is 1 where both regimes are equally probable. It alone would return to
    the same stretch of the boundary for ever; the second factor leaves what is settled. In the spirit of the straddle
    of Bryan et al. (2005).

    Args:
        threshold: Value of y between the regimes, such as the middle of the gap in their histogram.

    Example:
        >>> from genbayes.design.gp import DesignGP
        >>> X = np.array([[0.1], [0.2], [0.3], [0.9]])
        >>> model = DesignGP().fit(X, np.array([0.0, 0.0, 0.0, 1.0]), np.random.default_rng(0))
        >>> int(BoundarySeeking(0.5)(model, np.array([[0.15], [0.6], [0.95]])).argmax())
        1
    """

    threshold: float

    def __call__(self, model: Predicts, X: ArrayLike) -> FloatArray:
        """Scores, shape (n,), in units of y."""
        if not np.isfinite(self.threshold):
            raise InvalidInput(f"threshold must be a finite number, got {self.threshold!r}")
        p = 1 - model.predict_distribution(X).cdf(self.threshold)
        return np.asarray(4 * p * (1 - p) * disagreement(model, X))


@dataclass(frozen=True)
class AvoidFailures:
    """Another acquisition, less where a run is likely to crash: a crashed run teaches nothing of y.

    a(x) (1 - P(fail | x)) where a is zero or positive, its expectation when a crash is worth nothing; where a may be
    negative, as for an optimum, inputs more likely to fail than `limit` are ruled out instead.

    Args:
        acquisition: The acquisition.
        limit: Probability of failure beyond which an input is not run at all.
        probability: Probability that a run at x fails, (n, d) -> (n,); None to ask the model.

    Example:
        >>> risk = lambda X: np.array([0.0, 0.4, 0.95])
        >>> AvoidFailures(lambda model, X: np.array([1.0, 2.0, 9.0]), probability=risk)(None, np.zeros((3, 1)))
        array([ 1. ,  1.2, -inf])
    """

    acquisition: Acquisition
    limit: float = 0.9
    probability: Callable[[FloatArray], FloatArray] | None = None

    def __call__(self, model: Predicts, X: ArrayLike) -> FloatArray:
        """Scores, shape (n,)."""
        limit = check_nonnegative(self.limit, "limit")
        if self.probability is not None:
            p = self.probability(np.asarray(X, dtype=np.float64))
        elif isinstance(model, PredictsFailure):
            p = model.predict_failure_probability(X)
        else:
            raise InvalidInput(
                f"model must predict where runs fail, got {type(model).__name__} without predict_failure_probability; "
                "fit QuantileSurrogate(missing='regime') with y NaN where a run failed"
            )
        score = self.acquisition(model, X)
        score = np.where(score > 0, score * (1 - p), score)
        return np.asarray(np.where(p > limit, -np.inf, score))


def member_medians(model: object, X: ArrayLike) -> FloatArray | None:
    """Each member's median, shape (K, n), in units of y; None for a model without two members or more.

    Example:
        >>> from genbayes.design.gp import DesignGP
        >>> X = np.linspace(0, 1, 6)[:, None]
        >>> member_medians(DesignGP().fit(X, X[:, 0], np.random.default_rng(0)), X) is None
        True
    """
    medians = model.predict_members(X) if isinstance(model, HasMembers) else None
    return medians if medians is not None and len(medians) > 1 else None


def covariance_of_members(F: FloatArray, G: FloatArray, damping: FloatArray) -> FloatArray:
    """Damped covariance between inputs, from medians (K, n) and (K, r) and factors (n, r) -> (n, r).

    Example:
        >>> F = np.array([[0.0, 1.0], [2.0, 1.0]])
        >>> covariance_of_members(F, F, np.ones((2, 2)))
        array([[2., 0.],
               [0., 0.]])
    """
    return np.asarray(damping * ((F - F.mean(axis=0)).T @ (G - G.mean(axis=0))) / (len(F) - 1))


def taper(X: FloatArray, reference: FloatArray, radius: float) -> FloatArray:
    """exp(-|x - x'|^2 / (2 radius^2)), (n, d) and (r, d) -> (n, r).

    Example:
        >>> taper(np.array([[0.0]]), np.array([[0.0], [1.0]]), 1.0).round(4)
        array([[1.    , 0.6065]])
    """
    s = (X * X).sum(axis=1)[:, None] + (reference * reference).sum(axis=1) - 2 * X @ reference.T
    return np.asarray(np.exp(np.maximum(s, 0.0) / (-2 * radius**2)))
