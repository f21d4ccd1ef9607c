"""Diagnostics: whether predictive distributions keep their promises on given rows, and where the CRPS comes from.

The PIT histogram and the reliability curves with simultaneous bands, a verdict in plain words, and the split of the
CRPS into miscalibration, discrimination and uncertainty, which the paper leaves open (section 7).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.diagnostics.crps_decomposition import CrpsDecomposition, decompose_crps
from genbayes.diagnostics.findings import Finding, describe, find
from genbayes.diagnostics.observations import Observations
from genbayes.diagnostics.reliability import Reliability, interval_reliability, quantile_reliability
from genbayes.distribution import PredictiveDistribution
from genbayes.metrics import count_band, count_bins, pit_shares
from genbayes.seeding import RandomState

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Diagnostics:
    """Calibration of n predictive distributions on n observations, and the parts of their mean CRPS.

    Attributes:
        n: Number of rows of positive weight.
        n_effective: Rows of equal weight that would tell as much; the bands are for this number.
        findings: What speaks against calibration, the clearer cause first: "narrow" or "wide" intervals, "low" or
            "high" predictions, or "shape"; empty if nothing does.
        p_value: Chance that a calibrated forecast strays as far from reliability somewhere, or less.
        quantiles: Share of observations below each quantile.
        intervals: Share of observations within each central interval.
        pit_counts: Rows in each bin of the PIT histogram, those at atoms spread over several, shape (b,).
        pit_band: Lowest and highest count; all bars of a calibrated forecast stay inside with 95% chance.
        decomposition: The parts of the mean CRPS.
    """

    n: int
    n_effective: float
    findings: tuple[Finding, ...]
    p_value: float
    quantiles: Reliability = field(repr=False)
    intervals: Reliability = field(repr=False)
    pit_counts: FloatArray = field(repr=False)
    pit_band: tuple[float, float] = field(repr=False)
    decomposition: CrpsDecomposition = field(repr=False)

    @property
    def calibrated(self) -> bool:
        """Whether both reliability curves stay within their bands, as 95% of calibrated forecasts do."""
        return not self.findings

    @property
    def sentence(self) -> str:
        """The verdict in plain words."""
        return describe(self.findings, self.quantiles, self.intervals, self.n, self.p_value)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, words and lists, ready for JSON."""
        return {
            "n": self.n,
            "n_effective": self.n_effective,
            "calibrated": self.calibrated,
            "findings": list(self.findings),
            "sentence": self.sentence,
            "p_value": self.p_value,
            "crps_decomposition": self.decomposition.to_dict(),
            "quantiles": self.quantiles.to_dict(),
            "intervals": self.intervals.to_dict(),
            "pit_histogram": {"counts": self.pit_counts.tolist(), "band": list(self.pit_band)},
        }

    def plot_pit(self, ax: Axes | None = None) -> Axes:
        """Draw the PIT histogram with its band on an axis, or on a new one; returns the axis."""
        from genbayes.plotting import plot_pit  # Matplotlib loads only when a picture is asked for

        return plot_pit(self.pit_counts, self.pit_band, ax=ax)

    def plot_quantiles(self, ax: Axes | None = None) -> Axes:
        """Draw the reliability of the quantiles, as excess over the level, on an axis; returns the axis."""
        from genbayes.plotting import plot_reliability

        curve = self.quantiles
        return plot_reliability(curve.nominal, curve.share, curve.lower, curve.upper, ax=ax)

    def plot_intervals(self, ax: Axes | None = None) -> Axes:
        """Draw the coverage of central intervals over their level on an axis; returns the axis."""
        from genbayes.plotting import plot_calibration

        curve = self.intervals
        return plot_calibration(curve.nominal, curve.share, curve.lower, curve.upper, ax=ax)


def diagnose(
    predicted: PredictiveDistribution, y: ArrayLike, weight: ArrayLike | None = None, *, random_state: RandomState = 0
) -> Diagnostics:
    """Check predictive distributions against observations they have not seen.

    Everything follows from the probability integral transforms u = F(y), spread over the jump where y meets an atom
    (`metrics.pit_shares`), and from `decompose_crps`. Bands hold for independent rows.

    Args:
        predicted: One distribution a row, n rows.
        y: Observations, at least two, shape (n,).
        weight: How much each row counts, shape (n,); bands are then approximate, for (sum w)^2 / sum w^2 rows.
        random_state: Seed of the miscalibration to be expected by chance; nothing else is random.

    Returns:
        The diagnostics.

    Example:
        >>> from genbayes.distribution import Normal
        >>> y = np.random.default_rng(0).normal(size=500)
        >>> diagnose(Normal(np.zeros(500), 1.0), y).findings
        ()
        >>> print(diagnose(Normal(np.zeros(500), 0.6), y).sentence)
        The intervals are too narrow: intervals meant to hold 90% of the observations hold 65.6%. A calibrated model
        would look this bad less than 0.1% of the time.
    """
    rows = Observations.of(predicted, y, weight)
    n = max(1, round(rows.n_effective))
    lower, upper = _jump(rows.predicted, rows.y)
    spread = (lower, upper, rows.share, n)
    quantiles, intervals = quantile_reliability(*spread, rows.slack), interval_reliability(*spread, rows.slack)
    n_bins = count_bins(n)
    share = np.diff(np.r_[0.0, pit_shares(lower, upper, np.arange(1, n_bins) / n_bins, rows.share), 1.0])
    low, high = count_band(n, n_bins)
    scale = len(rows.y) / n  # counts are of rows, the band of rows of equal weight
    return Diagnostics(
        n=len(rows.y),
        n_effective=rows.n_effective,
        findings=find(quantiles, intervals, *spread),
        p_value=min(1.0, 2 * min(quantiles.p_value, intervals.p_value)),
        quantiles=quantiles,
        intervals=intervals,
        pit_counts=np.round(share * len(rows.y), 9),  # whole numbers where there are no atoms
        pit_band=(max(low - rows.slack, 0) * scale, (high + rows.slack) * scale),
        decomposition=decompose_crps(rows.predicted, rows.y, rows.share, random_state),
    )


def _jump(predicted: PredictiveDistribution, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """F(y-) and F(y), each (n,); equal but for rounding where the distribution has no atom at y."""
    upper = predicted.cdf(y)
    lower = 2 * predicted.pit(y) - upper  # pit is the middle of the jump
    return np.clip(lower, 0.0, upper), upper
