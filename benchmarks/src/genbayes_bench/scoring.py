"""Every score of a predictive law on the test runs of a split; the protocol says which of them a table shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from genbayes.metrics import coverage, crps_normal, interval_width, rmse, rmspe
from genbayes_bench.problems.problem import Split

__all__ = ["LEVEL", "score"]

LEVEL = 0.9  # of intervals, as in the paper


def score(law: Any, split: Split) -> dict[str, float]:
    """Scores of one law a test run.

    "crps", "rmse", "coverage" and "width" against the observed responses, "rmspe" where all are of one sign; where
    the truth f is known, "rmse_f", "crps_f" and "coverage_f" against it; where the noise is known too, "ratio", the
    CRPS over that of the true law N(f, sd^2).

    Args:
        law: Predictive distribution of the test runs.
        split: Where the test runs come from.

    Returns:
        Means over the test runs.

    Example:
        >>> from genbayes import Normal
        >>> zero = np.zeros(2)
        >>> split = Split(zero[:, None], zero, zero[:, None], np.array([-1.0, 1.0]))
        >>> score(Normal(loc=zero, scale=np.ones(2)), split)["rmse"]
        1.0
    """
    mean, (lower, upper) = law.mean(), law.interval(LEVEL)
    y, f = split.y_test, split.f_test
    scores = {
        "crps": float(np.mean(law.crps(y))),
        "rmse": rmse(mean, y),
        "coverage": coverage(lower, upper, y),
        "width": interval_width(lower, upper),
    }
    if y.min() > 0 or y.max() < 0:  # a percentage of next to nothing says nothing
        scores["rmspe"] = rmspe(mean, y)
    if f is not None:
        scores["rmse_f"] = rmse(mean, f)
        scores["crps_f"] = float(np.mean(law.crps(f)))
        scores["coverage_f"] = coverage(lower, upper, f)
        if split.noise_sd is not None:
            truth = crps_normal(f, np.full(len(f), split.noise_sd), y)
            scores["ratio"] = scores["crps"] / float(np.mean(truth))
    return scores
