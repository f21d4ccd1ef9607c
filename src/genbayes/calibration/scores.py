"""The conformity coordinate: how far out a response lies in a model's law, as a number without end points.

T_x(y) is about Phi^-1(F(y | x)), the normal score of y, read from quantiles of the law. Unlike the probability
F(y | x) it never saturates: beyond the outermost quantile it goes on as a straight line, and where the law is a point
it measures residuals. So every response has a finite score, and every score is a finite response at any other x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from genbayes.arrays import FloatArray, IntArray
from genbayes.distribution import PredictiveDistribution
from genbayes.distribution.search import entry, rank
from genbayes.validation import check_finite

__all__ = ["NORMAL_SCORES", "ScoreMap", "least_slope"]

# Normal scores at which a law is read: a tenth apart, so that a line between two neighbours is the law for all that
# matters, and out to level 2e-4, beyond which a law of this library is its own guess.
NORMAL_SCORES = np.linspace(-3.5, 3.5, 71)
LEVELS = ndtr(NORMAL_SCORES)
TAIL_KNOTS = 10  # a tail's slope is read over one unit of the normal score: 2e-4 to 6e-3 in probability
# Least rise of y per unit of the score. As a share of the responses' sd: finer than any model is accurate, so that it
# acts on point masses only. As a share of their size: coarse enough that neighbouring knots differ in floating point.
SHARE_OF_SD, SHARE_OF_SIZE = 1e-6, 1e-12


def least_slope(y: FloatArray) -> float:
    """The slope that keeps the coordinate invertible where a law is a point, from responses (n,); positive.

    Example:
        >>> least_slope(np.array([-1.0, 1.0]))
        1e-06
    """
    size = float(np.abs(y).max())
    return max(SHARE_OF_SD * float(np.std(y)), SHARE_OF_SIZE * size) or SHARE_OF_SIZE


@dataclass(frozen=True)
class ScoreMap:
    """Strictly increasing maps T_x between responses and scores, one per row.

    T_x^-1 is piecewise linear through (s_j, Q(Phi(s_j)) + c s_j), with c the least slope, and goes on linearly beyond.

    Attributes:
        values: T_x^-1 at `NORMAL_SCORES`, shape (n, M).
        lower, upper: Slopes of T_x^-1 below and above these, positive, each (n,).
    """

    values: FloatArray
    lower: FloatArray
    upper: FloatArray

    @classmethod
    def of(cls, law: PredictiveDistribution, least: float) -> ScoreMap:
        """The maps of a law's rows; `least` is the slope added everywhere.

        The outer slope is that of the law's tail, or of the law as a whole where the tail is shorter (an atom at a
        bound), so that a single response beyond it has no absurd score.

        Example:
            >>> from genbayes.distribution import Normal
            >>> maps = ScoreMap.of(Normal([0.0, 10.0], [1.0, 2.0]), least=1e-6)
            >>> maps.score(np.array([1.5, 30.0])).round(3)
            array([ 1.5, 10. ])
        """
        q = check_finite(law.ppf(LEVELS), "the model's quantiles")
        whole = (q[:, -1] - q[:, 0]) / (NORMAL_SCORES[-1] - NORMAL_SCORES[0])
        run = NORMAL_SCORES[TAIL_KNOTS] - NORMAL_SCORES[0]
        lower = np.maximum((q[:, TAIL_KNOTS] - q[:, 0]) / run, whole) + least
        upper = np.maximum((q[:, -1] - q[:, -1 - TAIL_KNOTS]) / run, whole) + least
        return cls(q + least * NORMAL_SCORES, lower, upper)

    def __len__(self) -> int:
        return len(self.values)

    def at(self, rows: IntArray | slice) -> ScoreMap:
        """The maps of some rows."""
        return ScoreMap(self.values[rows], self.lower[rows], self.upper[rows])

    def score(self, y: FloatArray) -> FloatArray:
        """T_x(y), one response per row, (n,) -> (n,)."""
        row = np.arange(len(y))
        i = np.clip(rank(self.values, row, y, "right"), 1, len(NORMAL_SCORES) - 1)
        a, b = entry(self.values, row, i - 1), entry(self.values, row, i)
        rise = np.where(b > a, b - a, 1.0)
        s_a, s_b = NORMAL_SCORES[i - 1], NORMAL_SCORES[i]
        inside = s_a + (s_b - s_a) * np.clip((y - a) / rise, 0, 1)
        below = np.minimum(y - self.values[:, 0], 0) / self.lower
        above = np.maximum(y - self.values[:, -1], 0) / self.upper
        scores: FloatArray = inside + below + above
        return scores

    def response(self, scores: FloatArray) -> FloatArray:
        """T_x^-1 of each of m scores at each row, (m,) -> (n, m).

        Example:
            >>> from genbayes.distribution import Normal
            >>> ScoreMap.of(Normal([10.0], 2.0), least=1e-9).response(np.array([-1.0, 5.0])).round(3)
            array([[ 8., 20.]])
        """
        i = np.clip(np.searchsorted(NORMAL_SCORES, scores, side="right"), 1, len(NORMAL_SCORES) - 1)
        s_a, s_b = NORMAL_SCORES[i - 1], NORMAL_SCORES[i]
        share = np.clip((scores - s_a) / (s_b - s_a), 0, 1)
        a = np.take(self.values, i - 1, axis=1)
        y: FloatArray = a + (np.take(self.values, i, axis=1) - a) * share
        for beyond, slope in (
            (np.minimum(scores - NORMAL_SCORES[0], 0), self.lower),
            (np.maximum(scores - NORMAL_SCORES[-1], 0), self.upper),
        ):
            out = np.flatnonzero(beyond)
            if out.size:
                y[:, out] += slope[:, None] * beyond[out]
        return y
