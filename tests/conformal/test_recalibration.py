"""Ranks and the coverage they give, scores that can be inverted, and distributions recalibrated by them."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from genbayes.conformal.recalibration import (
    NORMAL_SCORES,
    Recalibration,
    ScoreMap,
    cross_bound,
    highest_level,
    interval_ranks,
    least_slope,
    rows_needed,
    table_levels,
)
from genbayes.distribution import Empirical, Normal, PredictiveDistribution, QuantileFunction
from genbayes.errors import InvalidInput

PERCENT = st.integers(1, 99)
TAU = np.arange(1, 100) / 100
LAWS = {
    "normal": Normal([3.0], 2.0),
    "point": Normal([3.0], 0.0),
    "skewed": QuantileFunction(TAU, [-np.log1p(-TAU)]),
    "atom": QuantileFunction(TAU, [np.maximum(TAU - 0.5, 0)], support=(0, None)),
    "draws": Empirical([[1.0, 1.0, 2.0, 7.0]]),
}
NORMAL = ScoreMap.of(Normal([0.0, 100.0], [1.0, 5.0]), 1e-9)


@settings(deadline=None)
@given(st.integers(2, 3_000), PERCENT)
def test_the_gaps_of_an_interval_are_the_least_number_that_covers(n: int, percent: int) -> None:
    lower, upper = interval_ranks(n, percent / 100)
    assert upper - lower == math.ceil(Fraction(percent, 100) * (n + 1))
    assert 0 <= (n + 1 - upper) - lower <= 1  # what is left out is shared evenly
    assert (lower >= 1 and upper <= n) == (n >= rows_needed(percent / 100))  # else an end is infinite


@given(PERCENT)
def test_the_rows_needed_are_the_fewest_that_give_two_finite_ends(percent: int) -> None:
    n = rows_needed(percent / 100)
    assert n >= 2
    assert Fraction(percent, 100) <= Fraction(n - 1, n + 1)
    assert n == 2 or Fraction(percent, 100) > Fraction(n - 2, n)


@pytest.mark.parametrize(("n", "most"), [(6, 5 / 7), (19, 0.9), (20, 19 / 21), (1, 0.0), (0, 0.0)])
def test_the_highest_level_spans_all_scores(n: int, most: float) -> None:
    assert highest_level(n) == pytest.approx(most)


@pytest.mark.parametrize(("n", "K"), [(40, 5), (100, 10), (1000, 10), (1000, 100)])
def test_the_cross_bound_is_no_worse_than_the_square_root_form(n: int, K: int) -> None:
    alpha = 1 - np.subtract(*interval_ranks(n, 0.9)[::-1]) / (n + 1)
    square_root_form = 1 - 2 * alpha - 2 * math.sqrt(2 / n)  # corollary of theorem 4, twice
    assert max(square_root_form, 0) <= cross_bound(n, K, 0.9) <= 1 - 2 * alpha
    assert cross_bound(99, 99, 0.9) == pytest.approx(0.8)  # jackknife+, where each row is a fold


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3), st.floats(-8, 8))
def test_the_score_of_a_normal_law_is_the_standardised_response(loc: float, scale: float, s: float) -> None:
    maps = ScoreMap.of(Normal([loc], scale), least=1e-12 * scale)
    error = 1e-9 + 1e-15 * abs(loc) / scale * 10
    assert maps.score(np.array([loc + scale * s]))[0] == pytest.approx(s, abs=error)


def test_the_score_is_the_normal_score_of_the_probability() -> None:
    law = LAWS["skewed"]
    y = law.ppf(TAU[5:95])[0]
    scores = ScoreMap.of(law[np.zeros(len(y), dtype=int)], 1e-9).score(y)
    np.testing.assert_allclose(scores, ndtri(TAU[5:95]), atol=0.01)  # chords between levels a tenth of a score apart


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_scores_and_responses_rise_together_and_lead_back_to_each_other(law: PredictiveDistribution) -> None:
    y = np.linspace(-50, 50, 20_001)
    scores = ScoreMap.of(law[np.zeros(len(y), dtype=int)], 1e-6).score(y)
    responses = ScoreMap.of(law, 1e-6).response(np.linspace(-1e9, 1e9, 20_001))[0]
    for rising in (scores, responses):
        assert (np.diff(rising) > 0).all()
        assert np.isfinite(rising).all()
    y = np.random.default_rng(0).normal(0, 20, 500)
    maps = ScoreMap.of(law[np.zeros(500, dtype=int)], 1e-6)
    np.testing.assert_allclose(np.diag(maps.response(maps.score(y))), y, rtol=1e-13, atol=1e-13)


def test_rows_are_scored_by_their_own_distribution_a_point_mass_by_residuals_and_an_atom_not_too_steeply() -> None:
    maps = ScoreMap.of(Normal([0.0, 10.0, 20.0], [1.0, 2.0, 4.0]), 1e-9)
    np.testing.assert_allclose(maps.at(np.array([2, 0])).score(np.array([24.0, 2.0])), [1.0, 2.0], atol=1e-6)
    assert len(maps.at(slice(1, 3))) == 2
    points = ScoreMap.of(Normal([0.0, 1e6], 0.0), least=0.5)
    np.testing.assert_allclose(points.score(np.array([3.0, 1e6 + 3.0])), [6.0, 6.0])
    assert abs(ScoreMap.of(LAWS["atom"], least=1e-9).score(np.array([-0.5]))[0]) < 20  # it is half a unit wide


@given(st.floats(1e-100, 1e100), st.floats(-1, 1))
def test_the_least_slope_follows_the_unit_of_y(unit: float, x: float) -> None:
    y = np.array([-1.0, 1.0, x])
    assert least_slope(unit * y) == pytest.approx(unit * least_slope(y))


@pytest.mark.parametrize("y", [np.zeros(3), np.full(3, 1e12), np.array([1e12, 1e12 + 1e-3])])
def test_the_least_slope_tells_neighbouring_knots_apart_which_are_a_tenth_of_a_score_apart(y: np.ndarray) -> None:
    assert (np.diff(y[0] + least_slope(y) * NORMAL_SCORES) > 0).all()
    np.testing.assert_allclose(np.diff(NORMAL_SCORES), 0.1)
    assert abs(NORMAL_SCORES[len(NORMAL_SCORES) // 2]) < 1e-12  # the median is in the middle


def test_a_law_without_finite_quantiles_is_refused() -> None:
    class Broken(Normal):
        def _ppf(self, U):
            return np.full((1, U.shape[1]), np.nan)

    with pytest.raises(InvalidInput, match="the model's quantiles must be finite"):
        ScoreMap.of(Broken([0.0], 1.0), 1e-6)


def normal_scores(n: int) -> np.ndarray:
    return ndtri(np.arange(1, n + 1) / (n + 1))


def law_of(scores: tuple[np.ndarray, ...], level: float, maps: list[ScoreMap]) -> QuantileFunction:
    return QuantileFunction(table_levels(level), Recalibration(scores, level).quantiles(maps))


@given(st.floats(0.01, 0.9999))
def test_the_ends_of_the_interval_are_levels_of_the_table(level: float) -> None:
    levels = table_levels(level)
    tail = (1 - level) / 2
    assert {tail, 1 - tail} <= set(levels)
    assert (np.diff(levels) > 0).all()


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 400), st.integers(5, 99), st.integers(0, 2**32))
def test_interval_ends_are_order_statistics_and_quantiles_never_cross(n: int, percent: int, seed: int) -> None:
    level = percent / 100
    n = max(n, rows_needed(level))
    t = np.sort(np.random.default_rng(seed).standard_t(2, n))
    q = Recalibration((t,), level).quantiles([NORMAL])
    assert (np.diff(q, axis=1) >= 0).all()
    lower, upper = law_of((t,), level, [NORMAL]).interval(level)
    i, j = interval_ranks(n, level)
    np.testing.assert_allclose([lower[0], upper[0]], [t[i - 1], t[j - 1]], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose([lower[1], upper[1]], 100 + 5 * t[[i - 1, j - 1]], rtol=1e-7)


def test_scores_of_a_calibrated_model_leave_its_distribution_as_it_was_and_equal_ones_make_a_point() -> None:
    law, own = law_of((normal_scores(199),), 0.9, [NORMAL]), Normal([0.0, 100.0], [1.0, 5.0])
    tau = np.array([0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999])
    np.testing.assert_allclose(law.ppf(tau), own.ppf(tau), rtol=0.01, atol=0.01)
    np.testing.assert_allclose([law.mean(), law.std()], [own.mean(), own.std()], rtol=0.01, atol=0.01)
    q = Recalibration((np.zeros(19),), 0.9).quantiles([NORMAL])
    np.testing.assert_allclose(q, np.tile([[0.0], [100.0]], (1, q.shape[1])), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [50, 500, 5_000])
def test_a_calibrated_law_changes_less_the_more_rows_calibrate(n: int) -> None:
    t = np.sort(np.random.default_rng(1).standard_normal(n))
    tau = np.linspace(0.05, 0.95, 19)
    change = np.abs(law_of((t,), 0.8, [NORMAL]).ppf(tau)[0] - ndtri(tau)).max()
    # sd of an order statistic at tau: sqrt(tau (1 - tau) / n) / phi, at most 2.1 / sqrt(n); four of them
    assert change < 4 * 2.1 / np.sqrt(n)  # about 5 independent levels on either side: false alarm 1 in 1,600


def test_tails_are_the_model_s_own_stretched_as_its_body_was() -> None:
    far = np.array([0.0005, 0.002, 0.02, 0.98, 0.998])
    stretched = 1 + 3 * ndtri(far)
    q = law_of((3 * normal_scores(20) + 1,), 0.9, [NORMAL]).ppf(far)
    np.testing.assert_allclose(q, [stretched, 100 + 5 * stretched], rtol=0.01)


def test_several_models_that_agree_are_one_model() -> None:
    t = np.random.default_rng(2).standard_normal(60)
    together = Recalibration((np.sort(t),), 0.9).quantiles([NORMAL])
    apart = Recalibration(tuple(np.sort(part) for part in (t[:30], t[30:45], t[45:])), 0.9).quantiles([NORMAL] * 3)
    np.testing.assert_allclose(apart, together, rtol=1e-12, atol=1e-12)


def test_quantiles_of_several_models_are_order_statistics_of_what_rows_stand_for() -> None:
    rng = np.random.default_rng(3)
    scores = tuple(np.sort(rng.standard_normal(8)) for _ in range(3))
    loc, scale = rng.standard_normal((3, 5)), 1 + rng.random((3, 5))
    maps = [ScoreMap.of(Normal(loc[k], scale[k]), 1e-12) for k in range(3)]
    law = law_of(scores, 0.8, maps)
    v = np.sort(np.concatenate([loc[k][:, None] + scale[k][:, None] * scores[k] for k in range(3)], axis=1), axis=1)
    i, j = interval_ranks(24, 0.8)
    np.testing.assert_allclose(law.interval(0.8), [v[:, i - 1], v[:, j - 1]], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(law.median(), (v[:, 11] + v[:, 12]) / 2, atol=1e-9)


def test_many_rows_are_treated_as_each_alone_and_none_give_none() -> None:
    rng = np.random.default_rng(4)
    scores = tuple(np.sort(rng.standard_normal(4_000)) for _ in range(2))
    maps = [ScoreMap.of(Normal(rng.standard_normal(50), 1.0), 1e-9) for _ in range(2)]
    together = Recalibration(scores, 0.9).quantiles(maps)
    for rows in ([37], []):
        some = Recalibration(scores, 0.9).quantiles([each.at(np.array(rows, dtype=int)) for each in maps])
        np.testing.assert_array_equal(together[np.array(rows, dtype=int)], some)
    none = NORMAL.at(np.array([], dtype=int))
    assert Recalibration((normal_scores(19),), 0.9).quantiles([none]).shape == (0, len(table_levels(0.9)))
