import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import isotonic_regression

from genbayes.diagnostics import CrpsDecomposition, decompose_crps
from genbayes.distribution import Empirical, Normal
from genbayes.errors import InvalidInput


def simulate(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Locations, scales and observations of n normal laws."""
    rng = np.random.default_rng(seed)
    loc, scale = rng.normal(size=n), np.exp(0.4 * rng.normal(size=n))
    return loc, scale, loc + scale * rng.normal(size=n)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 30), st.integers(0, 10**6), st.sampled_from([0.01, 0.5, 1.0, 10.0]), st.booleans())
def test_the_parts_add_up_and_none_is_negative(n: int, seed: int, scale: float, tied: bool) -> None:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n).round(0 if tied else 9)
    law = Empirical(rng.normal(size=(n, 5)).round(0)) if tied else Normal(rng.normal(size=n), scale)
    d = decompose_crps(law, y)
    assert d.miscalibration - d.discrimination + d.uncertainty == pytest.approx(d.crps, rel=1e-12, abs=1e-14)
    assert d.crps == pytest.approx(law.crps(y).mean())
    assert min(d.miscalibration, d.discrimination, d.uncertainty, d.by_chance) >= 0
    assert d.recalibrated <= min(d.crps, d.uncertainty) + 1e-12


def test_uncertainty_is_the_score_of_the_empirical_marginal() -> None:
    loc, scale, y = simulate(200)
    half_mean_difference = np.abs(y[:, None] - y).mean() / 2
    assert decompose_crps(Normal(loc, scale), y).uncertainty == pytest.approx(half_mean_difference, rel=1e-12)


def test_the_empirical_marginal_itself_is_calibrated_and_tells_nothing_apart() -> None:
    y = simulate(60)[2]
    d = decompose_crps(Empirical(np.tile(y, (60, 1))), y)
    assert (d.miscalibration, d.discrimination) == pytest.approx((0.0, 0.0), abs=1e-12)


def test_a_perfect_forecast_discriminates_everything() -> None:
    y = simulate(50)[2]
    d = decompose_crps(Normal(y, 0.0), y)
    assert (d.crps, d.miscalibration) == (0.0, 0.0)
    assert d.discrimination == d.uncertainty > 0


def test_the_true_law_is_hardly_miscalibrated() -> None:
    loc, scale, y = simulate(5000)
    d = decompose_crps(Normal(loc, scale), y)
    assert d.miscalibration < 0.025 * d.crps
    assert d.discrimination > 0.2 * d.crps


def test_luck_explains_the_miscalibration_of_a_true_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("genbayes.diagnostics.crps_decomposition.N_THRESHOLDS", 25)  # for speed
    parts = [decompose_crps(Normal(loc, scale), y) for loc, scale, y in (simulate(100, seed) for seed in range(30))]
    excess = np.array([d.miscalibration - d.by_chance for d in parts])
    assert abs(excess.mean()) < 3 * excess.std(ddof=1) / np.sqrt(30)  # false alarm 1 in 300
    assert np.mean([d.by_chance for d in parts]) > 0.05  # not nothing, in units of y with sd 1.5


@pytest.mark.parametrize("shift", [-1.5, 0.3, 2.0])
def test_a_shift_adds_to_miscalibration_what_it_adds_to_the_score(shift: float) -> None:
    loc, _, y = simulate(500)
    honest, shifted = (decompose_crps(Normal(loc + by, 1.0), y) for by in (0.0, shift))  # F(z) keeps its order
    assert shifted.discrimination == pytest.approx(honest.discrimination, rel=1e-9)
    assert shifted.miscalibration - honest.miscalibration == pytest.approx(shifted.crps - honest.crps, rel=1e-9)
    assert shifted.miscalibration > honest.miscalibration


def test_laws_too_narrow_lose_by_miscalibration_alone() -> None:
    loc, _, y = simulate(2000)
    honest, narrow = (decompose_crps(Normal(loc, scale), y) for scale in (1.1, 0.3))
    assert narrow.discrimination == pytest.approx(honest.discrimination, rel=0.01)
    assert narrow.miscalibration > honest.miscalibration + 0.03


def test_the_recalibrated_score_agrees_with_a_dense_integral_over_thresholds() -> None:
    loc, scale, y = simulate(80)
    law = Normal(loc, scale)
    z = y.min() + (np.arange(800) + 0.5) / 800 * (y.max() - y.min())
    F = law.cdf(z[None, :])
    brier = []
    for k, threshold in enumerate(z):
        outcome = (y <= threshold).astype(float)
        _, group, size = np.unique(F[:, k], return_inverse=True, return_counts=True)  # ties share one value
        pooled = np.bincount(group, outcome) / size
        fitted = isotonic_regression(pooled, sample_weight=size)[group]
        brier.append(np.mean((fitted - outcome) ** 2))
    dense = np.mean(brier) * (y.max() - y.min())
    assert decompose_crps(law, y).recalibrated == pytest.approx(dense, rel=0.03)


def test_weights_count_like_repeated_rows_and_the_order_of_the_rows_does_not_matter() -> None:
    loc, scale, y = simulate(40)
    twice = np.random.default_rng(1).permutation(np.r_[0, np.arange(40)])
    weighted = decompose_crps(Normal(loc, scale), y, weight=np.r_[2.0, np.ones(39)])
    repeated = decompose_crps(Normal(loc[twice], scale[twice]), y[twice])
    for name in ("crps", "miscalibration", "discrimination", "uncertainty"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), rel=1e-9)


def test_a_constant_response_leaves_only_miscalibration() -> None:
    d = decompose_crps(Normal(np.zeros(4), 1.0), np.ones(4))
    assert d == CrpsDecomposition(d.crps, d.crps, 0.0, 0.0, 0.0)


def test_ten_thousand_rows_take_at_most_two_seconds() -> None:
    loc, scale, y = simulate(10_000)
    start = time.process_time()
    decompose_crps(Normal(loc, scale), y)
    assert time.process_time() - start < 2


@pytest.mark.parametrize("y", [[0.0, 1e-300], [1e15, 1e15 + 0.125, 1e15 + 0.25], [0.0, 0.0, 1e12]])
def test_extreme_responses_give_finite_parts(y: list[float]) -> None:
    d = decompose_crps(Normal(np.zeros(len(y)), 1.0), y)
    assert np.isfinite(list(d.to_dict().values())).all()
    assert min(d.miscalibration, d.discrimination) >= 0


@pytest.mark.parametrize(
    ("y", "weight", "message"),
    [
        ([1.0], None, "y must have shape"),
        ([1.0, 2.0], [1.0, -1.0], "weight must be zero or positive, got 1 of 2 rows"),
        ([1.0, 2.0], [1.0, 0.0], "y must hold at least 2 rows of positive weight, got 1"),
        ([1.0, np.nan], None, "y must be finite"),
    ],
)
def test_rows_that_cannot_be_judged_are_refused(y: list[float], weight: list[float] | None, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        decompose_crps(Normal(np.zeros(2), 1.0), y, weight)
