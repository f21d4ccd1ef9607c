"""How results are drawn: panels, curves, ranks and ratios, surfaces."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from genbayes.errors import InvalidInput, UnwritableFile
from genbayes.plotting.style import BLUE, ORANGE
from genbayes_bench.report.plots import (
    FARTHEST,
    PAGE,
    STYLES,
    Curve,
    name_panel,
    new_panels,
    plot_growth,
    plot_landscape,
    plot_points,
    plot_ranks,
    plot_ratios,
    plot_surface,
    save_picture,
)


def luminance(colour: str) -> float:
    """Relative luminance of sRGB (WCAG 2)."""
    parts = np.array(to_rgb(colour))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_shared_panels_have_one_scale() -> None:
    first, second = new_panels(1, 2, (PAGE, 2.0), shared=True)
    first.set_ylim(-3, 7)
    assert second.get_ylim() == (-3, 7)


def test_series_differ_in_colour_marker_and_dash_and_stand_out_from_white_paper() -> None:
    for part in ("colour", "marker"):
        assert len({getattr(look, part) for look in STYLES}) == len(STYLES)
    assert len({str(look.dash) for look in STYLES}) >= len(STYLES) - 1
    contrast = {look.colour: 1.05 / (luminance(look.colour) + 0.05) for look in STYLES}
    assert min(contrast.values()) > 2, contrast


@pytest.fixture
def panel():
    (ax,) = new_panels(1, 1, (2.0, 2.0))
    return ax


def test_a_name_is_taken_literally(panel) -> None:
    name_panel(panel, "cost in $ and more $")
    assert panel.get_title(loc="left") == "cost in $ and more $"
    panel.figure.canvas.draw()


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.SVG", b"<?xml")])
def test_a_picture_is_written_as_its_name_says(name: str, start: bytes, tmp_path, panel) -> None:
    assert save_picture(panel.figure, tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("name", "error", "sentence"),
    [
        ("a.gif", InvalidInput, "path must end in .png or .svg"),
        ("no/a.png", UnwritableFile, "path must lie in an existing folder"),
    ],
)
def test_another_ending_and_a_folder_that_is_not_there_are_refused(name, error, sentence, tmp_path, panel) -> None:
    with pytest.raises(error, match=sentence):
        save_picture(panel.figure, tmp_path / name)


def test_each_series_is_a_line_with_its_own_look_on_logarithmic_axes_unless_told_otherwise() -> None:
    curves = [Curve("a", [1, 10], [2, 3], 0), Curve("b", [1, 10], [4, 5], 1)]
    ax = plot_growth(curves, ylabel="s")
    assert [line.get_label() for line in ax.lines] == ["a", "b"]
    looks = [(line.get_color(), line.get_marker()) for line in ax.lines]
    assert looks == [(look.colour, look.marker) for look in STYLES[:2]]
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), [4, 5])
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    ax = plot_growth(curves, log_x=False, log_y=False)
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "linear")


def test_numbers_of_somebody_else_are_hollow() -> None:
    ax = plot_growth([Curve("ours", [1], [1]), Curve("theirs", [1], [1], hollow=True)])
    assert [line.get_markerfacecolor() == "white" for line in ax.lines] == [False, True]


def test_a_band_is_drawn_where_there_is_one() -> None:
    ax = plot_growth([Curve("a", [1, 2], [2, 3], band=([1, 2], [3, 4])), Curve("b", [1, 2], [2, 3])])
    assert len(ax.collections) == 1


def test_looks_are_counted_round_and_round() -> None:
    ax = plot_growth([Curve("a", [1], [1], len(STYLES) + 2)])
    assert ax.lines[0].get_color() == STYLES[2].colour


def test_an_axis_within_two_powers_of_ten_is_labelled_plainly() -> None:
    ax = plot_growth([Curve("a", [1, 2, 3], [0.03, 0.2, 0.6])])
    assert {"0.05", "0.1", "0.2", "0.5"} <= {tick.get_text() for tick in ax.get_yticklabels()}
    assert not any(tick.get_text() for tick in ax.get_yticklabels(minor=True))


@pytest.mark.parametrize("value", [[1e-5, 1e-4], [0.1, 100.0]])
def test_small_values_and_wide_ranges_keep_powers_of_ten(value: list[float]) -> None:
    ax = plot_growth([Curve("a", [1, 2], value)])
    assert any("10^" in tick.get_text() for tick in ax.get_yticklabels())


def test_a_method_is_drawn_where_it_was_run() -> None:
    ax = plot_landscape(["p", "q"], {"gp": {"p": 1.0, "q": 2.0}, "net": {"q": 0.5}}, {"gp": 2, "net": 0})
    drawn = [scatter for scatter in ax.collections if scatter.get_label() in ("gp", "net")]
    np.testing.assert_allclose(drawn[0].get_offsets()[:, 0], [1.0, 2.0])
    np.testing.assert_allclose(drawn[1].get_offsets()[:, 0], [0.5])
    assert round(float(drawn[1].get_offsets()[0, 1])) == 1  # the row of q
    assert [label.get_text() for label in ax.get_yticklabels()] == ["p", "q"]


def test_many_methods_stay_within_their_row() -> None:
    methods = [str(i) for i in range(len(STYLES))]
    ax = plot_landscape(["p"], {m: {"p": 1.0} for m in methods}, {m: i for i, m in enumerate(methods)})
    heights = [float(s.get_offsets()[0, 1]) for s in ax.collections if s.get_label() in methods]
    assert max(abs(height) for height in heights) < 0.5


def test_ranks_have_half_the_critical_difference_to_either_side_and_ours_stand_out_by_colour_and_marker() -> None:
    ax = plot_ranks(["a", "b"], [1.25, 1.75], 0.5, [False, True])
    spans = [container.lines[2][0].get_segments()[0][:, 0].tolist() for container in ax.containers]
    assert spans == [[1.0, 1.5], [1.5, 2.0]]
    dots = [container.lines[0] for container in ax.containers]
    assert [dot.get_color() for dot in dots] == [BLUE, ORANGE]
    assert dots[0].get_marker() != dots[1].get_marker()


def test_ratios_show_mean_interval_and_every_problem() -> None:
    ax = plot_ratios(["a / b"], [0.8], [0.7], [0.9], [[0.5, 0.8, 1.2]])
    np.testing.assert_allclose(ax.collections[0].get_offsets()[:, 0], [0.5, 0.8, 1.2])
    parity_interval_mean = [line.get_xdata() for line in ax.lines]
    assert [list(x) for x in parity_interval_mean] == [[1.0, 1.0], [0.7, 0.9], [0.8]]


def test_one_hopeless_ratio_does_not_squeeze_the_others() -> None:
    ax = plot_ratios(["a / b"], [0.8], [0.7], [0.9], [[0.5, 1e6]])
    assert ax.get_xlim()[1] < 1.1 * FARTHEST


def test_a_rival_that_is_surely_better_is_told_in_orange_and_the_first_row_is_at_the_top() -> None:
    ax = plot_ratios(["a", "b"], [1.2, 1.2], [1.1, 0.9], [1.3, 1.5], [[1.2], [1.2]])
    assert [ax.lines[i].get_color() for i in (1, 3)] == [ORANGE, BLUE]
    low, high = ax.get_ylim()
    assert low > high


def test_a_value_stands_at_its_inputs() -> None:
    ax = plot_surface([0.0, 1.0, 2.0], [5.0, 6.0], [0, 1, 10, 11, 20, 21], (0, 21))
    (image,) = ax.images
    shown = image.get_array()  # rows are x2, upwards
    np.testing.assert_array_equal(shown, [[0, 10, 20], [1, 11, 21]])
    assert (image.origin, list(image.get_extent())) == ("lower", [0.0, 2.0, 5.0, 6.0])


@pytest.mark.parametrize(("a", "ends"), [([1, 1], [0.5, -0.5]), ([1, -1], [-0.5, 0.5]), ([2, 1], [1.0, -1.0])])
def test_the_boundary_is_where_its_product_with_x_is_zero(a: list[float], ends: list[float]) -> None:
    ax = plot_surface([-0.5, 0.5], [-0.5, 0.5], [0, 0, 0, 0], (0, 1), boundary=a)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), ends)
    assert ax.get_ylim() == (-0.5, 0.5)  # the line does not widen the picture


def test_points_and_surfaces_share_their_colours() -> None:
    points, surface = plot_points([[0, 0], [1, 1]], [1.0, 2.0], (0, 4)), plot_surface([0, 1], [0, 1], [0] * 4, (0, 4))
    assert points.collections[0].get_clim() == surface.images[0].get_clim() == (0, 4)
    assert points.collections[0].get_cmap().name == surface.images[0].get_cmap().name
