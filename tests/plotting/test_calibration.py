import numpy as np
import pytest
from scipy.stats import binom, norm

from genbayes.errors import InvalidInput
from genbayes.plotting import calibration_band, plot_calibration

NOMINAL = np.arange(1, 20) / 20


def coverage_curve(y: np.ndarray, scale: float) -> np.ndarray:
    """Coverage of central intervals of N(0, scale^2) at the levels NOMINAL."""
    half_width = scale * norm.ppf((1 + NOMINAL) / 2)
    return (np.abs(y)[:, None] <= half_width).mean(axis=0)


def test_the_band_shares_five_percent_among_the_levels() -> None:
    lower, upper = calibration_band(NOMINAL, 500)
    outside = binom.cdf(500 * lower - 1, 500, NOMINAL) + binom.sf(500 * upper, 500, NOMINAL)
    assert outside.sum() <= 0.05


def test_a_perfect_forecast_leaves_the_band_in_at_most_five_percent_of_all_samples() -> None:
    lower, upper = calibration_band(NOMINAL, 100)
    y = np.random.default_rng(3).normal(size=(400, 100))
    curves = np.array([coverage_curve(sample, scale=1.0) for sample in y])
    left = ((curves < lower) | (curves > upper)).any(axis=1)
    # Binomial(400, 0.05) exceeds 38 with chance below 1 in 4,000
    assert left.sum() <= 38


def test_a_perfect_forecast_has_no_orange_point() -> None:
    y = np.random.default_rng(0).normal(size=1_000)
    ax = plot_calibration(NOMINAL, coverage_curve(y, scale=1.0), 1_000)
    assert "outside" not in ax.get_legend_handles_labels()[1]


def test_an_overconfident_forecast_leaves_the_band_below() -> None:
    y = np.random.default_rng(0).normal(size=1_000)
    observed = coverage_curve(y, scale=0.7)
    ax = plot_calibration(NOMINAL, observed, 1_000)
    assert "outside" in ax.get_legend_handles_labels()[1]
    assert (observed < calibration_band(NOMINAL, 1_000)[0]).any()


@pytest.mark.parametrize("n", [1, 10, 20_000])
def test_the_band_holds_the_diagonal_at_any_n(n: int) -> None:
    lower, upper = calibration_band(NOMINAL, n)
    assert (lower <= NOMINAL).all()
    assert (upper >= NOMINAL).all()


def test_levels_in_percent_are_refused() -> None:
    with pytest.raises(InvalidInput, match="tau must lie strictly between 0 and 1"):
        plot_calibration([50, 90], [0.5, 0.9], 100)
