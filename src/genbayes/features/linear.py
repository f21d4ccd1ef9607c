"""Scores that are linear in the inputs: multinomial logistic regression, the committee's member for few runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from genbayes.arrays import FloatArray
from genbayes.features.scoring import mixture_loss
from genbayes.persistence import State

__all__ = ["LinearScores", "fit_linear"]

PRIOR_SD = 10.0  # of a coefficient of a standardised input: a slope that passes from 1% to 99% within half a sd


@dataclass(frozen=True)
class LinearScores:
    """Scores s(z) = b + W' z.

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

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        B = flat.reshape(shape)
        value, slope = mixture_loss(design @ B, evidence, weight)
        return value + 0.5 * float(flat @ flat) / PRIOR_SD**2, (design.T @ slope).ravel() + flat / PRIOR_SD**2

    found = minimize(loss, np.zeros(shape[0] * shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return LinearScores(np.asarray(found.x).reshape(shape))
