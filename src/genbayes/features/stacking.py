"""Several classifiers' scores made one law: pi(x) = softmax(a + sum_j b_j s_j(x)), b_j >= 0.

Fitted to scores of rows that the classifiers had not seen, so that the probabilities are as sharp as the classifiers
deserve, and a classifier that adds nothing gets no say (stacked generalisation, Wolpert 1992; with one classifier and
two regimes, Platt 1999).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from genbayes.arrays import FloatArray
from genbayes.features.scoring import mixture_loss

__all__ = ["Stack", "fit_stack"]

PRIOR_SD = 5.0  # of a slope, for scores of unit spread, and of an offset


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


def fit_stack(scores: Sequence[FloatArray], evidence: FloatArray, weight: FloatArray) -> tuple[Stack, float]:
    """Maximise the likelihood of the runs over offsets and slopes, under a weak Gaussian prior.

    Args:
        scores: One table per classifier, at rows it has not seen, each of shape (n, k).
        evidence: Log density of each response in each regime, shape (n, k).
        weight: Positive weights, shape (n,).

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
        return value + 0.5 * float(theta @ theta) / PRIOR_SD**2, slope + theta / PRIOR_SD**2

    start = np.concatenate([np.zeros(k), np.full(J, 1.0 / J)])
    bounds = [(None, None)] * k + [(0.0, None)] * J
    found = np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x)
    stack = Stack(found[:k], found[k:] / spread)
    total = found[:k] + np.tensordot(found[k:], unit, axes=1)
    return stack, mixture_loss(total, evidence, weight)[0] / float(weight.sum())
