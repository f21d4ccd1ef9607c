"""Is a model calibrated, and what is wrong: observations, reliability with its bands, findings in words."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from genbayes.diagnostics import Diagnostics, diagnose
from genbayes.diagnostics.crps_decomposition import CrpsDecomposition, Observations
from genbayes.diagnostics.diagnosis import describe, find, interval_reliability, quantile_reliability
from genbayes.distribution import Empirical, Mixture, Normal
from genbayes.errors import InvalidInput
from genbayes.metrics import share_band

TAU, LEVELS = np.arange(1, 100) / 100, np.arange(1, 50) / 50
EVEN = (np.arange(500) + 0.5) / 500  # the most regular sample there is


def test_weights_become_shares_and_rows_are_sorted_together() -> None:
    rows = Observations.of(Normal(np.zeros(3), 1.0), [3.0, 1.0, 2.0], [1e308, 1e308, 2e307])
    np.testing.assert_allclose(rows.share, np.array([5, 5, 1]) / 11)
    rows = Observations.of(Normal([3.0, 1.0, 2.0], 1.0), [3.0, 1.0, 2.0], [3.0, 1.0, 2.0]).sorted()
    assert rows.y.tolist() == rows.predicted.mean().tolist() == (6 * rows.share).round(9).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(("weight", "n_effective", "slack"), [([2, 2, 2], 3.0, 0), ([1, 1, 2], 16 / 6, 1)])
def test_unequal_weights_count_for_fewer_rows(weight: list[float], n_effective: float, slack: int) -> None:
    rows = Observations.of(Normal(np.zeros(3), 1.0), np.zeros(3), weight)
    assert (rows.n_effective, rows.slack) == (pytest.approx(n_effective), slack)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, -2.0, 1.0], "weight must be zero or positive"),
        ([0.0, 0.0, 1.0], "y must hold at least 2 rows of positive"),
    ],
)
def test_weights_that_leave_nothing_to_judge_are_refused(weight: list[float], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Observations.of(Normal(np.zeros(3), 1.0), np.zeros(3), weight)


def curves(u: np.ndarray) -> tuple:
    weight = np.full(len(u), 1 / len(u))
    return quantile_reliability(u, u, weight, len(u)), interval_reliability(u, u, weight, len(u))


@pytest.mark.parametrize("n", [30, 1000])
def test_a_calibrated_forecast_leaves_one_of_both_bands_in_about_five_percent_of_samples(n: int) -> None:
    u = np.random.default_rng(0).uniform(size=n)
    quantiles, intervals = curves(u)
    below = np.random.default_rng(1).multinomial(n, [0.01] * 100, size=10_000).cumsum(axis=1)[:, :-1] / n
    j = np.arange(1, 50)
    held = below[:, 49 + j] - below[:, 49 - j]
    left = np.zeros(10_000, dtype=bool)
    for share, curve in ((below, quantiles), (held, intervals)):
        left |= ((share < curve.lower - 1e-9) | (share > curve.upper + 1e-9)).any(axis=1)
    # each band is left in 2.5%; standard error of 10,000 samples 0.0022
    assert 0.04 - 3 * 0.0022 < left.mean() < 0.05 + 3 * 0.0022


def test_each_band_takes_half_of_the_five_percent() -> None:
    quantiles, intervals = curves(np.random.default_rng(0).uniform(size=100))
    np.testing.assert_allclose(quantiles.lower, share_band(TAU, 100, 0.975)[0])
    np.testing.assert_allclose(intervals.upper, share_band(LEVELS, 100, 0.975)[1])


def test_the_ends_of_the_interval_of_level_90_are_the_quantiles_at_5_and_95() -> None:
    u = np.random.default_rng(0).uniform(size=200)
    intervals = curves(u)[1]
    assert intervals.nominal[44] == 0.9
    assert intervals.share[44] == pytest.approx(((u > 0.05) & (u <= 0.95)).mean())


def test_the_preferred_level_is_shown_where_it_lies_outside_otherwise_the_one_farthest_out() -> None:
    quantiles, intervals = curves(np.full(100, 0.99))
    assert quantiles.nominal[quantiles.worst(0.5)] == 0.5
    assert intervals.nominal[intervals.worst(0.9)] == 0.9
    quantiles, _ = curves(np.r_[np.full(40, 0.001), EVEN[40:]])  # only the lowest tail is wrong
    assert quantiles.outside.any()
    assert quantiles.nominal[quantiles.worst(0.5)] < 0.1


def test_slack_widens_the_band_by_rows_and_does_not_hide_intervals_that_are_far_too_wide() -> None:
    u = np.random.default_rng(0).uniform(size=50)
    tight, loose = (quantile_reliability(u, u, np.full(50, 0.02), 50, slack) for slack in (0, 1))
    np.testing.assert_allclose(loose.upper, np.minimum(tight.upper + 0.02, 1))
    assert loose.p_value >= tight.p_value
    u = (np.arange(200) + 0.5) / 400 + 0.25  # all within the middle half
    assert interval_reliability(u, u, np.ones(200), 200, slack=5).p_value < 1e-6


def judge(u: np.ndarray) -> tuple[tuple[str, ...], str]:
    """Findings and sentence for PIT values u."""
    n = len(u)
    spread = (u, u, np.full(n, 1 / n), n)
    quantiles, intervals = quantile_reliability(*spread), interval_reliability(*spread)
    findings = find(quantiles, intervals, *spread)
    p_value = min(1.0, 2 * min(quantiles.p_value, intervals.p_value))
    return findings, describe(findings, quantiles, intervals, n, p_value)


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
def test_normal_laws_of_wrong_spread_and_place_are_told_apart(scale: float, shift: float, findings) -> None:
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
    assert judge(np.r_[np.zeros(60), EVEN[60:-60], np.ones(60)])[0] == ("narrow",)


@pytest.fixture
def without_decomposition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the time of the decomposition where many samples are judged."""
    nothing = CrpsDecomposition(0.0, 0.0, 0.0, 0.0, 0.0)
    monkeypatch.setattr("genbayes.diagnostics.diagnosis.decompose_crps", lambda *_: nothing)


