"""Scores from support vectors: an RBF machine per regime, the committee's member for sharp and winding boundaries.

scikit-learn's SVC finds the support vectors; what is kept are plain arrays, from which scores are computed here.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from genbayes.arrays import FloatArray, IntArray
from genbayes.deadline import require_time
from genbayes.errors import UnreadableFile
from genbayes.persistence import State

__all__ = ["KernelScores", "fit_kernel"]

N_ITERATIONS = 30_000  # three for each of the most rows; a machine that has not converged by then is judged as it is
LEAST_CERTAIN = 0.02  # rows whose regime is less certain teach a machine nothing
CACHE_MB = 400.0
BLOCK = 4_000_000  # kernel values in flight while predicting: 32 MB


@dataclass(frozen=True)
class KernelScores:
    """Scores s_k(z) = b_k + sum_i a_ik exp(-gamma |z - v_i|^2); with two regimes the first score is 0.

    Attributes:
        vectors: Support vectors v, shape (v, p).
        coefficients: a, shape (v, k).
        intercept: b, shape (k,).
        gamma: Inverse squared width of the kernel.
    """

    vectors: FloatArray
    coefficients: FloatArray
    intercept: FloatArray
    gamma: float

    def scores(self, Z: FloatArray) -> FloatArray:
        """Scores of the regimes, (n, p) -> (n, k)."""
        step = max(1, BLOCK // max(1, len(self.vectors)))
        blocks = [self._block(Z[start : start + step]) for start in range(0, len(Z), step)]
        return np.vstack([np.empty((0, len(self.intercept))), *blocks])

    def _block(self, Z: FloatArray) -> FloatArray:
        kernel = np.exp(-self.gamma * cdist(Z, self.vectors, "sqeuclidean"))
        return np.asarray(self.intercept + kernel @ self.coefficients)

    def to_state(self) -> State:
        """Support vectors and their coefficients."""
        arrays = {"vectors": self.vectors, "coefficients": self.coefficients, "intercept": self.intercept}
        return State("KernelScores", {"gamma": self.gamma}, arrays)

    @classmethod
    def from_state(cls, state: State, p: int, k: int) -> KernelScores:
        """Scores of k regimes from p inputs, as a file describes them."""
        vectors = state.array("vectors", (None, p))
        gamma = float(state.value("gamma"))
        if not 0 < gamma < np.inf:
            raise UnreadableFile(f"the width of the kernel in the model file must be positive, got gamma={gamma!r}")
        return cls(vectors, state.array("coefficients", (len(vectors), k)), state.array("intercept", (k,)), gamma)


def fit_kernel(Z: FloatArray, label: FloatArray, weight: FloatArray, gamma: float, penalty: float) -> KernelScores:
    """One support vector machine for each regime against the rest, or a single one for two regimes.

    Args:
        Z: Scaled inputs, shape (n, p).
        label: Probability of each regime given the response, shape (n, k); rows count by how certain it is.
        weight: Positive weights, shape (n,).
        gamma: Inverse squared width of the kernel.
        penalty: C, the price of a row on the wrong side, for a row of mean weight.

    Example:
        >>> Z = np.array([[-2.0], [-1.0], [1.0], [2.0]])
        >>> label = np.eye(2)[[0, 1, 1, 0]]
        >>> fit_kernel(Z, label, np.ones(4), 1.0, 100.0).scores(Z).argmax(axis=1)
        array([0, 1, 1, 0])
    """
    k = label.shape[1]
    columns = [1] if k == 2 else range(k)
    machines = [_one_machine(Z, label[:, c], weight, gamma, penalty) for c in columns]
    return _join(Z, machines, columns, k, gamma)


Machine = tuple[IntArray, FloatArray, float]  # rows that support it, their coefficients, its intercept


def _one_machine(Z: FloatArray, probability: FloatArray, weight: FloatArray, gamma: float, penalty: float) -> Machine:
    """The machine that tells one regime, of given probability at each row, from the rest."""
    certain = np.abs(2 * probability - 1)
    rows = np.flatnonzero(certain > LEAST_CERTAIN)
    inside = probability[rows] > 0.5
    if inside.all() or not inside.any():
        return np.empty(0, np.int64), np.empty(0), 1.0 if inside.any() else -1.0
    require_time()
    machine = SVC(C=penalty, gamma=gamma, max_iter=N_ITERATIONS, cache_size=CACHE_MB)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(Z[rows], inside, sample_weight=certain[rows] * weight[rows] / weight.mean())
    return rows[machine.support_], machine.dual_coef_[0], float(machine.intercept_[0])


def _join(Z: FloatArray, machines: Sequence[Machine], columns: Sequence[int], k: int, gamma: float) -> KernelScores:
    """Machines over the union of their support vectors."""
    rows = np.unique(np.concatenate([support for support, _, _ in machines]))
    coefficients, intercept = np.zeros((len(rows), k)), np.zeros(k)
    for column, (support, dual, shift) in zip(columns, machines, strict=True):
        coefficients[np.searchsorted(rows, support), column] = dual
        intercept[column] = shift
    return KernelScores(Z[rows], coefficients, intercept, gamma)
