"""From a model's law and the scores of calibration rows to a law whose every quantile is recalibrated.

The k-th smallest of n scores becomes the quantile at level k / (n + 1); between them the law is interpolated, beyond
them it is the model's own tail, stretched as its body was. The two ends of the interval that carries the promise are
knots of the table, so that `interval(level)` gives exactly the conformal interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from genbayes.arrays import FloatArray, IntArray
from genbayes.calibration.ranks import interval_ranks
from genbayes.calibration.scores import NORMAL_SCORES, ScoreMap
from genbayes.distribution.search import chunks

__all__ = ["Recalibration", "table_levels"]

NEAREST = 1e-6  # a level of the grid gives way to an end of the interval that is nearer than this
# A response read back from its own score errs by a few units in the last place. The lower half of the law is moved
# down and the upper half up by so much of its size, so that responses which tie with a row's are not shut out.
ROUNDING = 2.0**-48


def table_levels(level: float) -> FloatArray:
    """Levels of the recalibrated table, increasing, shape (M,); both ends (1 -+ level) / 2 are among them.

    Example:
        >>> levels = table_levels(0.9)
        >>> levels[np.abs(levels - 0.05) < 0.005].round(4)
        array([0.05  , 0.0548])
    """
    tail = (1 - level) / 2  # as in `interval`, to the bit
    ends = np.array([tail, 1 - tail])
    grid = ndtr(NORMAL_SCORES)
    far = np.abs(grid[:, None] - ends).min(axis=1) > NEAREST
    return np.sort(np.concatenate([grid[far], ends]))


@dataclass(frozen=True)
class Recalibration:
    """Scores of calibration rows, and what they make of a law.

    Attributes:
        scores: Sorted scores, one array for each model that scored rows: K of them, n scores in all.
        level: The level whose interval is a conformal one.
    """

    scores: tuple[FloatArray, ...]
    level: float

    def __len__(self) -> int:
        return sum(len(scores) for scores in self.scores)

    def quantiles(self, maps: Sequence[ScoreMap]) -> FloatArray:
        """Quantiles at `table_levels(level)` of the recalibrated law at new rows.

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
        padding = ROUNDING * np.abs(q).max(axis=1, initial=0.0, keepdims=True)
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
        """How far the law reaches beyond the outermost order statistics at levels that lie beyond, shape (n, M)."""
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
