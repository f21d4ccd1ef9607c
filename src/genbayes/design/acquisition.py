"""Acquisition functions: how much a run at x is worth, `(model, X) -> (n,)`, larger is better.

For those who want to know the response everywhere (paper section 4.3): disagreement of the members' medians,
predictive variance, width of the 5-95% interval, reduction of the variance over a reference set. For regimes: seeking
their boundary. For those who look for an optimum: `optimum`. Any model with `predict_distribution` will do for most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.design.members import predict_members, reduce_by_members
from genbayes.errors import InvalidInput
from genbayes.validation import check_array, check_level, check_nonnegative

__all__ = [
    "Acquisition",
    "AvoidFailures",
    "BoundarySeeking",
    "IntervalWidth",
    "VarianceReduction",
    "disagreement",
    "interval_width",
    "predictive_variance",
]


class Acquisition(Protocol):
    """A model and inputs, (n, d), to one score for each, (n,)."""

    def __call__(self, model: Any, X: Any, /) -> FloatArray:
        """The scores."""


def disagreement(model: Any, X: Any) -> FloatArray:
    """How far the members of an ensemble are apart, the paper's acquisition for GBC-AL.

    a(x) = sqrt(sum_k (median_k(x) - mean_k median_k(x))^2 / (K - 1)), paper section 4.3. For a model without members
    it is the standard deviation of what the model knows of E[y | x], which is where many members would lead to.

    Args:
        model: A surrogate with two or more members, or a model that tells `of="mean"`.
        X: Inputs, shape (n, d).

    Returns:
        Shape (n,), in units of y.

    Example:
        >>> from genbayes.design.process import DesignGP
        >>> X = np.array([[0.1], [0.2], [0.3], [0.9]])
        >>> model = DesignGP().fit(X, np.array([0.0, 1.0, 0.0, 1.0]), np.random.default_rng(0))
        >>> int(disagreement(model, np.array([[0.2], [0.6]])).argmax())  # the gap
        1
    """
    medians = predict_members(model, X)
    if medians is not None:
        return np.asarray(medians.std(axis=0, ddof=1))
    return np.asarray(_law_of_mean(model, X).std())


def predictive_variance(model: Any, X: Any) -> FloatArray:
    """Variance of a new run, paper section 4.3; its noise included, which no run removes.

    Args:
        model: Any fitted model.
        X: Inputs, shape (n, d).

    Returns:
        Shape (n,), in units of y squared.

    Example:
        >>> from genbayes.design.process import DesignGP
        >>> X = np.array([[0.1], [0.2], [0.3], [0.9]])
        >>> model = DesignGP().fit(X, np.array([0.0, 1.0, 0.0, 1.0]), np.random.default_rng(0))
        >>> int(predictive_variance(model, [[0.2], [0.6]]).argmax())
        1
    """
    return np.asarray(model.predict_distribution(X).var())


@dataclass(frozen=True)
class IntervalWidth:
    """Width of the central interval for a new run, equation for x*_{n+1} of paper section 4.3.

    F^{-1}((1 + level) / 2 | x) - F^{-1}((1 - level) / 2 | x).

    Args:
        level: Nominal coverage of the interval; 0.9 is the paper's 5-95%.

    Example:
        >>> from genbayes.design.process import DesignGP
        >>> X = np.array([[0.1], [0.2], [0.3], [0.9]])
        >>> model = DesignGP().fit(X, np.array([0.0, 1.0, 0.0, 1.0]), np.random.default_rng(0))
        >>> int(IntervalWidth(0.5)(model, [[0.2], [0.6]]).argmax())
        1
    """

    level: float = 0.9

    def __call__(self, model: Any, X: Any) -> FloatArray:
        """Widths, shape (n,), in units of y."""
        lower, upper = model.predict_distribution(X).interval(check_level(self.level))
        return np.asarray(upper - lower)


interval_width = IntervalWidth()


@dataclass(frozen=True)
class VarianceReduction:
    """How much a run at x lowers the variance over a reference set: active learning Cohn (ALC), IMSE in sum.

    mean_r cov(r, x)^2 / (var(x) + noise). Exact for Gaussian processes; for an ensemble the covariance is that of the
    members' medians, damped with distance since a few members correlate by chance (`members`). Cohn (1996); Gramacy &
    Lee (2009).

    Args:
        reference: Inputs at which predictions matter, shape (r, d).

    Example:
        >>> from genbayes.design.process import DesignGP
        >>> X = np.array([[0.1], [0.2], [0.3], [0.9]])
        >>> model = DesignGP().fit(X, np.array([0.0, 1.0, 0.0, 1.0]), np.random.default_rng(0))
        >>> score = VarianceReduction(np.linspace(0, 1, 50)[:, None])
        >>> int(score(model, np.array([[0.2], [0.6], [1.0]])).argmax())  # inside the gap, not at the wall
        1
    """

    reference: FloatArray

    def __call__(self, model: Any, X: Any) -> FloatArray:
        """Reductions, shape (n,), in units of y squared."""
        if hasattr(model, "variance_reduction"):
            return np.asarray(model.variance_reduction(X, self.reference))
        if hasattr(model, "alc"):
            return np.asarray(model.alc(X, self.reference))
        return reduce_by_members(model, X, check_array(self.reference, "reference", "(r, d)"))


@dataclass(frozen=True)
class BoundarySeeking:
    """How undecided it is on which side of a threshold a run at x falls, times how far the members disagree.

    4 p (1 - p) with p = P(Y > threshold | x) is 1 where both regimes are equally probable. It alone would return to
    the same stretch of the boundary for ever; the second factor leaves what is settled. In the spirit of the straddle
    of Bryan et al. (2005).

    Args:
        threshold: Value of y between the regimes, such as the middle of the gap in their histogram.

    Example:
        >>> from genbayes.design.process import DesignGP
        >>> X = np.array([[0.1], [0.2], [0.3], [0.9]])
        >>> model = DesignGP().fit(X, np.array([0.0, 0.0, 0.0, 1.0]), np.random.default_rng(0))
        >>> int(BoundarySeeking(0.5)(model, np.array([[0.15], [0.6], [0.95]])).argmax())
        1
    """

    threshold: float

    def __call__(self, model: Any, X: Any) -> FloatArray:
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

    def __call__(self, model: Any, X: Any) -> FloatArray:
        """Scores, shape (n,)."""
        limit = check_nonnegative(self.limit, "limit")
        if self.probability is not None:
            p = self.probability(X)
        elif hasattr(model, "predict_failure_probability"):
            p = model.predict_failure_probability(X)
        else:
            raise InvalidInput(
                f"model must tell where runs fail, got {type(model).__name__} without predict_failure_probability; "
                "fit QuantileSurrogate(missing='regime') with y NaN where a run failed"
            )
        score = self.acquisition(model, X)
        score = np.where(score > 0, score * (1 - p), score)
        return np.asarray(np.where(p > limit, -np.inf, score))


def _law_of_mean(model: Any, X: Any) -> Any:
    try:
        return model.predict_distribution(X, of="mean")
    except TypeError as error:
        raise InvalidInput(
            f"model must have members or tell what it knows of the mean, got {type(model).__name__}; "
            "use predictive_variance"
        ) from error