def check(n: int, *, scale: float = 1.0, shift: float = 0.0, seed: int = 0, **options: Any) -> Diagnostics:
    """Laws N(0, scale^2) against observations from N(shift, 1)."""
    y = np.random.default_rng(seed).normal(loc=shift, size=n)
    return diagnose(Normal(np.zeros(n), scale), y, **options)


def share_judged(n: int, n_samples: int, **options: Any) -> float:
    """Share of samples in which something speaks against calibration."""
    return float(np.mean([not check(n, seed=100 + i, **options).calibrated for i in range(n_samples)]))


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 1000])
def test_the_true_law_is_suspected_in_about_five_percent_of_samples(n: int, without_decomposition: None) -> None:
    # at most 0.05 by construction, 0.045 since the two curves are related; standard error with 2,000 samples 0.005
    assert 0.045 - 3 * 0.005 < share_judged(n, 2000) < 0.05 + 3 * 0.005


def test_the_true_law_is_rarely_suspected(without_decomposition: None) -> None:
    assert share_judged(30, 100) <= 0.13  # Binomial(100, 0.05) exceeds 13 with chance 1 in 2,000


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 300])
def test_unequal_weights_cause_no_more_false_alarms(n: int, without_decomposition: None) -> None:
    weight = np.random.default_rng(1).exponential(size=n)
    assert share_judged(n, 1000, weight=weight) < 0.05 + 3 * 0.007


