import numpy as np
import pytest

from genbayes.errors import InvalidInput
from genbayes.plotting import plot_calibration

NOMINAL = np.arange(1, 20) / 20
BAND = (np.maximum(NOMINAL - 0.1, 0), np.minimum(NOMINAL + 0.1, 1))


def test_a_curve_within_the_band_has_no_orange_point() -> None:
    ax = plot_calibration(NOMINAL, NOMINAL + 0.03, *BAND)
    assert "outside" not in ax.get_legend_handles_labels()[1]


def test_levels_outside_the_band_are_marked() -> None:
    observed = np.where(NOMINAL > 0.5, NOMINAL - 0.2, NOMINAL)
    ax = plot_calibration(NOMINAL, observed, *BAND)
    marked = ax.collections[-1].get_offsets()
    np.testing.assert_allclose(marked, np.column_stack([NOMINAL, observed])[NOMINAL > 0.5])


def test_the_curve_begins_and_ends_where_coverage_is_certain() -> None:
    line = plot_calibration(NOMINAL, NOMINAL, *BAND).lines[1]
    assert (line.get_xdata()[[0, -1]].tolist(), line.get_ydata()[[0, -1]].tolist()) == ([0, 1], [0, 1])


def test_levels_in_percent_are_refused() -> None:
    with pytest.raises(InvalidInput, match="tau must lie strictly between 0 and 1"):
        plot_calibration([50, 90], [0.5, 0.9], [0.4, 0.8], [0.6, 1.0])
