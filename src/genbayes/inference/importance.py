"""Importance weights against a likelihood that the user has: from the learnt posterior to the exact one.

w_i ~ p(theta_i) L(theta_i) / q(theta_i | y) for draws of the learnt posterior q. The effective sample size says how
many equally weighted draws they are worth (Kong 1992); where it is small, the learnt posterior misses part of the exact
one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.errors import FewEffectiveDraws, InvalidInput
from genbayes.seeding import RandomState, as_generator
from genbayes.validation import check_count

LEAST_SHARE = 0.01  # effective over all draws, below which moments are the matter of a few draws
LEAST_SIZE = 100


@dataclass(frozen=True)
class WeightedDraws:
    """Draws with weights that sum to 1.

    Attributes:
        theta: Draws, shape (n, k).
        weight: How much each counts, shape (n,).
    """

    theta: FloatArray = field(repr=False)
    weight: FloatArray = field(repr=False)

    @property
    def effective_size(self) -> float:
        """Equally weighted draws that would be worth as much, 1 / sum w_i^2.

        Example:
            >>> WeightedDraws(np.zeros((4, 1)), np.array([0.5, 0.5, 0.0, 0.0])).effective_size
            2.0
        """
        return float(1 / np.sum(self.weight**2))

    def mean(self) -> FloatArray:
        """Weighted means, shape (k,)."""
        return np.asarray(self.weight @ self.theta)

    def cov(self) -> FloatArray:
        """Weighted covariances, shape (k, k)."""
        away = self.theta - self.mean()
        return np.asarray((self.weight[:, None] * away).T @ away)

    def sample(self, n: int, random_state: RandomState = None) -> FloatArray:
        """Draws with replacement by weight, all of equal weight afterwards, shape (n, k)."""
        rows = as_generator(random_state).choice(len(self.weight), size=check_count(n, "n"), p=self.weight)
        return np.asarray(self.theta[rows])

    def __str__(self) -> str:
        return f"{len(self.weight):,} weighted draws, effective sample size {self.effective_size:,.0f}"


def weigh(theta: FloatArray, log_target: FloatArray, log_proposal: FloatArray) -> WeightedDraws:
    """Self-normalised weights exp(log_target - log_proposal), with a warning where few draws carry them.

    Args:
        theta: Draws from the proposal, shape (n, k).
        log_target: Log density to be met, up to a constant, shape (n,).
        log_proposal: Log density of the proposal, shape (n,).
    """
    log_weight = log_target - log_proposal
    if np.isnan(log_weight).any() or np.isposinf(log_weight).any() or np.isneginf(log_weight).all():
        raise InvalidInput("log_likelihood must be a number or -inf at every draw and finite at some, got NaN or +inf")
    weight = np.exp(log_weight - log_weight.max())
    found = WeightedDraws(theta, weight / weight.sum())
    if found.effective_size < max(LEAST_SHARE * len(theta), min(LEAST_SIZE, len(theta))):
        warnings.warn(
            f"{found}; the learnt posterior misses part of the exact one. Simulate more, or run a chain",
            FewEffectiveDraws,
            stacklevel=3,
        )
    return found


def evaluate(log_likelihood: Callable[[FloatArray], Any], theta: FloatArray) -> FloatArray:
    """The user's log likelihood at all rows, (n, k) -> (n,), or why it cannot be used."""
    found = np.asarray(log_likelihood(theta), dtype=np.float64)
    if found.shape != (len(theta),):
        raise InvalidInput(
            f"log_likelihood must take parameters (n, k) and return ({len(theta)},), got shape {found.shape}"
        )
    return found
