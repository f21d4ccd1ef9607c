"""The picture of scores: one dot a model, the best at the top, the chosen ones in another colour."""

import numpy as np
import pytest

from genbayes.errors import InvalidInput
from genbayes.plotting import plot_scores
from genbayes.plotting.style import BLUE, ORANGE

NAMES = ["GP", "network", "trees"]


def dots(ax) -> list:
    return [container.lines[0] for container in ax.containers]


def test_each_model_is_a_dot_in_its_row() -> None:
    ax = plot_scores(NAMES, [1.0, 1.2, 1.3], [0.1, 0.1, 0.2], [True, False, False])
    np.testing.assert_allclose([dot.get_xydata()[0] for dot in dots(ax)], [[1.0, 0], [1.2, 1], [1.3, 2]])
    low, high = ax.get_ylim()
    assert low > high  # the first is at the top


def test_the_chosen_ones_stand_out() -> None:
    ax = plot_scores(NAMES, [1.0, 1.2, 1.3], [0.1, 0.1, 0.2], [True, False, True])
    assert [dot.get_color() for dot in dots(ax)] == [ORANGE, BLUE, ORANGE]


def test_one_hopeless_model_does_not_squeeze_the_others() -> None:
    ax = plot_scores(NAMES, [1.0, 1.2, 900.0], [0.1, 0.1, 0.2], [True, False, False])
    assert ax.get_xlim()[1] < 4
    assert [text.get_text() for text in ax.texts] == ["900"]


def test_as_many_scores_as_names_are_asked_for() -> None:
    with pytest.raises(InvalidInput, match=r"mean must have shape \(3,\)"):
        plot_scores(NAMES, [1.0], [0.1], [True])
