import numpy as np
import pytest

from genbayes.diagnostics.reliability import interval_reliability, quantile_reliability
from genbayes.metrics import share_band

TAU, LEVELS = np.arange(1, 100) / 100, np.arange(1, 50) / 50


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


def test_the_preferred_level_is_shown_where_it_lies_outside() -> None:
    quantiles, intervals = curves(np.full(100, 0.99))
    assert quantiles.nominal[quantiles.worst(0.5)] == 0.5
    assert intervals.nominal[intervals.worst(0.9)] == 0.9


def test_otherwise_the_level_farthest_out_is_shown() -> None:
    u = (np.arange(400) + 0.5) / 400
    u[:40] = 0.001  # only the lowest tail is wrong
    quantiles = curves(u)[0]
    assert quantiles.outside.any()
    assert quantiles.nominal[quantiles.worst(0.5)] < 0.1


def test_slack_widens_the_band_by_rows() -> None:
    u = np.random.default_rng(0).uniform(size=50)
    weight = np.full(50, 0.02)
    tight, loose = (quantile_reliability(u, u, weight, 50, slack) for slack in (0, 1))
    np.testing.assert_allclose(loose.upper, np.minimum(tight.upper + 0.02, 1))
    assert loose.p_value >= tight.p_value
