"""Scores from support vectors: an RBF machine per regime, the committee's member for sharp and winding boundaries.

scikit-learn's SVC finds the support vectors; what is kept are plain arrays, from which scores are computed here. Width
and penalty are found by a walk over a coarse grid, judged on held-out rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from genbayes.arrays import FloatArray, IntArray
from genbayes.deadline import require_time
from genbayes.models.regimes.probabilities import fit_stack
from genbayes.persistence import State

WIDTHS = (0.02, 0.06, 0.2, 0.6, 2.0, 6.0, 20.0, 60.0)  # gamma times p, since |z - z'|^2 is about 2 p
PENALTIES = (0.1, 1.0, 10.0, 1e2, 1e3, 1e4, 1e5)
STARTS = ((5, 4), (4, 6))  # widths 6 and 2, penalties 1,000 and 100,000: the loss has a valley along which C grows as
# gamma falls, and steps of one do not pass every ripple in it
MOST_ROWS = 10_000  # that a machine learns from: its time grows with the square

Place = tuple[int, int]  # on the grid: number of the width, number of the penalty


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
        scores = np.empty((len(Z), len(self.intercept)))
        step = max(1, 4_000_000 // max(1, len(self.vectors)))  # 32 MB of kernel values in flight
        for start in range(0, len(Z), step):
            rows = slice(start, start + step)
            kernel = np.exp(-self.gamma * cdist(Z[rows], self.vectors, "sqeuclidean"))
            scores[rows] = self.intercept + kernel @ self.coefficients
        return scores

    def to_state(self) -> State:
        """Support vectors and their coefficients."""
        arrays = {"vectors": self.vectors, "coefficients": self.coefficients, "intercept": self.intercept}
        return State("KernelScores", {"gamma": self.gamma}, arrays)

    @classmethod
    def from_state(cls, state: State, p: int, k: int) -> KernelScores:
        """Scores of k regimes from p inputs, as a file describes them."""
        vectors = state.array("vectors", (None, p))
        coefficients, intercept = state.array("coefficients", (len(vectors), k)), state.array("intercept", (k,))
        return cls(vectors, coefficients, intercept, state.number("gamma", positive=True))


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
    machines = [_fit_machine(Z, label[:, c], weight, gamma, penalty) for c in columns]
    rows = np.unique(np.concatenate([support for support, _, _ in machines]))  # that support any of them
    coefficients, intercept = np.zeros((len(rows), k)), np.zeros(k)
    for column, (support, dual, shift) in zip(columns, machines, strict=True):
        coefficients[np.searchsorted(rows, support), column] = dual
        intercept[column] = shift
    return KernelScores(Z[rows], coefficients, intercept, gamma)


def _fit_machine(
    Z: FloatArray, probability: FloatArray, weight: FloatArray, gamma: float, penalty: float
) -> tuple[IntArray, FloatArray, float]:
    """The machine that tells one regime, of given probability at each row, from the rest.

    Returns:
        Rows that support it, their coefficients, its intercept.
    """
    certain = np.abs(2 * probability - 1)
    rows = np.flatnonzero(certain > 0.02)  # a row whose regime is less certain teaches nothing
    inside = probability[rows] > 0.5
    if inside.all() or not inside.any():
        return np.empty(0, np.int64), np.empty(0), 1.0 if inside.any() else -1.0
    require_time()
    from sklearn.svm import SVC  # a third of a second, for those alone who fit one

    # three iterations for each of the most rows; a machine that has not converged by then is judged as it is
    machine = SVC(C=penalty, gamma=gamma, max_iter=3 * MOST_ROWS, cache_size=400.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machine.fit(Z[rows], inside, sample_weight=certain[rows] * weight[rows] / weight.mean())
    return rows[machine.support_], machine.dual_coef_[0], float(machine.intercept_[0])


@dataclass
class KernelTrials:
    """Machines for folds of the rows, each fitted once.

    Attributes:
        Z: Scaled inputs, shape (n, p).
        evidence: Log density of each response in each regime, shape (n, k).
        label: Probability of each regime given the response, shape (n, k).
        weight: Positive weights, shape (n,).
        folds: Row numbers of each fold.
        order: Random order of the rows; the first 10,000 of those allowed are learnt from.
    """

    Z: FloatArray
    evidence: FloatArray
    label: FloatArray
    weight: FloatArray
    folds: Sequence[IntArray]
    order: IntArray
    _scores: dict[tuple[Place, int], FloatArray] = field(default_factory=dict)

    def fit(self, place: Place, without: IntArray | None = None) -> KernelScores:
        """The machine at a place of the grid, learnt from all rows or from those outside a fold."""
        rows = self.order if without is None else self.order[~np.isin(self.order, without)]
        rows = np.sort(rows[:MOST_ROWS])
        gamma = WIDTHS[place[0]] / self.Z.shape[1]
        return fit_kernel(self.Z[rows], self.label[rows], self.weight[rows], gamma, PENALTIES[place[1]])

    def held_out(self, place: Place, fold: int) -> FloatArray:
        """Scores of a fold by the machine that has not seen it, shape (rows of the fold, k)."""
        if (place, fold) not in self._scores:
            rows = self.folds[fold]
            self._scores[place, fold] = self.fit(place, rows).scores(self.Z[rows])
        return self._scores[place, fold]

    def loss(self, place: Place) -> float:
        """Mean loss on the folds of the trials, after the scores were given the best slope and offset there."""
        n_folds = 2 if len(self.Z) >= 1_000 else len(self.folds)  # enough rows to tell places apart
        rows = np.concatenate([self.folds[fold] for fold in range(n_folds)])
        scores = np.vstack([self.held_out(place, fold) for fold in range(n_folds)])
        return fit_stack([scores], self.evidence[rows], self.weight[rows])[1]

    def out_of_fold(self, place: Place) -> FloatArray:
        """Scores of every row by a machine that has not seen its fold, shape (n, k)."""
        scores = np.empty(self.evidence.shape)
        for fold, rows in enumerate(self.folds):
            scores[rows] = self.held_out(place, fold)
        return scores


def walk(loss: Callable[[Place], float], starts: Sequence[Place] = STARTS) -> Place:
    """The best place of the grid that steps to ever better neighbours reach.

    Args:
        loss: What to make small.
        starts: Where to look first; the walk begins at the best of them.

    Example:
        >>> walk(lambda place: abs(place[0] - 2) + abs(place[1] - 5))
        (2, 5)
    """
    known = {start: loss(start) for start in starts}
    here = min(known, key=lambda place: known[place])
    while True:
        for step in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, -1), (-1, 1)):
            place = (here[0] + step[0], here[1] + step[1])
            if place not in known and 0 <= place[0] < len(WIDTHS) and 0 <= place[1] < len(PENALTIES):
                known[place] = loss(place)
        best = min(known, key=lambda place: known[place])
        if best == here:
            return here
        here = best
