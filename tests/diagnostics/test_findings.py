import numpy as np
import pytest
from scipy.stats import norm

from genbayes.diagnostics.findings import describe, find
from genbayes.diagnostics.reliability import interval_reliability, quantile_reliability


def judge(u: np.ndarray) -> tuple[tuple[str, ...], str]:
    """Findings and sentence for PIT values u."""
    n = len(u)
    spread = (u, u, np.full(n, 1 / n), n)
    quantiles, intervals = quantile_reliability(*spread), interval_reliability(*spread)
    findings = find(quantiles, intervals, *spread)
    p_value = min(1.0, 2 * min(quantiles.p_value, intervals.p_value))
    return findings, describe(findings, quantiles, intervals, n, p_value)


EVEN = (np.arange(500) + 0.5) / 500  # the most regular sample there is


@pytest.mark.parametrize(
    ("scale", "shift", "findings"),
    [
        (1.0, 0.0, ()),
        (0.7, 0.0, ("narrow",)),
        (1.5, 0.0, ("wide",)),
        (1.0, 0.4, ("low",)),
        (1.0, -0.4, ("high",)),
        (0.5, 0.3, ("narrow", "low")),
        (0.5, -1.0, ("high", "narrow")),
    ],
)
def test_normal_laws_of_wrong_spread_and_place_are_told_apart(
    scale: float, shift: float, findings: tuple[str, ...]
) -> None:
    assert judge(norm.cdf((norm.ppf(EVEN) + shift) / scale))[0] == findings


def test_laws_that_are_wrong_in_neither_mean_nor_spread_have_a_wrong_shape() -> None:
    side = np.where(EVEN < 0.5, -1.0, 1.0)  # two peaks at plus and minus 1: normal scores of mean 0 and spread 1
    score = side * (1.0 + 0.1 * norm.ppf(np.abs(2 * EVEN - 1)).clip(-2, 2))
    findings, sentence = judge(norm.cdf(score / score.std()))
    assert findings == ("shape",)
    assert sentence.startswith("The predicted distributions have the wrong shape: ")


def test_two_findings_make_one_sentence() -> None:
    sentence = judge(norm.cdf((norm.ppf(EVEN) + 0.3) / 0.5))[1]
    assert sentence.startswith("The intervals are too narrow and the predictions are too low: intervals meant to hold")
    assert ", and " in sentence
    assert "of the observations lie above the predicted median." in sentence


def test_observations_beyond_the_law_are_far_out_but_not_infinitely() -> None:
    findings, _ = judge(np.r_[np.zeros(60), EVEN[60:-60], np.ones(60)])
    assert findings == ("narrow",)
