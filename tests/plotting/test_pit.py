import pytest
from matplotlib.colors import to_rgb

from genbayes.errors import InvalidInput
from genbayes.plotting import plot_pit
from genbayes.plotting.style import BLUE, ORANGE

COUNTS = [12, 9, 30, 11]


def test_bars_are_as_high_as_the_counts() -> None:
    assert [bar.get_height() for bar in plot_pit(COUNTS, (5, 20)).patches[:4]] == COUNTS


def test_the_band_is_drawn_where_it_is() -> None:
    corners = plot_pit(COUNTS, (5, 20)).patches[-1].get_corners()
    assert (corners[:, 1].min(), corners[:, 1].max()) == (5, 20)


def test_only_bars_outside_the_band_are_orange() -> None:
    colours = [to_rgb(bar.get_facecolor()) for bar in plot_pit(COUNTS, (5, 20)).patches[:4]]
    assert colours == [to_rgb(BLUE), to_rgb(BLUE), to_rgb(ORANGE), to_rgb(BLUE)]


def test_without_a_band_nothing_is_outside() -> None:
    ax = plot_pit(COUNTS)
    assert {to_rgb(bar.get_facecolor()) for bar in ax.patches} == {to_rgb(BLUE)}
    assert ax.get_legend() is None


@pytest.mark.parametrize(("counts", "got"), [([2, -1], "-1.0"), ([], "none")])
def test_what_is_no_count_is_refused(counts: list, got: str) -> None:
    with pytest.raises(InvalidInput, match=f"counts must be zero or positive, one a bin, got {got}"):
        plot_pit(counts)
