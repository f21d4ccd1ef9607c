"""Reliability curves: how often predicted quantiles and intervals keep their promise, with the band of chance.

Two curves look at the same probability integral transforms u: the share of u below tau shows bias, the share of
|2u - 1| below a level, the coverage of central intervals, shows intervals too narrow or too wide. Each gets half of the
allowed 5%, so that a calibrated forecast stays inside both bands with at least 95% chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from genbayes.arrays import BoolArray, FloatArray
from genbayes.metrics import pit_shares, share_band, share_p_value

BAND_LEVEL = 0.95  # that both curves stay inside together
TAU = np.arange(1, 100) / 100
ROUNDING = 1e-9  # of a share
LEVELS = np.arange(1, 50) / 50  # of the intervals whose ends are quantiles at TAU


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
