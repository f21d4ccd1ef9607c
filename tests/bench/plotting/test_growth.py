"""Curves over the number of runs."""

import numpy as np
import pytest

from genbayes.errors import InvalidInput
from genbayes_bench.plotting.growth import Curve, plot_growth
from genbayes_bench.plotting.panels import LOOKS


def test_each_series_is_a_line_with_its_own_look() -> None:
    ax = plot_growth([Curve("a", [1, 10], [2, 3], 0), Curve("b", [1, 10], [4, 5], 1)], ylabel="s")
    assert [line.get_label() for line in ax.lines] == ["a", "b"]
    assert [line.get_color() for line in ax.lines] == [LOOKS[0].colour, LOOKS[1].colour]
    assert [line.get_marker() for line in ax.lines] == [LOOKS[0].marker, LOOKS[1].marker]
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), [4, 5])


def test_axes_are_logarithmic_unless_told_otherwise() -> None:
    curve = Curve("a", [1, 10], [2, 3])
    assert (plot_growth([curve]).get_xscale(), plot_growth([curve]).get_yscale()) == ("log", "log")
    ax = plot_growth([curve], log_x=False, log_y=False)
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "linear")


def test_numbers_of_somebody_else_are_hollow() -> None:
    ax = plot_growth([Curve("ours", [1], [1]), Curve("theirs", [1], [1], hollow=True)])
    assert [line.get_markerfacecolor() == "white" for line in ax.lines] == [False, True]


def test_a_band_is_drawn_where_there_is_one() -> None:
    ax = plot_growth([Curve("a", [1, 2], [2, 3], band=([1, 2], [3, 4])), Curve("b", [1, 2], [2, 3])])
    assert len(ax.collections) == 1


def test_looks_are_counted_round_and_round() -> None:
    ax = plot_growth([Curve("a", [1], [1], len(LOOKS) + 2)])
    assert ax.lines[0].get_color() == LOOKS[2].colour


def test_as_many_values_as_sizes_are_asked_for() -> None:
    with pytest.raises(InvalidInput, match=r"value must have shape \(2,\)"):
        plot_growth([Curve("a", [1, 2], [1])])


def test_an_axis_within_two_powers_of_ten_is_labelled_plainly() -> None:
    ax = plot_growth([Curve("a", [1, 2, 3], [0.03, 0.2, 0.6])])
    assert {"0.05", "0.1", "0.2", "0.5"} <= {tick.get_text() for tick in ax.get_yticklabels()}
    assert not any(tick.get_text() for tick in ax.get_yticklabels(minor=True))


@pytest.mark.parametrize("value", [[1e-5, 1e-4], [0.1, 100.0]])
def test_small_values_and_wide_ranges_keep_powers_of_ten(value: list[float]) -> None:
    ax = plot_growth([Curve("a", [1, 2], value)])
    assert any("10^" in tick.get_text() for tick in ax.get_yticklabels())
