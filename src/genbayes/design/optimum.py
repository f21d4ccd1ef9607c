"""Acquisition functions for those who look for an optimum: expected improvement, confidence bound, Thompson sampling.

All minimise unless told otherwise, and read what the model knows of E[y | x], not the noise of a run, wherever the
model tells the two apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from genbayes.arrays import FloatArray
from genbayes.design.acquisition import member_medians
from genbayes.distribution import Normal, PredictiveDistribution
from genbayes.models.protocols import DrawsPaths, Predicts, gives_mean
from genbayes.seeding import RandomState, as_generator
from genbayes.validation import check_nonnegative

LEVELS = (np.arange(400) + 0.5) / 400  # of the quantiles that stand for a distribution that is not normal
FARTHEST = 38.0  # standard deviations beyond which the tail of a normal distribution is 0 in double precision


@dataclass(frozen=True)
class ExpectedImprovement:
    """By how much a run at x is expected to beat the best so far, E[max(best - f(x), 0)] when minimising.

    For a normal distribution (best - m) Phi(w) + s phi(w), w = (best - m) / s (Jones, Schonlau & Welch 1998); for
    others the mean over quantiles.

    Args:
        best: The best response so far.
        maximise: Whether larger responses are better.

    Example:
        >>> from genbayes.design.gp import DesignGP
        >>> X = np.linspace(0, 1, 6)[:, None]
        >>> model = DesignGP().fit(X, (X[:, 0] - 0.7) ** 2, np.random.default_rng(0))
        >>> new = np.linspace(0, 1, 101)[:, None]
        >>> bool(abs(new[ExpectedImprovement(best=0.01)(model, new).argmax(), 0] - 0.7) < 0.05)
        True
    """

    best: float
    maximise: bool = False

    def __call__(self, model: Predicts, X: ArrayLike) -> FloatArray:
        """Expected improvements, shape (n,), in units of y."""
        found = _mean_or_run(model, X)
        sign = -1.0 if self.maximise else 1.0
        if not isinstance(found, Normal):
            return np.asarray(np.maximum(sign * (self.best - found.ppf(LEVELS)), 0.0).mean(axis=1))
        gap, s = sign * (self.best - found.mean()), found.std()
        w = np.clip(np.divide(gap, s, out=FARTHEST * np.sign(gap), where=s > 0), -FARTHEST, FARTHEST)
        return np.asarray(np.maximum(gap * ndtr(w) + s * np.exp(-0.5 * w * w) / np.sqrt(2 * np.pi), 0.0))


@dataclass(frozen=True)
class UpperConfidenceBound:
    """Mean plus kappa standard deviations when maximising; minus mean plus kappa standard deviations when minimising.

    Srinivas et al. (2010).

    Args:
        kappa: How much not knowing counts.
        maximise: Whether larger responses are better.

    Example:
        >>> from genbayes.design.gp import DesignGP
        >>> X = np.linspace(0, 1, 6)[:, None]
        >>> model = DesignGP().fit(X, X[:, 0] ** 2, np.random.default_rng(0))
        >>> UpperConfidenceBound(kappa=0.0, maximise=True)(model, X[:2]).round(2) + 0.0
        array([0.  , 0.04])
    """

    kappa: float = 2.0
    maximise: bool = False

    def __call__(self, model: Predicts, X: ArrayLike) -> FloatArray:
        """Bounds, shape (n,), in units of y."""
        found = _mean_or_run(model, X)
        sign = 1.0 if self.maximise else -1.0
        return np.asarray(sign * found.mean() + check_nonnegative(self.kappa, "kappa") * found.std())


class ThompsonSampling:
    """One function that the model holds possible; the next run is at its optimum (Thompson 1933).

    The same function on every call, as long as the model offers a path or members; of others independent draws, row by
    row. Ask for a new one with a new object.

    Args:
        random_state: Which function.
        maximise: Whether larger responses are better.

    Example:
        >>> from genbayes.design.gp import DesignGP
        >>> X = np.linspace(0, 1, 6)[:, None]
        >>> model = DesignGP().fit(X, (X[:, 0] - 0.7) ** 2, np.random.default_rng(0))
        >>> ThompsonSampling(random_state=0)(model, X).round(2)  # runs without noise leave nothing to draw
        array([-0.49, -0.25, -0.09, -0.01, -0.01, -0.09])
    """

    def __init__(self, random_state: RandomState = None, maximise: bool = False) -> None:
        self.seed = int(as_generator(random_state).integers(2**63 - 1))
        self.maximise = maximise

    def __call__(self, model: Predicts, X: ArrayLike) -> FloatArray:
        """The function at each row, its sign turned when minimising, shape (n,)."""
        rng = np.random.default_rng(self.seed)
        sign = 1.0 if self.maximise else -1.0
        if isinstance(model, DrawsPaths):
            return np.asarray(sign * model.draw_path(X, rng))
        medians = member_medians(model, X)
        if medians is not None:
            return np.asarray(sign * medians[rng.integers(len(medians))])
        return np.asarray(sign * model.predict_distribution(X).sample(1, random_state=rng)[:, 0])


def _mean_or_run(model: Predicts, X: ArrayLike) -> PredictiveDistribution:
    """What the model knows of the mean, or the distribution of a run where it does not tell the two apart."""
    return model.predict_distribution(X, of="mean") if gives_mean(model) else model.predict_distribution(X)
