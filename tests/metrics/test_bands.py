import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, multinomial

from genbayes.errors import InvalidInput
from genbayes.metrics import count_band, share_band, share_p_value
from genbayes.metrics.bands import _chance_of_path, _share_gamma

TAU = np.arange(1, 100) / 100
FEW = np.array([0.1, 0.25, 0.5, 0.8])


def shares(u: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Share below each level in each row of u, (r, n) -> (r, m)."""
    return np.array([np.searchsorted(np.sort(row), tau, side="right") for row in u]) / u.shape[1]


@pytest.mark.parametrize("n", [30, 1000])
def test_uniform_values_leave_the_band_in_about_five_percent_of_samples(n: int) -> None:
    lower, upper = share_band(TAU, n)
    observed = shares(np.random.default_rng(1).uniform(size=(4000, n)), TAU)
    left = ((observed < lower) | (observed > upper)).any(axis=1).mean()
    # standard error of 4,000 samples: 0.0034; discrete counts cost at most half a percent; false alarm 1 in 370
    assert 0.045 - 3 * 0.0034 < left < 0.05 + 3 * 0.0034


@pytest.mark.parametrize(("n", "n_bins"), [(30, 6), (1000, 20)])
def test_all_bars_of_uniform_values_stay_inside_in_95_percent_of_samples(n: int, n_bins: int) -> None:
    low, high = count_band(n, n_bins)
    counts = np.random.default_rng(2).multinomial(n, [1 / n_bins] * n_bins, size=4000)
    left = ((counts < low) | (counts > high)).any(axis=1).mean()
    assert 0.03 < left < 0.05 + 3 * 0.0034  # one count more or less changes the chance by up to 2 percent


def test_one_level_is_a_binomial_interval() -> None:
    assert np.ravel(share_band([0.9], 100)).tolist() == [0.84, 0.95]
    assert 0.95 <= binom(100, 0.9).cdf(95) - binom(100, 0.9).cdf(83) < 0.97


def test_the_probability_of_a_path_is_that_of_the_multinomial_distribution() -> None:
    # of 4 values at most 2 lie below 0.2 and 1 to 3 below 0.5; a, b, c count those in the three pieces
    counts = [(a, below - a, 4 - below) for a in range(3) for below in range(max(a, 1), 4)]
    chance = multinomial(4, [0.2, 0.3, 0.5]).pmf(counts).sum()
    path = _chance_of_path(np.array([0, 1]), np.array([2, 3]), np.array([0.2, 0.5]), 4)
    assert path == pytest.approx(chance, rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=4, max_size=4))
def test_the_p_value_is_small_exactly_where_the_band_is_left(counts: list[int]) -> None:
    share = np.sort(counts) / 40
    lower, upper = share_band(FEW, 40)
    left = bool(((share < lower - 1e-9) | (share > upper + 1e-9)).any())
    assert (share_p_value(share, FEW, 40) <= 0.05) == left


def test_p_values_of_uniform_samples_are_no_smaller_than_uniform_and_of_an_impossible_share_near_zero() -> None:
    observed = shares(np.random.default_rng(3).uniform(size=(600, 50)), FEW)
    p = np.array([share_p_value(row, FEW, 50) for row in observed])
    for level in (0.05, 0.2, 0.5):  # P(p <= level) <= level; three standard errors
        assert (p <= level).mean() <= level + 3 * np.sqrt(level * (1 - level) / 600)
    assert (p <= 0.5).mean() > 0.35
    assert share_p_value([0.0, 0.0, 0.0, 0.0], FEW, 2000) < 1e-100


@pytest.mark.parametrize("n", [1, 2, 7, 20_000, 1_000_000])
def test_the_band_holds_the_levels_at_any_n(n: int) -> None:
    lower, upper = share_band(TAU, n)
    assert ((lower <= TAU) & (upper >= TAU)).all()


def test_a_higher_level_gives_a_wider_band_and_more_rows_a_narrower_one_like_one_over_their_root() -> None:
    (lower, upper), (lowest, highest) = share_band(TAU, 200, 0.5), share_band(TAU, 200, 0.99)
    assert ((lowest <= lower) & (upper <= highest)).all()
    assert (highest - lowest).sum() > (upper - lower).sum()
    widths = np.array([np.subtract(*share_band(TAU, n)[::-1])[49] for n in (2_500, 10_000, 40_000)])
    np.testing.assert_allclose(widths[:-1] / widths[1:], 2, rtol=0.05)


def test_a_band_takes_less_than_three_tenths_of_a_second() -> None:
    share_band(TAU, 10)  # loads SciPy
    _share_gamma.cache_clear()
    start = time.process_time()
    share_band(TAU, 1000)
    assert time.process_time() - start < 0.3


@pytest.mark.parametrize(
    ("tau", "n", "sentence"),
    [([0.5, 0.2], 10, "tau must increase"), ([0.5], 0, "n must be a whole n"), ([0.5], 2.5, "n must be a whole n")],
)
def test_levels_out_of_order_and_what_is_no_count_are_refused(tau: list[float], n: float, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        share_band(tau, n)