@pytest.mark.parametrize(
    ("scale", "shift", "finding"), [(0.6, 0.0, "narrow"), (1.8, 0.0, "wide"), (1.0, 0.5, "low"), (1.0, -0.5, "high")]
)
def test_what_is_wrong_is_found_with_two_hundred_rows(scale, shift, finding: str, without_decomposition: None) -> None:
    found = [check(200, scale=scale, shift=shift, seed=seed).findings for seed in range(20)]
    assert [findings[0] for findings in found if findings] == [finding] * 20


@pytest.mark.parametrize(
    ("scale", "shift", "findings"),
    [
        (0.5, 0.3, ("narrow", "low")),  # both are named, the clearer first
        (0.8, -1.0, ("high", "narrow")),
        (1.0, 4.0, ("low",)),  # a gross bias is not taken for narrow intervals
        (1.0, 100.0, ("low",)),
    ],
)
def test_causes_are_told_apart_with_a_thousand_rows(scale, shift, findings, without_decomposition: None) -> None:
    assert check(1000, scale=scale, shift=shift).findings == findings


def test_a_wrong_shape_is_found(without_decomposition: None) -> None:
    y = np.random.default_rng(0).choice([-1.0, 1.0], size=1000) + 0.1 * np.random.default_rng(1).normal(size=1000)
    # right mean, about the right spread of normal scores, nothing in the middle
    found = diagnose(Normal(np.zeros(1000), 1.1), y)
    assert not found.calibrated
    assert found.p_value < 1e-6


def test_nothing_is_said_against_calibration_without_reason_and_few_rows_are_no_proof() -> None:
    assert check(1000).sentence == ("No sign of miscalibration in 1,000 rows.")
    found = check(25)
    assert "With so few rows, large errors could go unnoticed: anything from" in found.sentence
    assert found.calibrated


@pytest.mark.parametrize(
    ("options", "start"),
    [
        ({"scale": 0.5}, "The intervals are too narrow: intervals meant to hold 90% of the observations hold 6"),
        ({"scale": 2.0}, "The intervals are too wide: intervals meant to hold 90% of the observations hold 9"),
        ({"shift": 0.5}, "The predictions are too low: 6"),
        ({"shift": -0.5}, "The predictions are too high: "),
    ],
)
def test_the_sentence_says_what_is_wrong_and_shows_it(options: dict[str, float], start: str) -> None:
    sentence = check(1000, **options).sentence
    assert sentence.startswith(start)
    assert sentence.endswith("A calibrated model would look this bad less than 0.1% of the time.")


def test_a_small_but_certain_deviation_is_called_slight(without_decomposition: None) -> None:
    assert check(50_000, shift=0.03).sentence.startswith("The predictions are slightly too low: 5")


def test_a_doubtful_verdict_gives_its_chance(without_decomposition: None) -> None:
    doubtful = [found for found in (check(60, scale=0.8, seed=s) for s in range(60)) if 0.001 < found.p_value < 0.05]
    assert doubtful
    assert all(" bad about " in found.sentence for found in doubtful)


def test_atoms_cause_no_false_alarm(without_decomposition: None) -> None:
    rng = np.random.default_rng(0)
    dry = rng.uniform(size=2000) < 0.4
    y = np.where(dry, 0.0, rng.normal(5.0, 1.0, size=2000))
    parts = [Normal(np.zeros(2000), 0.0), Normal(np.full(2000, 5.0), 1.0)]
    found, wrong = (diagnose(Mixture(parts, weights=weights), y) for weights in ([0.4, 0.6], [0.6, 0.4]))
    assert found.calibrated
    low, high = found.pit_band
    assert ((found.pit_counts >= low) & (found.pit_counts <= high)).all()
    assert not wrong.calibrated


