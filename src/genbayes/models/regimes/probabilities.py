"""Scores of the regimes at an input, how they are judged, and how several classifiers' scores become probabilities.

A member of the committee gives scores s(x), one per regime; they become probabilities by softmax, pi(x). The runs do
not say in which regime they lie, only how probable their responses are in each; so a member is judged by the likelihood
of what was seen, sum_k pi_k(x) L_k(y), which counts a run between two regimes for neither. A known label is
L = (1, 0, ..., 0). Several members together give pi(x) = softmax(a + sum_j b_j s_j(x)), b_j >= 0, fitted to scores of
rows that they had not seen: as sharp as they deserve, and one that adds nothing gets slope 0 (stacked generalisation,
Wolpert 1992; with one classifier and two regimes, Platt 1999).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from genbayes.arrays import FloatArray
from genbayes.persistence import State

STACK_SD = 5.0  # of the prior of a stack's slopes and offsets, where runs are few or labels not yet settled
LINEAR_SD = 10.0  # of a coefficient of a standardised input: a slope that passes from 1% to 99% within half a sd


class Member(Protocol):
    """One fitted classifier of the committee."""

    def scores(self, Z: FloatArray) -> FloatArray:
        """Scores of the regimes at scaled inputs, (n, p) -> (n, k)."""

    def to_state(self) -> State:
        """What it keeps in a file."""


def mixture_loss(scores: FloatArray, evidence: FloatArray, weight: FloatArray) -> tuple[float, FloatArray]:
    """Sum over rows of -w log sum_k pi_k L_k, pi = softmax(s), and its gradient in s.

    The gradient is w (pi - r), with r_k = pi_k L_k / sum_j pi_j L_j what the row itself then says of its regime.

    Args:
        scores: s, shape (n, k).
        evidence: log L, shape (n, k).
        weight: w, shape (n,).

    Returns:
        The loss, and its gradient, shape (n, k).

    Example:
        >>> loss, gradient = mixture_loss(np.zeros((1, 2)), np.array([[0.0, -np.inf]]), np.ones(1))
        >>> round(loss, 4), gradient
        (0.6931, array([[-0.5,  0.5]]))
    """
    joint = scores + evidence
    loss = float(weight @ (logsumexp(scores, axis=1) - logsumexp(joint, axis=1)))
    return loss, weight[:, None] * (softmax(scores, axis=1) - softmax(joint, axis=1))


@dataclass(frozen=True)
class Stack:
    """Offsets and slopes.

    Attributes:
        offset: a, shape (k,).
        slope: b, one per classifier, shape (J,).
    """

    offset: FloatArray
    slope: FloatArray

    def probabilities(self, scores: Sequence[FloatArray]) -> FloatArray:
        """Probability of each regime from J tables of scores, each (n, k) -> (n, k)."""
        total = self.offset + sum(b * s for b, s in zip(self.slope, scores, strict=True))
        return np.asarray(softmax(total, axis=1))


def fit_stack(
    scores: Sequence[FloatArray], evidence: FloatArray, weight: FloatArray, prior_sd: float = STACK_SD
) -> tuple[Stack, float]:
    """Maximise the likelihood of the runs over offsets and slopes, under a weak Gaussian prior.

    Args:
        scores: One table per classifier, at rows it has not seen, each of shape (n, k).
        evidence: Log density of each response in each regime, shape (n, k).
        weight: Positive weights, shape (n,).
        prior_sd: Of a slope, for scores of unit spread, and of an offset.

    Returns:
        The stack, and the mean loss of a row, -log sum_k pi_k L_k, without the prior.

    Example:
        >>> low = np.array([[0.0, -9.0], [0.0, -9.0], [-9.0, 0.0], [-9.0, 0.0]])
        >>> good, useless = low / 9, np.array([[0.0, 1.0], [0.0, -1.0], [0.0, 1.0], [0.0, -1.0]])
        >>> stack, loss = fit_stack([good, useless], low, np.ones(4))
        >>> bool(stack.slope[0] > 1), stack.slope[1].round(2), loss < 0.1
        (True, np.float64(0.0), True)
    """
    J, k = len(scores), evidence.shape[1]
    spread = np.array([max(float((s - s.mean(axis=1, keepdims=True)).std()), 1e-12) for s in scores])
    unit = np.stack([s / size for s, size in zip(scores, spread, strict=True)])

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = mixture_loss(theta[:k] + np.tensordot(theta[k:], unit, axes=1), evidence, weight)
        slope = np.concatenate([gradient.sum(axis=0), np.einsum("nk,jnk->j", gradient, unit)])
        return value + 0.5 * float(theta @ theta) / prior_sd**2, slope + theta / prior_sd**2

    start = np.concatenate([np.zeros(k), np.full(J, 1.0 / J)])
    bounds = [(None, None)] * k + [(0.0, None)] * J
    found = np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x)
    stack = Stack(found[:k], found[k:] / spread)
    total = found[:k] + np.tensordot(found[k:], unit, axes=1)
    return stack, mixture_loss(total, evidence, weight)[0] / float(weight.sum())


def steepness(evidence: FloatArray, weight: FloatArray, least: float = STACK_SD) -> float:
    """Standard deviation of a prior of slopes: the root of the runs in the smallest regime, but no less than `least`.

    The more runs on either side, the more exactly they say where a boundary is, and the steeper it may be; a prior that
    does not give way would leave runs beside a clear-cut boundary in doubt for ever.
    """
    fewest = float((weight @ softmax(evidence, axis=1)).min())
    return max(least, math.sqrt(fewest))


@dataclass(frozen=True)
class LinearScores:
    """Scores s(z) = b + W' z, the committee's member for few runs: multinomial logistic regression.

    Attributes:
        coefficients: b above W, shape (1 + p, k).
    """

    coefficients: FloatArray

    def scores(self, Z: FloatArray) -> FloatArray:
        """Scores of the regimes, (n, p) -> (n, k)."""
        return np.asarray(self.coefficients[0] + Z @ self.coefficients[1:])

    def to_state(self) -> State:
        """The coefficients."""
        return State("LinearScores", {}, {"coefficients": self.coefficients})

    @classmethod
    def from_state(cls, state: State, p: int, k: int) -> LinearScores:
        """Scores of k regimes from p inputs, as a file describes them."""
        return cls(state.array("coefficients", (1 + p, k)))


def fit_linear(Z: FloatArray, evidence: FloatArray, weight: FloatArray) -> LinearScores:
    """Maximise the likelihood of the runs under a weak Gaussian prior, by L-BFGS.

    Args:
        Z: Scaled inputs, shape (n, p).
        evidence: Log density of each response in each regime, shape (n, k).
        weight: Positive weights, shape (n,).

    Example:
        >>> Z = np.array([[-2.0], [-1.0], [1.0], [2.0]])
        >>> low = np.array([[0.0, -9.0], [0.0, -9.0], [-9.0, 0.0], [-9.0, 0.0]])
        >>> fit_linear(Z, low, np.ones(4)).scores(np.array([[1.5]])).argmax()
        np.int64(1)
    """
    design = np.column_stack([np.ones(len(Z)), Z])
    shape = (design.shape[1], evidence.shape[1])
    prior_sd = steepness(evidence, weight, LINEAR_SD)

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        B = flat.reshape(shape)
        value, slope = mixture_loss(design @ B, evidence, weight)
        return value + 0.5 * float(flat @ flat) / prior_sd**2, (design.T @ slope).ravel() + flat / prior_sd**2

    found = minimize(loss, np.zeros(shape[0] * shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return LinearScores(np.asarray(found.x).reshape(shape))
