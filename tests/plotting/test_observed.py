import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba

from genbayes.errors import InvalidInput
from genbayes.plotting import plot_observed
from genbayes.plotting.scores import MOST_WHISKERS
from genbayes.plotting.style import ORANGE


def test_whiskers_span_the_intervals() -> None:
    ax = plot_observed([1.0, 9.0], [1.0, 2.0], [0.0, 1.5], [3.0, 4.0])
    whiskers = next(item for item in ax.collections if isinstance(item, LineCollection))
    assert [segment.tolist() for segment in whiskers.get_segments()] == [[[1, 0], [1, 3]], [[2, 1.5], [2, 4]]]


def test_observations_outside_their_interval_are_orange() -> None:
    ax = plot_observed([1.0, 9.0], [1.0, 2.0], [0.0, 1.5], [3.0, 4.0])
    outside = next(item for item in ax.collections if item.get_label() == "outside it")
    assert outside.get_offsets().tolist() == [[2.0, 9.0]]
    assert tuple(outside.get_facecolor()[0]) == to_rgba(ORANGE)


def test_the_identity_line_is_drawn() -> None:
    line = plot_observed([1.0, 9.0], [1.0, 2.0], [0.0, 1.5], [3.0, 4.0]).lines[-1]
    assert np.array_equal(line.get_xdata(), line.get_ydata())


def test_thousands_of_rows_become_counted_hexagons() -> None:
    n = 20_000
    y = np.random.default_rng(0).normal(size=n)
    ax = plot_observed(y, y / 2, y / 2 - 2, y / 2 + 2)
    assert ax.collections[0].get_array().sum() == n
    assert len(ax.collections[0].get_array()) < 1_500


def test_the_typical_interval_of_many_rows_has_the_ends_of_its_rows() -> None:
    median = np.linspace(0, 1, MOST_WHISKERS + 1)
    ax = plot_observed(median, median, median - 2, median + 3)
    lower, upper, _ = ax.lines
    assert np.allclose(lower.get_ydata(), lower.get_xdata() - 2)
    assert np.allclose(upper.get_ydata(), upper.get_xdata() + 3)


@pytest.mark.parametrize("n", [50, 5_000])
def test_positive_responses_over_decades_get_logarithmic_axes(n: int) -> None:
    y = np.geomspace(1e-6, 1e6, n)
    ax = plot_observed(y, y, y / 2, y * 2)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_constant_predictions_and_responses_are_drawn() -> None:
    ones = np.ones(5)
    plot_observed(ones, ones, ones, ones).figure.draw_without_rendering()


def test_lengths_that_differ_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"upper must have shape \(2,\)"):
        plot_observed([1.0, 2.0], [1.0, 2.0], [0.0, 1.0], [1.0, 2.0, 3.0])
