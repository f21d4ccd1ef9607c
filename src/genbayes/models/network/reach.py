"""Whether a rival is out of a network's reach, asked during training, or later where the rival is not known yet.

A network in a process of its own begins before the scores are known that it is to be compared with. Each question is
then kept with all that its answer depends on, and answered as soon as they are: the outcome is the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from genbayes.arrays import FloatArray, IntArray
from genbayes.errors import OutOfReach
from genbayes.metrics import is_clearly_better

MIN_ROWS_TO_YIELD, MIN_LOG_GAP = 20, 0.25  # held out by members and judged by the rival; how far behind it

FindScores = Callable[[bool], FloatArray | None]  # whether to wait for them, to the scores if they are known


class FirstOutOfReach(OutOfReach):
    """The first plan's leader gave up; another kind of plan may not."""


@dataclass(frozen=True)
class Standing:
    """How a leader stood when it was asked.

    Attributes:
        scores: CRPS at every row that each member held out, shape (K a,).
        weight: Weights of these rows, shape (K a,).
        rows: Their numbers, shape (K a,).
        epoch: When.
        falls: Best score at two thirds of the epochs until then, at all of them, and the one to hope for at the end.
        is_ripe: Whether its end could be told.
        is_first: Whether it had not been challenged yet.
    """

    scores: FloatArray
    weight: FloatArray
    rows: IntArray
    epoch: float
    falls: tuple[float, float, float]
    is_ripe: bool
    is_first: bool

    def require_reach(self, rival: FloatArray) -> None:
        """Raise `OutOfReach` where the rival is far better and the leader's score falls too slowly to catch up.

        That is if the leader is behind by three standard errors, and by more than a quarter and three times what its
        score fell by, as a ratio, in the last third of its run; once its end can be forecast, if that is an eighth
        behind. A single member scores some percent worse than all together, so a smaller gap says nothing.

        Args:
            rival: CRPS of another model at each run, NaN where unknown, shape (n,).
        """
        other = rival[self.rows]
        known = np.isfinite(other)
        if known.sum() < MIN_ROWS_TO_YIELD:
            return
        weight = self.weight[known]
        mine, theirs = (float(np.average(part[known], weights=weight)) for part in (self.scores, other))
        before, present, hoped = self.falls
        is_far = mine > theirs * math.exp(MIN_LOG_GAP + 3 * math.log(before / present))
        expected = mine * hoped / present  # below 0 where the score falls as fast as that
        if (is_far or (self.is_ripe and expected > theirs * math.exp(MIN_LOG_GAP / 2))) and is_clearly_better(
            other[known], self.scores[known], weight, n_errors=3.0
        ):
            raise (FirstOutOfReach if self.is_first else OutOfReach)(
                f"a rival is out of reach: CRPS {mine / theirs:.1f} times the rival's after {self.epoch:.0f} epochs"
            )


class Rival:
    """Another model, by its CRPS at each run, which may become known during training.

    Args:
        find: Told whether to wait, gives the scores on the scaled response, NaN where unknown, shape (n,); None while
            they are not known.
    """

    def __init__(self, find: FindScores) -> None:
        self._find, self._scores = find, find(False)
        self._open: list[Standing] = []

    def meet(self, standing: Standing) -> None:
        """Raise `OutOfReach` if a leader that stood so should have given up, as soon as that is known."""
        self._open.append(standing)
        self.settle()

    def settle(self, wait: bool = False) -> None:
        """Answer what is open, in the order in which it was asked, if the rival is known."""
        if not self._open:
            return
        if self._scores is None:
            self._scores = self._find(wait)
        if self._scores is not None:
            questions, self._open = self._open, []
            for each in questions:
                each.require_reach(self._scores)
