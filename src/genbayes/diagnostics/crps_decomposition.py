"""The mean CRPS split into miscalibration, discrimination and uncertainty, by isotonic regression.

The CRPS is an integral of Brier scores over thresholds z. At each threshold the forecast probabilities F_i(z) are
recalibrated by the best non-decreasing function of themselves, the CORP approach of Dimitriadis, Gneiting and Jordan
(2021); integrated over z this is the Brier-score based decomposition of Arnold, Walz, Ziegel and Gneiting (2024).
It is chosen for its price, one sort per threshold: their own one orders whole distributions partially, the
quantile-based one needs an isotonic quantile regression per level.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import BoolArray, FloatArray, IntArray
from genbayes.distribution import PredictiveDistribution
from genbayes.errors import InvalidInput
from genbayes.seeding import RandomState, as_generator
from genbayes.validation import check_column, check_targets, describe_rows

MOST_ROWS = 200_000  # of which miscalibration is measured, evenly spaced by y: 160 MB of probabilities
N_THRESHOLDS = 100  # ten times as many change no part by a hundredth of the CRPS


@dataclass(frozen=True)
class CrpsDecomposition:
    """crps = miscalibration - discrimination + uncertainty, all in the unit of y and none negative.

    Attributes:
        crps: Mean continuous ranked probability score.
        miscalibration: What recalibrating the probabilities would save at most, MCB; smaller is better.
        discrimination: What recalibrated forecasts gain over one forecast for all rows, DSC; larger is better.
        uncertainty: Mean CRPS of the empirical distribution of y, UNC; no merit of the forecast.
        by_chance: The miscalibration that calibrated distributions like these would show on average over as many rows.
    """

    crps: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    by_chance: float

    @property
    def recalibrated(self) -> float:
        """Mean CRPS after recalibration, uncertainty - discrimination: what the forecasts could reach."""
        return self.crps - self.miscalibration

    def to_dict(self) -> dict[str, float]:
        """The parts as plain numbers, ready for JSON."""
        return asdict(self) | {"recalibrated": self.recalibrated}


def decompose_crps(
    predicted: PredictiveDistribution, y: ArrayLike, weight: ArrayLike | None = None, random_state: RandomState = 0
) -> CrpsDecomposition:
    """Split the mean CRPS of predictive distributions into miscalibration, discrimination and uncertainty.

    With o_i = 1{y_i <= z}, g_z the isotonic regression of o on F(z), and p the share of o_i = 1,

        mean CRPS   = integral of mean_i (F_i(z) - o_i)^2 dz
        recalibrated = integral of mean_i (g_z(F_i(z)) - o_i)^2 dz
        UNC         = integral of p (1 - p) dz
        MCB = mean CRPS - recalibrated,   DSC = UNC - recalibrated.

    The first and the third integral are exact. The second is UNC times the mean of its integrand over p (1 - p), at
    100 thresholds between which p (1 - p) integrates to the same amount. As g_z is fitted to the rows it is judged
    on, a calibrated forecast shows some miscalibration too; `by_chance` says how much, from outcomes drawn from it.

    Args:
        predicted: One distribution a row, n rows.
        y: Observations, at least two, shape (n,).
        weight: How much each row counts, shape (n,); None for all the same.
        random_state: Seed of the draws behind `by_chance`; nothing else is random.

    Returns:
        The parts.

    Example:
        >>> from genbayes.distribution import Normal
        >>> x = np.linspace(-2, 2, 400)
        >>> y = x + np.random.default_rng(0).normal(size=400)
        >>> right = decompose_crps(Normal(x, np.ones(400)), y)
        >>> shifted = decompose_crps(Normal(x + 1, np.ones(400)), y)
        >>> round(shifted.miscalibration - right.miscalibration, 2), shifted.discrimination == right.discrimination
        (0.29, True)
    """
    rows = Observations.of(predicted, y, weight).sorted()
    crps = float(rows.share @ rows.predicted.crps(rows.y))
    z, piece = _thresholds(rows.y, rows.share)
    uncertainty = float(piece.sum())
    if uncertainty == 0:  # constant y: a step at y is the perfect recalibration
        return CrpsDecomposition(crps, crps, 0.0, 0.0, 0.0)
    if len(rows.y) > MOST_ROWS:
        rows = rows.at(np.linspace(0, len(rows.y) - 1, MOST_ROWS).astype(np.int64))
    F = np.asarray(rows.predicted.cdf(z[None, :]))
    p = np.array([rows.share @ (rows.y <= threshold) for threshold in z])
    left = np.array([_recalibrated(F[:, k], rows.y <= z[k], rows.share) for k in range(len(z))])
    recalibrated = min(float(piece @ (left / (p * (1 - p)))), crps, uncertainty)  # equal up to rounding at worst
    by_chance = _expected_by_chance(F, rows.share, piece / (p * (1 - p)), as_generator(random_state))
    return CrpsDecomposition(crps, crps - recalibrated, uncertainty - recalibrated, uncertainty, by_chance)


def _thresholds(y: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Thresholds (m,) among the sorted y, and the part (m,) of the integral of p (1 - p) that each stands for."""
    p = np.cumsum(weight)[:-1]
    area = np.r_[0.0, np.cumsum(p * (1 - p) * np.diff(y))]
    m = N_THRESHOLDS
    z = np.interp((np.arange(m) + 0.5) / m * area[-1], area, y)
    z = np.clip(z, y[0], np.nextafter(y[-1], -np.inf))  # rounding must not reach the ends, where p (1 - p) is zero
    return z, np.full(m, area[-1] / m)


def _recalibrated(F: FloatArray, outcome: BoolArray, weight: FloatArray) -> float:
    """Brier score of the isotonic regression of outcomes on probabilities; rows come with outcomes 1 first.

    A stable sort then keeps 1 before 0 among equal probabilities, and pooling adjacent violators makes them one.
    """
    from sklearn.isotonic import isotonic_regression  # slow to import

    order = np.argsort(F, kind="stable")
    target, weight = outcome[order].astype(np.float64), weight[order]
    fitted = isotonic_regression(target, sample_weight=weight)
    return float(weight @ (fitted - target) ** 2)


def _expected_by_chance(F: FloatArray, weight: FloatArray, width: FloatArray, rng: np.random.Generator) -> float:
    """Miscalibration, (Brier score - recalibrated one) dz, of outcomes drawn with the probabilities F (n, m)."""
    total = 0.0
    for k, dz in enumerate(width):
        happened = rng.random(len(F)) < F[:, k]
        first = np.argsort(~happened, kind="stable")  # outcomes 1 first, as `_recalibrated` expects
        probability, happened, share = F[first, k], happened[first], weight[first]
        brier = float(share @ (probability - happened) ** 2)
        total += dz * (brier - _recalibrated(probability, happened, share))
    return float(max(total, 0.0))


@dataclass(frozen=True)
class Observations:
    """What a forecast is judged on: rows of positive weight, checked.

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

    def at(self, rows: IntArray) -> Observations:
        """Some of the rows, in this order."""
        share = self.share[rows]
        return Observations(self.predicted[rows], self.y[rows], share / share.sum())

    def sorted(self) -> Observations:
        """The same rows by increasing y; the order of equal ones is kept."""
        return self.at(np.argsort(self.y, kind="stable"))
