"""Assessment: how good a model's predictive distributions are on rows with known responses, as numbers.

The scores of the paper's section 5.1 with their sampling error, the diagnostics of `diagnosis`, and what a page or
a terminal needs to show them. Drawing is left to `report`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.diagnostics.diagnosis import Diagnostics, diagnose
from genbayes.errors import InvalidInput
from genbayes.metrics import coverage, interval_width, rmse
from genbayes.models.protocols import Predicts
from genbayes.validation import check_targets

NOMINAL = np.arange(1, 20) / 20  # levels of the calibration curve: 5%, 10%, ..., 95%
CONSISTENT = 0.95  # chance that a calibrated model is called consistent


@dataclass(frozen=True)
class Assessment:
    """Scores of n predictive distributions against n observations; all in the unit of y unless they are shares.

    Attributes:
        n: Number of rows.
        crps: Mean continuous ranked probability score.
        crps_se: Its standard error, sd / sqrt(n).
        crps_reference: Mean score of a forecast that ignores the inputs: the distribution of the other y.
        rmse: Root mean squared error of the predictive mean.
        coverage_50: Share of observations within their central 50% interval.
        coverage_90: The same at 90%.
        width_50: Mean width of the 50% intervals.
        width_90: The same at 90%.
        nominal: Levels of the calibration curve, shape (j,).
        observed: Share of observations held at each level, shape (j,).
        pit: Probability integral transforms, shape (n,).
        y: Observations, shape (n,).
        median: Predictive medians, shape (n,).
        lower: Lower ends of the 90% intervals, shape (n,).
        upper: Upper ends, shape (n,).
        diagnostics: Calibration with simultaneous bands, and the parts of the CRPS.
    """

    n: int
    crps: float
    crps_se: float
    crps_reference: float
    rmse: float
    coverage_50: float
    coverage_90: float
    width_50: float
    width_90: float
    nominal: FloatArray = field(repr=False)
    observed: FloatArray = field(repr=False)
    pit: FloatArray = field(repr=False)
    y: FloatArray = field(repr=False)
    median: FloatArray = field(repr=False)
    lower: FloatArray = field(repr=False)
    upper: FloatArray = field(repr=False)
    diagnostics: Diagnostics = field(repr=False)

    @property
    def skill(self) -> float | None:
        """Share of the reference's score that the model saves: 1 is perfect, 0 useless; None for constant y."""
        return 1 - self.crps / self.crps_reference if self.crps_reference > 0 else None

    def to_dict(self) -> dict[str, Any]:
        """Scores, calibration curve, PIT counts and diagnostics as plain numbers and lists, ready for JSON; no rows."""
        low, high = expected_coverage(self.n, 0.9)
        return {
            "n": self.n,
            "crps": self.crps,
            "crps_se": self.crps_se,
            "crps_reference": self.crps_reference,
            "skill": self.skill,
            "rmse": self.rmse,
            "coverage_50": self.coverage_50,
            "coverage_90": self.coverage_90,
            "coverage_90_expected": [low, high],
            "width_50": self.width_50,
            "width_90": self.width_90,
            "calibration": {"nominal": self.nominal.tolist(), "observed": self.observed.tolist()},
            "pit_counts": [int(c) if c.is_integer() else c for c in self.diagnostics.pit_counts.tolist()],
            "diagnostics": self.diagnostics.to_dict(),
        }


def assess(model: Predicts, X: ArrayLike, y: ArrayLike) -> Assessment:
    """Score a model's predictive distributions on rows with known responses.

    Args:
        model: Any fitted model with `predict_distribution`.
        X: Inputs, shape (n, d), best of rows the model has not seen.
        y: Observations, at least two, shape (n,).

    Returns:
        The scores.

    Example:
        >>> from genbayes.distribution import Normal
        >>> from types import SimpleNamespace
        >>> bell = lambda X: Normal(loc=X[:, 0], scale=np.ones(len(X)))
        >>> X = np.arange(4.0).reshape(-1, 1)
        >>> assess(SimpleNamespace(predict_distribution=bell), X, [0.5, 1.0, 2.0, 5.0]).coverage_90
        0.75
    """
    predicted = model.predict_distribution(X)
    y = check_targets(y, len(predicted))
    n = len(y)
    if n < 2:
        raise InvalidInput(f"y must hold at least 2 rows to give a standard error, got {n}")
    score = predicted.crps(y)
    tail = (1 - NOMINAL) / 2
    ends = predicted.ppf(np.r_[tail, 1 - tail])
    lower, upper = ends[:, : len(NOMINAL)], ends[:, len(NOMINAL) :]
    held = (lower <= y[:, None]) & (y[:, None] <= upper)
    half, most = np.searchsorted(NOMINAL, [0.5, 0.9])  # NOMINAL holds both
    return Assessment(
        n=n,
        crps=float(score.mean()),
        crps_se=float(score.std(ddof=1) / math.sqrt(n)),
        crps_reference=_crps_without_inputs(y),
        rmse=rmse(predicted.mean(), y),
        coverage_50=coverage(lower[:, half], upper[:, half], y),
        coverage_90=coverage(lower[:, most], upper[:, most], y),
        width_50=interval_width(lower[:, half], upper[:, half]),
        width_90=interval_width(lower[:, most], upper[:, most]),
        nominal=NOMINAL.copy(),
        observed=held.mean(axis=0),
        pit=np.asarray(predicted.pit(y)),
        y=y,
        median=np.asarray(predicted.median()),
        lower=lower[:, most].copy(),
        upper=upper[:, most].copy(),
        diagnostics=diagnose(predicted, y),
    )


def expected_coverage(n: int, level: float) -> tuple[float, float]:
    """Central 95% range of the coverage of n independent intervals that truly hold with chance `level`.

    Quantiles of Binomial(n, level) / n; what lies outside is not explained by chance.

    Args:
        n: Number of intervals.
        level: Nominal coverage.

    Returns:
        Lowest and highest share in the range.

    Example:
        >>> expected_coverage(100, 0.9)
        (0.84, 0.95)
    """
    from scipy.stats import binom  # slow to import

    tail = (1 - CONSISTENT) / 2
    low, high = binom.ppf([tail, 1 - tail], n, level) / n
    return float(low), float(high)


def _crps_without_inputs(y: FloatArray) -> float:
    """Half the mean |y_i - y_j| over pairs i != j, by ranks: what each y scores under all others."""
    n = len(y)
    rank_weight = 2 * np.arange(1, n + 1) - n - 1
    return float((np.sort(y - y.mean()) * rank_weight).sum() / (n * (n - 1)))
