"""Whether predictive distributions keep their promises on given rows, and what is wrong if they do not.

Two reliability curves look at the same probability integral transforms u: the share of u below tau shows bias, the
share of |2u - 1| below a level, the coverage of central intervals, shows intervals too narrow or too wide. Each gets
half of the allowed 5%, so that a calibrated forecast stays inside both bands with at least 95% chance. What is wrong,
normal scores tell: under a calibrated forecast w = Phi^-1(u) is standard normal; a biased one moves the mean of w, one
too narrow or too wide changes its spread. `decomposition` splits the CRPS, which the paper leaves open (section 7).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from genbayes.arrays import BoolArray, FloatArray
from genbayes.diagnostics.crps_decomposition import CrpsDecomposition, Observations, decompose_crps
from genbayes.distribution import PredictiveDistribution
from genbayes.metrics import count_band, count_bins, pit_shares, share_band, share_p_value
from genbayes.seeding import RandomState

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Finding = Literal["narrow", "wide", "low", "high", "shape"]

FARTHEST = 4.0  # normal scores beyond, infinite ones included, tell no more
PARTS = 5  # an atom is read at so many places of its jump
CLEAR = 2.0  # standard errors beyond which bias or spread is named as a cause
SLIGHT = 0.02  # of a share; with thousands of rows even this much shows, though it hardly matters
WIDE_BAND = 0.1  # half the width of the band at the median beyond which few rows are blamed
BAND_LEVEL = 0.95  # that both curves stay inside together
TAU = np.arange(1, 100) / 100
ROUNDING = 1e-9  # of a share
LEVELS = np.arange(1, 50) / 50  # of the intervals whose ends are quantiles at TAU


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
        """The verdict in plain words; where only the histogram strays, it says so, as the picture shows it."""
        verdict = describe(self.findings, self.quantiles, self.intervals, self.n, self.p_value)
        low, high = self.pit_band
        n_out = int(((self.pit_counts < low) | (self.pit_counts > high)).sum())
        if self.findings or not n_out:
            return verdict
        lie = "lies outside its band" if n_out == 1 else "lie outside their bands"
        bars = f"{n_out} of {len(self.pit_counts)} bars of the PIT histogram {lie}"
        return f"{verdict} But {bars}, as happens to 5% of calibrated models."

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


@dataclass(frozen=True)
class Reliability:
    """Observed shares at nominal levels, and the simultaneous band of a calibrated forecast.

    Attributes:
        nominal: Levels, shape (m,).
        share: Share of observations at each level, shape (m,).
        lower: Lowest share that chance allows, shape (m,).
        upper: Highest share that chance allows, shape (m,).
        p_value: Chance that a calibrated forecast strays as far somewhere.
    """

    nominal: FloatArray = field(repr=False)
    share: FloatArray = field(repr=False)
    lower: FloatArray = field(repr=False)
    upper: FloatArray = field(repr=False)
    p_value: float

    @property
    def outside(self) -> BoolArray:
        """Where the share leaves the band, shape (m,)."""
        return (self.share < self.lower - ROUNDING) | (self.share > self.upper + ROUNDING)

    @property
    def departure(self) -> float:
        """Mean of share - nominal over the levels."""
        return float(np.mean(self.share - self.nominal))

    def worst(self, preferred: float) -> int:
        """Place of the preferred level if it lies outside, otherwise of the level farthest out for its band."""
        place = int(np.argmin(np.abs(self.nominal - preferred)))
        room = np.where(self.share > self.nominal, self.upper - self.nominal, self.nominal - self.lower)
        strain = np.abs(self.share - self.nominal) / np.maximum(room, ROUNDING)
        return place if self.outside[place] else int(np.argmax(strain))

    def to_dict(self) -> dict[str, list[float]]:
        """The curve as plain lists, ready for JSON."""
        return {name: getattr(self, name).tolist() for name in ("nominal", "share", "lower", "upper")}


def quantile_reliability(
    lower: FloatArray, upper: FloatArray, weight: FloatArray, n: int, slack: int = 0
) -> Reliability:
    """Share of observations below their quantiles at tau = 0.01, ..., 0.99.

    Args:
        lower: F(y-) of each observation, shape (n,).
        upper: F(y), shape (n,).
        weight: How much each observation counts, shape (n,).
        n: Number of independent observations that the band is for.
        slack: Observations by which the band is widened on either side.

    Example:
        >>> u = (np.arange(200) + 0.5) / 200
        >>> curve = quantile_reliability(u, u, np.ones(200), 200)
        >>> bool(curve.outside.any()), curve.share[24].item()
        (False, 0.25)
    """
    return _judge(TAU, pit_shares(lower, upper, TAU, weight), n, slack)


def interval_reliability(
    lower: FloatArray, upper: FloatArray, weight: FloatArray, n: int, slack: int = 0
) -> Reliability:
    """Share of observations within their central intervals at levels 0.02, 0.04, ..., 0.98; arguments as above.

    Example:
        >>> u = (np.arange(200) + 0.5) / 400 + 0.25  # all within the middle half
        >>> interval_reliability(u, u, np.ones(200), 200).share[[24, 44]]  # at 50% and 90%
        array([1., 1.])
    """
    below = pit_shares(lower, upper, TAU, weight)
    middle = len(TAU) // 2  # tau = 0.5; the interval of level j / 50 reaches j places to either side
    j = np.arange(1, middle + 1)
    return _judge(LEVELS, below[middle + j] - below[middle - j], n, slack)


def _judge(nominal: FloatArray, share: FloatArray, n: int, slack: int) -> Reliability:
    lower, upper = share_band(nominal, n, (1 + BAND_LEVEL) / 2)
    lower, upper = np.maximum(lower - slack / n, 0.0), np.minimum(upper + slack / n, 1.0)
    excess = share - nominal
    nearer = nominal + np.sign(excess) * np.maximum(np.abs(excess) - slack / n, 0.0)
    return Reliability(nominal.copy(), share, lower, upper, share_p_value(nearer, nominal, n))


def find(
    quantiles: Reliability, intervals: Reliability, lower: FloatArray, upper: FloatArray, weight: FloatArray, n: int
) -> tuple[Finding, ...]:
    """What speaks against calibration, the clearer cause first; empty if nothing does.

    Args:
        quantiles: Reliability of the quantiles.
        intervals: Reliability of the central intervals.
        lower: F(y-) of each observation, shape (n,).
        upper: F(y), shape (n,).
        weight: Weights that sum to 1, shape (n,).
        n: Number of independent observations.

    Example:
        >>> u, w = np.linspace(0.3, 0.7, 100), np.full(100, 0.01)
        >>> find(quantile_reliability(u, u, w, 100), interval_reliability(u, u, w, 100), u, u, w, 100)
        ('wide',)
    """
    if not (quantiles.outside.any() or intervals.outside.any()):
        return ()
    bias, spread = _causes(lower, upper, weight, n)
    causes: list[tuple[float, Finding]] = []
    if abs(bias) > CLEAR and bias * quantiles.departure < 0:  # high scores: fewer observations below each quantile
        causes.append((abs(bias), "low" if bias > 0 else "high"))
    if abs(spread) > CLEAR and spread * intervals.departure < 0:
        causes.append((abs(spread), "narrow" if spread > 0 else "wide"))
    return tuple(finding for _, finding in sorted(causes, reverse=True)) or ("shape",)


def _causes(lower: FloatArray, upper: FloatArray, weight: FloatArray, n: int) -> tuple[float, float]:
    """Mean of the normal scores and their standard deviation minus 1, in standard errors (given the spread found)."""
    part = (np.arange(PARTS) + 0.5) / PARTS
    u = lower[:, None] + (upper - lower)[:, None] * part
    score = np.clip(ndtri(u), -FARTHEST, FARTHEST)
    mean = float(weight @ score.mean(axis=1))
    deviation = math.sqrt(float(weight @ ((score - mean) ** 2).mean(axis=1)))
    return mean / max(deviation, 1.0) * math.sqrt(n), (deviation - 1) * math.sqrt(2 * n)


def describe(
    findings: tuple[Finding, ...], quantiles: Reliability, intervals: Reliability, n_rows: int, p_value: float
) -> str:
    """The findings in one or two sentences, with a number that shows them.

    Example:
        >>> curve = Reliability(np.array([0.5]), np.array([0.5]), np.array([0.45]), np.array([0.55]), 1.0)
        >>> describe((), curve, curve, 500, 1.0)
        'No sign of miscalibration in 500 rows.'
    """
    if not findings:
        return _describe_nothing(quantiles, n_rows)
    what, why = [], []
    for finding in findings:
        curve, preferred = (intervals, 0.9) if finding in ("narrow", "wide") else (quantiles, 0.5)
        if finding == "shape" and not quantiles.outside.any():
            curve = intervals
        k = curve.worst(preferred)
        nominal, share = float(curve.nominal[k]), float(curve.share[k])
        slightly = "slightly " if abs(share - nominal) < SLIGHT else ""
        why.append(_evidence(nominal, share, of_intervals=curve is intervals))
        if finding == "shape":
            what.append(f"the predicted distributions have {'a slightly' if slightly else 'the'} wrong shape")
        else:
            subject = "the intervals are" if finding in ("narrow", "wide") else "the predictions are"
            what.append(f"{subject} {slightly}too {finding}")
    assert p_value <= 1 - BAND_LEVEL + SLIGHT
    chance = "less than 0.1%" if p_value < 0.001 else f"about {100 * p_value:.2g}%"
    sentence = (
        f"{' and '.join(what)}: {', and '.join(why)}. A calibrated model would look this bad {chance} of the time."
    )
    return sentence[0].upper() + sentence[1:]


def _describe_nothing(quantiles: Reliability, n_rows: int) -> str:
    sentence = f"No sign of miscalibration in {n_rows:,} rows."
    middle = int(np.argmin(np.abs(quantiles.nominal - 0.5)))
    low, high = quantiles.lower[middle], quantiles.upper[middle]
    if high - low <= 2 * WIDE_BAND:
        return sentence
    return (
        f"{sentence} With so few rows, large errors could go unnoticed: anything from {_percent(low)} to "
        f"{_percent(high)} of the observations below the predicted median would pass."
    )


def _evidence(nominal: float, share: float, of_intervals: bool) -> str:
    if of_intervals:
        return f"intervals meant to hold {_percent(nominal)} of the observations hold {_percent(share)}"
    if nominal == 0.5:
        side, share = ("below", share) if share > 0.5 else ("above", 1 - share)
        return f"{_percent(share)} of the observations lie {side} the predicted median"
    return f"{_percent(share)} of the observations lie below the predicted {_percent(nominal)} quantile"


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"
