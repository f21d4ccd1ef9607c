"""When training yields: another model of the same runs, and how far behind it a plan may be.

The other may still be fitted while training begins. Training then goes on, notes where it stands, and compares later
what it would have compared at once: the outcome is the same to the bit, only seconds may be lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray, IntArray
from genbayes.errors import OutOfReach
from genbayes.metrics import is_clearly_better
from genbayes.threads import Awaited

MIN_ROWS, MIN_LOG_GAP = 20, 0.25  # rows to compare on, and how far behind training yields


class OutOfReachEarly(OutOfReach):
    """The first plan gave up: one that sees more detail may not have to."""


@dataclass(frozen=True)
class Rival:
    """Another model of the same runs.

    Attributes:
        given: Its CRPS at each run as given, NaN where unknown, shape (r,), or `Awaited`.
        number: Of each of these among the merged runs, shape (r,).
        scale: Of the response.
    """

    given: ArrayLike
    number: IntArray
    scale: float

    @property
    def is_known(self) -> bool:
        """Whether its scores can be had without waiting."""
        return not isinstance(self.given, Awaited) or self.given.is_known

    @cached_property
    def scores(self) -> FloatArray:
        """On the scaled response, in the order of the merged runs, shape (n,); waits for them."""
        scores = np.full(int(self.number.max()) + 1, np.nan)
        scores[self.number] = np.asarray(self.given) / self.scale
        return scores


@dataclass(frozen=True)
class Standing:
    """How far a plan has come, to be compared with a rival.

    Attributes:
        scores: CRPS at the rows that each member holds out, shape (K a,).
        weight: Weights of these, shape (K a,).
        epoch: Where the run stands.
        fallen: What the score fell by in the last third of the run, as a ratio, in logarithms.
        to_come: A bold forecast of the end, as a share of the present score.
        is_ripe: Whether the end can be told.
        is_early: Whether no other plan has been tried yet.
    """

    scores: FloatArray
    weight: FloatArray
    epoch: float
    fallen: float
    to_come: float
    is_ripe: bool
    is_early: bool

    def require_reach(self, rival: FloatArray) -> None:
        """Raise `OutOfReach` where the rival is far better and the score falls too slowly to catch up.

        That is if the leader is behind by three standard errors, and by more than a quarter and three times what its
        score fell by, as a ratio, in the last third of its run; once its end can be forecast, if that is an eighth
        behind. A single member scores some percent worse than all together, so a smaller gap says nothing.

        Args:
            rival: CRPS at the same rows, NaN where unknown, shape (K a,).
        """
        known = np.isfinite(rival)
        if known.sum() < MIN_ROWS:
            return
        weight, scores, other = self.weight[known], self.scores[known], rival[known]
        mine, theirs = float(np.average(scores, weights=weight)), float(np.average(other, weights=weight))
        is_far = mine > theirs * math.exp(MIN_LOG_GAP + 3 * self.fallen)
        expected = mine * self.to_come  # below 0 where the score falls as fast as that
        if (is_far or (self.is_ripe and expected > theirs * math.exp(MIN_LOG_GAP / 2))) and is_clearly_better(
            other, scores, weight, n_errors=3.0
        ):
            ratio = mine / theirs if theirs > 0 else math.inf
            said = f"a rival is out of reach: CRPS {ratio:.1f} times the rival's after {self.epoch:.0f} epochs"
            raise OutOfReachEarly(said) if self.is_early else OutOfReach(said)
