"""Average ranks and ratios over problems."""

import numpy as np
import pytest

from genbayes.errors import InvalidInput
from genbayes.plotting.style import BLUE, ORANGE
from genbayes_bench.plotting.standing import FARTHEST, plot_ranks, plot_ratios


def test_ranks_have_half_the_critical_difference_to_either_side() -> None:
    ax = plot_ranks(["a", "b"], [1.25, 1.75], 0.5, [True, False])
    spans = [container.lines[2][0].get_segments()[0][:, 0].tolist() for container in ax.containers]
    assert spans == [[1.0, 1.5], [1.5, 2.0]]


def test_our_methods_stand_out_by_colour_and_by_marker() -> None:
    ax = plot_ranks(["a", "b"], [1.2, 1.8], 0.5, [False, True])
    dots = [container.lines[0] for container in ax.containers]
    assert [dot.get_color() for dot in dots] == [BLUE, ORANGE]
    assert dots[0].get_marker() != dots[1].get_marker()


def test_ratios_show_mean_interval_and_every_problem() -> None:
    ax = plot_ratios(["a / b"], [0.8], [0.7], [0.9], [[0.5, 0.8, 1.2]])
    np.testing.assert_allclose(ax.collections[0].get_offsets()[:, 0], [0.5, 0.8, 1.2])
    parity, interval, mean = ax.lines
    assert list(parity.get_xdata()) == [1.0, 1.0]
    assert list(interval.get_xdata()) == [0.7, 0.9]
    assert list(mean.get_xdata()) == [0.8]


def test_one_hopeless_ratio_does_not_squeeze_the_others() -> None:
    ax = plot_ratios(["a / b"], [0.8], [0.7], [0.9], [[0.5, 1e6]])
    assert ax.get_xlim()[1] < 1.1 * FARTHEST


def test_a_rival_that_is_surely_better_is_told_in_orange() -> None:
    ax = plot_ratios(["a", "b"], [1.2, 1.2], [1.1, 0.9], [1.3, 1.5], [[1.2], [1.2]])
    assert [ax.lines[i].get_color() for i in (1, 3)] == [ORANGE, BLUE]


def test_the_first_row_is_at_the_top() -> None:
    low, high = plot_ratios(["a", "b"], [1, 1], [1, 1], [1, 1], [[1], [1]]).get_ylim()
    assert low > high


def test_every_row_needs_its_problems() -> None:
    with pytest.raises(InvalidInput, match="each must have one list a name, got 1 for 2"):
        plot_ratios(["a", "b"], [1, 1], [1, 1], [1, 1], [[1]])
