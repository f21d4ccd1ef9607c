"""What is wrong with a forecast, if anything, as findings and in plain words.

Whether something is wrong the reliability curves decide. What it is, normal scores tell: under a calibrated forecast
w = Phi^-1(u) is standard normal; a biased one moves the mean of w, one too narrow or too wide changes its spread.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.diagnostics.reliability import BAND_LEVEL, Reliability

Finding = Literal["narrow", "wide", "low", "high", "shape"]

FARTHEST = 4.0  # normal scores beyond, infinite ones included, tell no more
PARTS = 5  # an atom is read at so many places of its jump
CLEAR = 2.0  # standard errors beyond which bias or spread is named as a cause
SLIGHT = 0.02  # of a share; with thousands of rows even this much shows, though it hardly matters
WIDE_BAND = 0.1  # half the width of the band at the median beyond which few rows are blamed


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
        >>> from genbayes.diagnostics.reliability import interval_reliability, quantile_reliability
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
    from scipy.special import ndtri

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
