"""What a forecast is judged on: one distribution and one observation a row, and how much each row counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.distribution import PredictiveDistribution
from genbayes.errors import InvalidInput
from genbayes.validation import check_column, check_targets, describe_rows


@dataclass(frozen=True)
class Observations:
    """Rows of positive weight, checked.

    Attributes:
        predicted: One distribution a row, n rows.
        y: Observations, shape (n,).
        share: Weights that sum to 1, shape (n,).
    """

    predicted: PredictiveDistribution
    y: FloatArray
    share: FloatArray

    @classmethod
    def of(cls, predicted: PredictiveDistribution, y: ArrayLike, weight: ArrayLike | None = None) -> Observations:
        """Check what a user passes; rows of weight zero are left out.

        Example:
            >>> from genbayes.distribution import Normal
            >>> Observations.of(Normal(np.zeros(3), 1.0), [0.5, 1.0, 2.0], weight=[1, 0, 3]).share
            array([0.25, 0.75])
        """
        value = check_targets(y, len(predicted))
        share = check_column(1.0 if weight is None else weight, "weight", len(value))
        if (share < 0).any():
            raise InvalidInput(f"weight must be zero or positive, got {describe_rows(share < 0)} below zero")
        kept = share > 0
        if kept.sum() < 2:
            raise InvalidInput(f"y must hold at least 2 rows of positive weight, got {int(kept.sum())}")
        share = share / share.max()  # their sum could overflow
        if not kept.all():
            predicted, value, share = predicted[kept], value[kept], share[kept]
        return cls(predicted, value, share / share.sum())

    @property
    def n_effective(self) -> float:
        """Rows of equal weight that would tell as much, (sum w)^2 / sum w^2 (Kish 1965)."""
        return float(1 / (self.share @ self.share)) if self.slack else float(len(self.y))

    @property
    def slack(self) -> int:
        """Rows by which bands are widened: one where weights differ, since shares are then no whole numbers of rows."""
        return int(self.share.max() > self.share.min() * (1 + 1e-9))

    def sorted(self) -> Observations:
        """The same rows by increasing y; the order of equal ones is kept."""
        order = np.argsort(self.y, kind="stable")
        return Observations(self.predicted[order], self.y[order], self.share[order])
