"""Where the training inputs lie: a surrogate's answer far from all of them is a guess, and should be called one.

Two tests. An input by itself lies outside its range, with a margin; that is seen with any number of inputs. A row lies
far from every training input though each of its inputs has been seen, as in a hole of the design; that only distances
show, and only with few inputs, since with many all rows are far from one another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from genbayes.arrays import BoolArray, FloatArray

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

N_KEPT = 2_000  # training inputs kept for the comparison
FAR = 2.0  # times the usual largest gap between neighbouring training inputs
FEW = 8.0  # rows at which that gap is taken to be twice as large, for a few show only some of the gaps there are
USUAL = 0.99  # quantile of the gaps that counts as the usual largest
# Share of its range that an input may lie outside, and of the range that was seen: one half a range outside is always
# flagged. Of new rows uniform in the same box below 1% are flagged from 15 rows on of up to ten inputs and from 19 on
# of fifty (`tests/data/test_extrapolation.py`). With ten rows no rule of ranges does both: 4% of ten inputs are.
MARGIN, MOST_OUTSIDE = 0.4, 0.5
NEVER_VARIED = 1e-3  # change of an input that was constant, as a share of its size, that counts as outside
ROUNDING = 1e-6  # inputs are kept in single precision
FALSE_ALARMS = 0.01  # share of rows, drawn as the runs were, that may be called far
GLANCE_ROWS, GLANCE_INPUTS = 1_000, 10  # rows and inputs up to which a glance measures distances, too


@dataclass(frozen=True)
class InputCoverage:
    """A sample of the scaled training inputs, their box, and the distance beyond which a new input is far from all.

    Attributes:
        inputs: Scaled training inputs, shape (r, p).
        radius: Distance that counts as far.
        box: Lower and upper ends that an input must leave to count as outside its range, shape (2, p).
    """

    inputs: FloatArray
    radius: float
    box: FloatArray

    @classmethod
    def learn(cls, Z: FloatArray, rng: np.random.Generator) -> InputCoverage:
        """Keep up to 2,000 inputs; the radius is twice the 99% quantile of the distance to the nearest other one.

        Example:
            >>> cover = InputCoverage.learn(np.linspace(0, 1, 11)[:, None], np.random.default_rng(0))
            >>> cover.is_far(np.array([[0.55], [3.0]]))
            array([False,  True])
        """
        box = widened_box(Z)
        if len(Z) > N_KEPT:
            Z = Z[rng.choice(len(Z), N_KEPT, replace=False)]
        kept = np.unique(Z.astype(np.float32), axis=0).astype(np.float64)  # as it will be read back from a file
        if len(kept) == 1:
            return cls(kept, 0.0, box)
        from scipy.spatial import cKDTree  # slow to import, and a table is read without it

        gap, _ = cKDTree(kept).query(kept, k=2)
        far = FAR * (1 + FEW / len(kept))
        return cls(kept, float(far * np.quantile(gap[:, 1], USUAL)), box)

    def is_far(self, Z: FloatArray) -> BoolArray:
        """Whether an input lies outside the box, or the row beyond the radius of every input kept, (n, p) -> (n,)."""
        far = self._is_outside(Z)
        inside = np.flatnonzero(~far)
        distance, _ = self._tree.query(Z[inside])
        far[inside] = distance > self.radius * (1 + ROUNDING)
        return far

    def glance(self, Z: FloatArray) -> bool:
        """Whether some row lies outside the box, or more rows are far than false alarms explain.

        At a small part of the cost of a prediction: distances of few rows only, and of few inputs.

        Example:
            >>> cover = InputCoverage.learn(np.linspace(0, 1, 11)[:, None], np.random.default_rng(0))
            >>> cover.glance(np.array([[0.55]])), cover.glance(np.array([[0.55], [3.0]]))
            (False, True)
        """
        if self._is_outside(Z).any():
            return True
        if Z.shape[1] > GLANCE_INPUTS or not len(Z):
            return False
        some = Z[np.linspace(0, len(Z) - 1, min(len(Z), GLANCE_ROWS)).astype(np.int64)]
        return bool(self.is_far(some).mean() > FALSE_ALARMS)

    def _is_outside(self, Z: FloatArray) -> BoolArray:
        low, high = self.box
        return np.asarray(((low > Z) | (high < Z)).any(axis=1))

    @cached_property
    def _tree(self) -> cKDTree:
        from scipy.spatial import cKDTree

        return cKDTree(self.inputs)


def widened_box(Z: FloatArray) -> FloatArray:
    """Ends beyond which an input counts as outside the range of n rows of them, (n, p) -> (2, p).

    The range r of n uniform inputs falls short of that of their distribution by r / (n - 1) at either end on average;
    beyond these ends a margin is left, but not more than half of r in all.

    Example:
        >>> widened_box(np.linspace(0, 1, 11)[:, None]).round(2).ravel()
        array([-0.5,  1.5])
    """
    low, high = Z.min(axis=0), Z.max(axis=0)
    unseen = (high - low) / max(len(Z) - 1, 1)
    room = np.minimum(unseen + MARGIN * (high - low + 2 * unseen), MOST_OUTSIDE * (high - low))
    room = np.where(high > low, room, NEVER_VARIED) + ROUNDING
    return np.stack([low - room, high + room])