def test_the_pit_histogram_counts_and_reliability_is_the_share_below_quantiles_and_within_intervals() -> None:
    y = np.random.default_rng(0).normal(size=300)
    law = Normal(np.zeros(300), 0.8)
    found = diagnose(law, y)
    expected = np.histogram(law.pit(y), bins=len(found.pit_counts), range=(0, 1))[0]
    assert found.pit_counts.tolist() == expected.tolist()
    tau, level = found.quantiles.nominal, found.intervals.nominal
    np.testing.assert_allclose(found.quantiles.share, (y[:, None] <= law.ppf(tau)).mean(axis=0), atol=1e-12)
    held = [np.mean((law.interval(v)[0] < y) & (y <= law.interval(v)[1])) for v in level]
    np.testing.assert_allclose(found.intervals.share, held, atol=1e-12)


def test_equal_weights_change_nothing() -> None:
    plain, weighted = check(200, scale=0.7), check(200, scale=0.7, weight=np.full(200, 3.5))
    assert weighted.sentence == plain.sentence
    np.testing.assert_allclose(weighted.quantiles.lower, plain.quantiles.lower)


def test_rows_of_weight_zero_are_not_there() -> None:
    y = np.random.default_rng(0).normal(size=60)
    with_outliers = diagnose(Normal(np.zeros(80), 1.0), np.r_[y, np.full(20, 99.0)], np.r_[np.ones(60), np.zeros(20)])
    assert with_outliers.to_dict() == diagnose(Normal(np.zeros(60), 1.0), y).to_dict()


def test_unequal_weights_tell_less() -> None:
    weight = np.r_[np.full(100, 10.0), np.ones(900)]
    found = check(1000, weight=weight)
    assert found.n == 1000
    assert found.n_effective == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    unequal, equal = ((each.upper - each.lower)[49] for each in (found.quantiles, check(1000).quantiles))
    assert unequal > 1.3 * equal


def test_the_same_rows_give_the_same_diagnostics() -> None:
    law = Empirical(np.random.default_rng(1).normal(size=(40, 20)))
    y = np.random.default_rng(2).normal(size=40)
    assert diagnose(law, y).to_dict() == diagnose(law, y).to_dict()


@pytest.mark.parametrize("n", [2, 3, 50])
def test_the_dictionary_is_plain_json(n: int) -> None:
    found = check(n).to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert set(found) >= {"calibrated", "findings", "sentence", "p_value", "crps_decomposition", "quantiles"}


def test_the_pictures_show_the_curves() -> None:
    found = check(100)
    assert found.plot_pit().get_ylabel() == "rows"
    error = found.quantiles.share - found.quantiles.nominal
    np.testing.assert_allclose(found.plot_quantiles().lines[1].get_ydata()[1:-1], error)
    np.testing.assert_allclose(found.plot_intervals().lines[1].get_ydata()[1:-1], found.intervals.share)


def test_a_hundred_thousand_rows_have_a_band_too(without_decomposition: None) -> None:
    found = check(100_000)
    assert (found.quantiles.upper - found.quantiles.lower)[49] < 0.012


@pytest.mark.parametrize("y", [[1.0], [np.nan, 1.0]])
def test_rows_that_cannot_be_judged_are_refused(y: list[float]) -> None:
    with pytest.raises(InvalidInput, match="y must"):
        diagnose(Normal(np.zeros(len(y)), 1.0), y)


def test_a_bar_outside_its_band_is_told_though_the_curves_are_fine() -> None:
    """The page shows the bar in orange: the words beside it must not contradict the picture."""
    found = diagnose(Normal(np.zeros(500), 1.0), norm.ppf(EVEN))
    assert found.sentence == "No sign of miscalibration in 500 rows."
    counts = found.pit_counts.copy()
    counts[3], counts[4] = counts[3] - counts[3], counts[4] + counts[3]
    strayed = replace(found, pit_counts=counts, pit_band=(1.0, counts[4]))
    assert strayed.calibrated
    assert strayed.sentence == (
        f"No sign of miscalibration in 500 rows. But 1 of {len(counts)} bars of the PIT histogram lies outside its "
        "band, as happens to 5% of calibrated models."
    )
