"""From scores to a law: exact ends, order, the model's own shape in between and beyond."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from genbayes.conformal.recalibration import Recalibration, ScoreMap, interval_ranks, rows_needed, table_levels
from genbayes.distribution import Normal, QuantileFunction

NORMAL = ScoreMap.of(Normal([0.0, 100.0], [1.0, 5.0]), 1e-9)


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


@settings(max_examples=50)
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


def test_scores_of_a_calibrated_model_leave_its_law_as_it_was() -> None:
    law = law_of((normal_scores(199),), 0.9, [NORMAL])
    tau = np.array([0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999])
    np.testing.assert_allclose(law.ppf(tau), Normal([0.0, 100.0], [1.0, 5.0]).ppf(tau), rtol=0.01, atol=0.01)
    np.testing.assert_allclose(law.mean(), [0.0, 100.0], atol=0.01)
    np.testing.assert_allclose(law.std(), [1.0, 5.0], rtol=0.01)


@pytest.mark.parametrize("n", [50, 500, 5_000])
def test_a_calibrated_law_changes_less_the_more_rows_calibrate(n: int) -> None:
    t = np.sort(np.random.default_rng(1).standard_normal(n))
    tau = np.linspace(0.05, 0.95, 19)
    change = np.abs(law_of((t,), 0.8, [NORMAL]).ppf(tau)[0] - ndtri(tau)).max()
    # sd of an order statistic at tau: sqrt(tau (1 - tau) / n) / phi, at most 2.1 / sqrt(n); four of them
    assert change < 4 * 2.1 / np.sqrt(n)  # about 5 independent levels on either side: false alarm 1 in 1,600


def test_tails_are_the_model_s_own_stretched_as_its_body_was() -> None:
    law = law_of((3 * normal_scores(20) + 1,), 0.9, [NORMAL])
    far = np.array([0.0005, 0.002, 0.02, 0.98, 0.998])
    np.testing.assert_allclose(law.ppf(far)[0], 1 + 3 * ndtri(far), rtol=0.01)
    np.testing.assert_allclose(law.ppf(far)[1], 100 + 5 * (1 + 3 * ndtri(far)), rtol=0.01)


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


def test_many_rows_are_treated_as_each_alone() -> None:
    rng = np.random.default_rng(4)
    scores = tuple(np.sort(rng.standard_normal(4_000)) for _ in range(2))
    maps = [ScoreMap.of(Normal(rng.standard_normal(50), 1.0), 1e-9) for _ in range(2)]
    together = Recalibration(scores, 0.9).quantiles(maps)
    alone = Recalibration(scores, 0.9).quantiles([each.at(np.array([37])) for each in maps])
    np.testing.assert_array_equal(together[[37]], alone)


def test_equal_scores_make_a_point() -> None:
    q = Recalibration((np.zeros(19),), 0.9).quantiles([NORMAL])
    np.testing.assert_allclose(q, np.tile([[0.0], [100.0]], (1, q.shape[1])), rtol=1e-12, atol=1e-12)


def test_no_new_rows_give_no_laws() -> None:
    none = NORMAL.at(np.array([], dtype=int))
    assert Recalibration((normal_scores(19),), 0.9).quantiles([none]).shape == (0, len(table_levels(0.9)))
    assert Recalibration((normal_scores(9), normal_scores(10)), 0.9).quantiles([none, none]).shape[0] == 0
