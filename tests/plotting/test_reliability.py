import numpy as np
import pytest

from genbayes.errors import InvalidInput
from genbayes.plotting import plot_reliability

TAU = np.arange(1, 10) / 10
BAND = (TAU - 0.05, TAU + 0.05)


def test_the_difference_to_the_level_is_drawn() -> None:
    line = plot_reliability(TAU, TAU + 0.02, *BAND).lines[1]
    np.testing.assert_allclose(line.get_ydata(), np.r_[0, np.full(9, 0.02), 0])


def test_only_levels_outside_the_band_are_marked() -> None:
    share = TAU.copy()
    share[6] += 0.08
    ax = plot_reliability(TAU, share, *BAND)
    np.testing.assert_allclose(ax.collections[-1].get_offsets(), [[0.7, 0.08]])
    assert "outside" not in plot_reliability(TAU, TAU, *BAND).get_legend_handles_labels()[1]


def test_zero_is_in_the_middle() -> None:
    low, high = plot_reliability(TAU, TAU - 0.3, *BAND).get_ylim()
    assert low == -high
    assert low < -0.3


def test_as_many_shares_as_levels_are_asked_for() -> None:
    with pytest.raises(InvalidInput, match=r"share must have shape \(9,\)"):
        plot_reliability(TAU, TAU[:4], *BAND)
