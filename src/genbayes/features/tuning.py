"""Width and penalty of the support vector machines, found by a walk over a coarse grid on rows held out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from genbayes.arrays import FloatArray, IntArray
from genbayes.features.kernel import KernelScores, fit_kernel
from genbayes.features.stacking import fit_stack

__all__ = ["KernelTrials", "walk"]

WIDTHS = (0.02, 0.06, 0.2, 0.6, 2.0, 6.0, 20.0, 60.0)  # gamma times p, since |z - z'|^2 is about 2 p
PENALTIES = (0.1, 1.0, 10.0, 1e2, 1e3, 1e4, 1e5)
STARTS = ((5, 4), (4, 6))  # widths 6 and 2, penalties 1,000 and 100,000: the loss has a valley along which C grows as
# gamma falls, and steps of one do not pass every ripple in it
N_TRIAL_FOLDS, ENOUGH_ROWS = 2, 1_000  # rows held out in two folds are enough to tell places apart; fewer: use all
MOST_ROWS = 10_000  # that a machine learns from: its time grows with the square

Place = tuple[int, int]


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
        n_folds = N_TRIAL_FOLDS if len(self.Z) >= ENOUGH_ROWS else len(self.folds)
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
        loss: What to make small, at (number of the width, number of the penalty).
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
