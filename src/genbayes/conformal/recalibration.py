"""From a model's distribution and the scores of calibration rows to one whose every quantile is recalibrated.

A score says how far out a response lies in the model's distribution, on a scale on which that is standard normal
(`ScoreMap`). The k-th smallest of n scores becomes the quantile at level k / (n + 1) (`Recalibration`); between them
the distribution is interpolated, beyond them it is the model's own tail, stretched as its body was. Which ranks bound
the interval that carries the promise, `interval_ranks` says; its two ends are knots of the table, so that
`interval(level)` gives exactly the conformal interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from genbayes.arrays import FloatArray, IntArray
from genbayes.distribution import PredictiveDistribution
from genbayes.distribution.rowwise import chunks, entry, rank
from genbayes.errors import InvalidInput
from genbayes.validation import check_finite

ROUNDING = 1e-9  # 0.9 * 20 may come out above 18 by its last bit


def interval_ranks(n: int, level: float) -> tuple[int, int]:
    """Ranks i < j of the scores that bound the central interval, from 0 (none below) to n + 1 (none above).

    j - i = ceil((n + 1) level), so the interval covers with probability (j - i) / (n + 1), which lies in
    [level, level + 1 / (n + 1)). What is left out is halved, the odd one above.

    Example:
        >>> interval_ranks(19, 0.9), interval_ranks(6, 0.7), interval_ranks(5, 0.9)
        ((1, 19), (1, 6), (0, 6))
    """
    left_out = n + 1 - math.ceil((n + 1) * level - ROUNDING)
    return left_out // 2, n + 1 - (left_out - left_out // 2)


def highest_level(n: int) -> float:
    """The highest level with two finite ends, (n - 1) / (n + 1): from the smallest of n scores to the largest.

    Example:
        >>> highest_level(19)
        0.9
    """
    return max(n - 1, 0) / (n + 1)


def rows_needed(level: float) -> int:
    """The least n with highest_level(n) >= level.

    Example:
        >>> rows_needed(0.9), rows_needed(0.7), rows_needed(0.99)
        (19, 6, 199)
    """
    return max(2, math.ceil((1 + level) / (1 - level) - ROUNDING / (1 - level)))


def require_support(n: int, level: float, whose: str = "") -> None:
    """Refuse a level that n calibration rows cannot support; `whose` says more about the rows.

    Example:
        >>> require_support(6, 0.9)
        Traceback (most recent call last):
        ...
        genbayes.errors.InvalidInput: level must be at most 0.7142 with 6 calibration rows, got 0.9; give at least 19
    """
    if n < rows_needed(level):
        most = math.floor(1e4 * highest_level(n)) / 1e4
        raise InvalidInput(
            f"level must be at most {most:g} with {n} calibration rows{whose}, got {level!r}; "
            f"give at least {rows_needed(level)}"
        )


def cross_bound(n: int, n_folds: int, level: float) -> float:
    """Least coverage of the cross-conformal interval with n rows in folds of equal size.

    1 - 2 alpha - 2 min{2 (1 - 1/K) / (n/K + 1), (1 - K/n) / (K + 1)} with 1 - alpha = (j - i) / (n + 1): theorem 4 of
    Barber, Candes, Ramdas and Tibshirani (2021) on CV+, applied to either end and added up. With K = n the last term
    is zero (jackknife+). Typical coverage is near 1 - alpha.

    Example:
        >>> round(cross_bound(1000, 10, 0.9), 3), round(cross_bound(99, 99, 0.9), 3)
        (0.765, 0.8)
    """
    i, j = interval_ranks(n, level)
    alpha = 1 - (j - i) / (n + 1)
    K = min(n_folds, n)
    slack = min(2 * (1 - 1 / K) / (n / K + 1), (1 - K / n) / (K + 1))
    return max(1 - 2 * alpha - 2 * slack, 0.0)


# Normal scores at which a distribution is read: a tenth apart, so that a line between two neighbours is as good as the
# distribution itself, and out to level 2e-4, beyond which a distribution of this library is its own guess.
NORMAL_SCORES = np.linspace(-3.5, 3.5, 71)
LEVELS = ndtr(NORMAL_SCORES)
TAIL_KNOTS = 10  # a tail's slope is read over one unit of the normal score: 2e-4 to 6e-3 in probability
# Least rise of y per unit of the score. As a share of the responses' sd: finer than any model is accurate, so that it
# acts on point masses only. As a share of their size: coarse enough that neighbouring knots differ in floating point.
SHARE_OF_SD, SHARE_OF_SIZE = 1e-6, 1e-12


def least_slope(y: FloatArray) -> float:
    """The slope that keeps the coordinate invertible where a distribution is a point, from responses (n,); positive.

    Example:
        >>> least_slope(np.array([-1.0, 1.0]))
        1e-06
    """
    size = float(np.abs(y).max()) or 1.0
    return size * max(SHARE_OF_SD * float(np.std(y / size)), SHARE_OF_SIZE)  # squares of y itself could overflow


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
    def of(cls, predicted: PredictiveDistribution, least: float) -> ScoreMap:
        """The maps of a distribution's rows; `least` is the slope added everywhere.

        The outer slope is that of the tail, or of the distribution as a whole where the tail is shorter (an atom at a
        bound), so that a single response beyond it has no absurd score.

        Example:
            >>> from genbayes.distribution import Normal
            >>> maps = ScoreMap.of(Normal([0.0, 10.0], [1.0, 2.0]), least=1e-6)
            >>> maps.score(np.array([1.5, 30.0])).round(3)
            array([ 1.5, 10. ])
        """
        q = check_finite(predicted.ppf(LEVELS), "the model's quantiles")
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


NEAREST = 1e-6  # a level of the grid gives way to an end of the interval that is nearer than this
# A response read back from its own score errs by a few units in the last place. The lower half of the distribution is
# moved down and the upper half up by so much of its size, so that responses which tie with a row's are not shut out.
LAST_BITS = 2.0**-48


def table_levels(level: float) -> FloatArray:
    """Levels of the recalibrated table, increasing, shape (M,); both ends (1 -+ level) / 2 are among them.

    Example:
        >>> levels = table_levels(0.9)
        >>> levels[np.abs(levels - 0.05) < 0.005].round(4)
        array([0.05  , 0.0548])
    """
    tail = (1 - level) / 2  # as in `interval`, to the bit
    ends = np.array([tail, 1 - tail])
    far = np.abs(LEVELS[:, None] - ends).min(axis=1) > NEAREST
    return np.sort(np.concatenate([LEVELS[far], ends]))


@dataclass(frozen=True)
class Recalibration:
    """Scores of calibration rows, and what they make of a distribution.

    Attributes:
        scores: Sorted scores, one array for each model that scored rows: K of them, n scores in all.
        level: The level whose interval is a conformal one.
    """

    scores: tuple[FloatArray, ...]
    level: float

    def __len__(self) -> int:
        return sum(len(scores) for scores in self.scores)

    def quantiles(self, maps: Sequence[ScoreMap]) -> FloatArray:
        """Quantiles at `table_levels(level)` of the recalibrated distribution at new rows.

        With K models, row i of the calibration rows stands at x for the response v_i = (T^k_x)^-1(t_i), k the model
        that has not seen it, and the quantiles are order statistics of the v_i (CV+). With one model these are T_x^-1
        of the order statistics of the scores.

        Args:
            maps: The map of each model at the new rows, K of n rows.

        Returns:
            Shape (n, M).
        """
        levels = table_levels(self.level)
        below, above, share = self._places(levels)
        ranks = np.unique([below, above])
        v = self._order_statistics(maps, ranks)
        a, b = (v[:, np.searchsorted(ranks, k)] for k in (below, above))
        q: FloatArray = a + (b - a) * share + self._tails(maps, levels)
        padding = LAST_BITS * np.abs(q).max(axis=1, initial=0.0, keepdims=True)
        moved: FloatArray = q + padding * np.sign(levels - 0.5)
        return moved

    def _places(self, levels: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Ranks on either side of each level, from 1 to n, and its share of the way on the scale of normal scores.

        Knots are k / (n + 1) with rank k, and the ends of the interval with the ranks that keep its promise.
        """
        n, tail = len(self), (1 - self.level) / 2
        s = np.concatenate([_normal_scores(n), ndtri([tail, 1 - tail])])
        ranks = np.concatenate([np.arange(1, n + 1), interval_ranks(n, self.level)])
        order = np.lexsort((ranks, s))
        s, ranks = s[order], ranks[order]
        asked = ndtri(levels)
        i = np.clip(np.searchsorted(s, asked, side="right"), 1, len(s) - 1)
        run = s[i] - s[i - 1]
        share = np.clip((asked - s[i - 1]) / np.where(run > 0, run, 1.0), 0, 1)
        return ranks[i - 1], ranks[i], share

    def _order_statistics(self, maps: Sequence[ScoreMap], ranks: IntArray) -> FloatArray:
        """The v_i of these ranks, counted from 1, at each row, shape (n, len(ranks))."""
        if len(maps) == 1:
            return maps[0].response(self.scores[0][ranks - 1])
        v = np.empty((len(maps[0]), len(ranks)))
        for rows in chunks(len(v), len(self)):
            parts = [each.at(rows).response(scores) for each, scores in zip(maps, self.scores, strict=True)]
            v[rows] = np.sort(np.concatenate(parts, axis=1), axis=1)[:, ranks - 1]
        return v

    def _tails(self, maps: Sequence[ScoreMap], levels: FloatArray) -> FloatArray:
        """How far the tails reach beyond the outermost order statistics at levels that lie beyond, shape (n, M)."""
        t = np.sort(np.concatenate(self.scores))
        s = _normal_scores(len(t))
        centre = float(np.interp(0.0, s, t))
        reach = np.zeros((len(maps[0]), len(levels)))
        for side, end in ((s < 0, 0), (s > 0, -1)):
            stretch = np.abs(t[side] - centre).sum() / np.abs(s[side]).sum()
            beyond = ndtri(levels) - s[end]
            columns = np.flatnonzero(beyond < 0 if end == 0 else beyond > 0)
            asked = np.append(t[end] + stretch * beyond[columns], t[end])
            y = np.mean([each.response(asked) for each in maps], axis=0)
            reach[:, columns] = y[:, :-1] - y[:, -1:]
        return reach


def _normal_scores(n: int) -> FloatArray:
    """Phi^-1(k / (n + 1)) for k = 1, ..., n."""
    scores: FloatArray = ndtri(np.arange(1, n + 1) / (n + 1))
    return scores
