import numpy as np
import pytest
from matplotlib.figure import Figure

from genbayes.errors import InvalidInput
from genbayes.plotting import plot_fan, plot_fan_by_category
from genbayes.plotting.fan import MOST_DOTS

X = np.array([2.0, 0.0, 1.0])
MEDIAN = np.array([20.0, 0.0, 10.0])
BANDS = [(0.5, MEDIAN - 1, MEDIAN + 1), (0.9, MEDIAN - 2, MEDIAN + 2)]


def test_the_median_is_drawn_in_the_order_of_x() -> None:
    line = plot_fan(X, MEDIAN, BANDS).lines[0]
    assert line.get_xydata().tolist() == [[0, 0], [1, 10], [2, 20]]


def test_the_widest_band_is_drawn_first_and_lightest() -> None:
    wide, narrow = plot_fan(X, MEDIAN, BANDS).collections
    assert [wide.get_label(), narrow.get_label()] == ["90%", "50%"]
    assert wide.get_alpha() < narrow.get_alpha()


def test_a_band_has_the_given_ends() -> None:
    wide = plot_fan(X, MEDIAN, BANDS).collections[0]
    corners = wide.get_paths()[0].vertices
    assert {tuple(corner) for corner in corners} >= {(0, -2), (0, 2), (2, 18), (2, 22)}


def test_observations_are_dots() -> None:
    ax = plot_fan(X, MEDIAN, BANDS, x_observed=[0.5, 1.5], y_observed=[5.0, 16.0])
    assert ax.collections[-1].get_offsets().tolist() == [[0.5, 5.0], [1.5, 16.0]]


def test_of_thousands_of_observations_an_even_selection_is_drawn_and_said() -> None:
    x = np.linspace(0, 2, 20_001)
    dots = plot_fan(X, MEDIAN, BANDS, x_observed=x, y_observed=x).collections[-1]
    assert len(dots.get_offsets()) == MOST_DOTS
    assert dots.get_label() == "observed (1,500 of 20,001)"
    assert dots.get_offsets()[:, 0].min() == 0
    assert dots.get_offsets()[:, 0].max() == 2


def test_the_callers_axis_is_returned() -> None:
    ax = Figure().add_subplot()
    assert plot_fan(X, MEDIAN, BANDS, ax=ax) is ax


def test_wide_inputs_get_a_logarithmic_axis() -> None:
    x = np.geomspace(1e-12, 1e12, 30)
    assert plot_fan(x, x, []).get_xscale() == "log"


@pytest.mark.parametrize(
    ("bands", "message"),
    [
        ([(90, MEDIAN, MEDIAN)], "level must lie strictly between 0 and 1, got 90"),
        ([(0.9, [1.0, 2.0], MEDIAN)], r"lower must have shape \(3,\)"),
    ],
)
def test_a_wrong_band_is_refused(bands: list, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        plot_fan(X, MEDIAN, bands)


def test_observations_without_their_inputs_are_refused() -> None:
    with pytest.raises(InvalidInput, match="x_observed and y_observed must be given together"):
        plot_fan(X, MEDIAN, BANDS, y_observed=[1.0])


def test_categories_get_bars_from_lower_to_upper() -> None:
    ax = plot_fan_by_category(["He", "O2"], [1.0, 2.0], [(0.9, [0.0, 1.0], [3.0, 5.0])])
    assert [(bar.get_y(), bar.get_y() + bar.get_height()) for bar in ax.patches] == [(0, 3), (1, 5)]
