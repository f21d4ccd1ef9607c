import numpy as np
import pytest
from matplotlib.colors import to_rgb
from scipy.stats import binom

from genbayes.errors import InvalidInput
from genbayes.plotting import pit_band, pit_counts, plot_pit
from genbayes.plotting.style import ORANGE


@pytest.mark.parametrize(("n", "n_bins"), [(1, 4), (10, 4), (100, 9), (20_000, 20)])
def test_the_number_of_bins_suits_n(n: int, n_bins: int) -> None:
    counts, edges = pit_counts(np.linspace(0, 1, n))
    assert len(counts) == n_bins
    assert edges.tolist() == np.linspace(0, 1, n_bins + 1).tolist()
    assert counts.sum() == n


def test_bars_are_as_high_as_the_counts() -> None:
    pit = np.random.default_rng(0).uniform(size=200)
    counts, _ = pit_counts(pit)
    bars = plot_pit(pit).patches[: len(counts)]
    assert [bar.get_height() for bar in bars] == counts.tolist()


@pytest.mark.parametrize(("n", "n_bins"), [(10, 4), (137, 10), (20_000, 20)])
def test_the_band_holds_a_binomial_count_with_at_least_95_percent_and_no_more_than_needed(n: int, n_bins: int) -> None:
    low, high = pit_band(n, n_bins)
    law = binom(n, 1 / n_bins)
    assert law.cdf(high) - law.cdf(low - 1) >= 0.95
    assert law.cdf(low) > 0.025
    assert law.sf(high - 1) > 0.025


def test_the_band_is_drawn_where_it_is() -> None:
    pit = np.random.default_rng(0).uniform(size=200)
    low, high = pit_band(200, len(pit_counts(pit)[0]))
    corners = plot_pit(pit).patches[-1].get_corners()
    assert (corners[:, 1].min(), corners[:, 1].max()) == (low, high)


def test_bars_outside_the_band_are_orange() -> None:
    pit = np.r_[np.full(50, 0.01), np.linspace(0.2, 1, 50)]
    assert to_rgb(plot_pit(pit).patches[0].get_facecolor()) == to_rgb(ORANGE)


@pytest.mark.parametrize(("pit", "got"), [([0.2, 1.5], "1.5"), ([-0.1], "-0.1"), ([], "none")])
def test_values_that_are_no_probabilities_are_refused(pit: list, got: str) -> None:
    with pytest.raises(InvalidInput, match=f"pit must hold values between 0 and 1, got {got}"):
        plot_pit(pit)
