"""What the members of the committee of classifiers share: scores of the regimes at an input, and how they are judged.

A member gives scores s(x), one per regime; they become probabilities by softmax, pi(x). The runs do not say in which
regime they lie, only how probable their responses are in each; so a member is judged by the likelihood of what was
seen, sum_k pi_k(x) L_k(y), which counts a run between two regimes for neither. A known label is L = (1, 0, ..., 0).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.special import logsumexp, softmax

from genbayes.arrays import FloatArray
from genbayes.persistence import State

__all__ = ["Member", "mixture_loss", "responsibilities"]


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


def responsibilities(evidence: FloatArray, share: FloatArray) -> FloatArray:
    """Probability of each regime given the response alone: share_k L_k over its sum, (n, k).

    Example:
        >>> responsibilities(np.zeros((1, 2)), np.array([0.25, 0.75]))
        array([[0.25, 0.75]])
    """
    return np.asarray(softmax(evidence + np.log(share), axis=1))
