"""Every plot: laws that each obeys, what is drawn where, and what is refused."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.figure import Figure

from genbayes.errors import InvalidInput
from genbayes.plotting import (
    plot_calibration,
    plot_decomposition,
    plot_fan,
    plot_fan_by_category,
    plot_main_effect,
    plot_main_effects,
    plot_observed,
    plot_pit,
    plot_reliability,
    plot_scores,
    plot_shares,
    plot_training,
)
from genbayes.plotting.fan_chart import MOST_DOTS
from genbayes.plotting.scores import MOST_WHISKERS
from genbayes.plotting.style import BLUE, ORANGE

TAU = np.arange(1, 20) / 20
BAND = (np.maximum(TAU - 0.1, 0), np.minimum(TAU + 0.1, 1))
COUNTS = [12, 9, 30, 11]
X, MEDIAN = np.array([2.0, 0.0, 1.0]), np.array([20.0, 0.0, 10.0])
BANDS = [(0.5, MEDIAN - 1, MEDIAN + 1), (0.9, MEDIAN - 2, MEDIAN + 2)]
TWO = ([1.0, 9.0], [1.0, 2.0], [0.0, 1.5], [3.0, 4.0])  # observed, median, lower, upper
NAMES = ["GP", "network", "trees"]
LINE = SimpleNamespace(
    name="mach", values=np.linspace(0, 1, 20), mean=np.linspace(2, 5, 20), share=0.7, categorical=False
)
GAS = SimpleNamespace(name="gas", values=["He", "O2"], mean=np.array([1.0, 2.0]), share=0.003, categorical=True)
ONES = np.ones(5)


@pytest.mark.parametrize(
    ("plot", "arguments"),
    [
        (plot_calibration, (TAU, TAU, *BAND)),
        (plot_reliability, (TAU, TAU, *BAND)),
        (plot_decomposition, (0.1, 0.6, 1.0, 0.05)),
        (plot_decomposition, (0.0, 0.0, 0.0)),  # a perfect score of a constant
        (plot_fan, (X, MEDIAN, BANDS)),
        (plot_fan_by_category, (["He", "O2"], [1.0, 2.0], [(0.9, [0.0, 1.0], [3.0, 5.0])])),
        (plot_main_effect, (LINE,)),
        (plot_main_effect, (GAS,)),
        (plot_observed, TWO),
        (plot_observed, (ONES, ONES, ONES, ONES)),
        (plot_pit, (COUNTS, (5, 20))),
        (plot_scores, (NAMES, [1.0, 1.2, 1.3], [0.1, 0.1, 0.2], [True, False, False])),
        (plot_shares, (["a", "b"], [0.6, 0.2])),
        (plot_training, ([1, 2], [3.0, 2.0])),
    ],
)
def test_a_plot_draws_on_the_axis_it_is_given_or_on_a_new_one_and_returns_it(plot: Any, arguments: tuple) -> None:
    ax = Figure().add_subplot()
    assert plot(*arguments, ax=ax) is ax
    assert ax.spines["top"].get_visible()  # the caller's style stays
    new = plot(*arguments)
    assert new is not ax
    assert new.has_data()
    new.figure.draw_without_rendering()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: plot_calibration([50, 90], [0.5, 0.9], [0.4, 0.8], [0.6, 1.0]), "tau must lie strictly between 0 and"),
        (lambda: plot_reliability(TAU, TAU[:4], *BAND), r"share must have shape \(19,\)"),
        (lambda: plot_fan(X, MEDIAN, [(90, MEDIAN, MEDIAN)]), "level must lie strictly between 0 and 1, got 90"),
        (lambda: plot_fan(X, MEDIAN, [(0.9, [1.0, 2.0], MEDIAN)]), r"lower must have shape \(3,\)"),
        (lambda: plot_fan(X, MEDIAN, BANDS, y_observed=[1.0]), "x_observed and y_observed must be given together"),
        (lambda: plot_main_effects([]), "effects must hold at least one main effect"),
        (lambda: plot_observed(*TWO[:3], [1.0, 2.0, 3.0]), r"upper must have shape \(2,\)"),
        (lambda: plot_pit([2, -1]), "counts must be zero or positive, one per bin, got -1.0"),
        (lambda: plot_pit([]), "counts must be zero or positive, one per bin, got none"),
        (lambda: plot_scores(NAMES, [1.0], [0.1], [True]), r"mean must have shape \(3,\)"),
        (lambda: plot_training([1, 2], [1.0, 2.0, 3.0]), r"loss must have shape \(2,\)"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(call: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        call()


def test_levels_of_intervals_outside_the_band_are_marked() -> None:
    observed = np.where(TAU > 0.5, TAU - 0.2, TAU)
    ax = plot_calibration(TAU, observed, *BAND)
    np.testing.assert_allclose(ax.collections[-1].get_offsets(), np.column_stack([TAU, observed])[TAU > 0.5])
    assert "outside" not in plot_calibration(TAU, TAU + 0.03, *BAND).get_legend_handles_labels()[1]
    line = ax.lines[1]  # it begins and ends where coverage is certain
    assert (line.get_xdata()[[0, -1]].tolist(), line.get_ydata()[[0, -1]].tolist()) == ([0, 1], [0, 1])


def test_reliability_is_the_difference_to_the_level_around_zero() -> None:
    share = TAU + 0.02
    share[6] += 0.1
    ax = plot_reliability(TAU, share, *BAND)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), np.r_[0, share - TAU, 0])
    np.testing.assert_allclose(ax.collections[-1].get_offsets(), [[TAU[6], 0.12]])
    assert "outside" not in plot_reliability(TAU, TAU, *BAND).get_legend_handles_labels()[1]
    low, high = plot_reliability(TAU, TAU - 0.3, *BAND).get_ylim()
    assert low == -high < -0.3


def test_parts_of_a_score_are_steps_from_uncertainty_to_the_score() -> None:
    ax = plot_decomposition(0.1, 0.6, 1.0, 0.05)
    ends = [(round(bar.get_x(), 9), round(bar.get_x() + bar.get_width(), 9)) for bar in ax.patches]
    assert ends == [(0.0, 1.0), (0.4, 1.0), (0.4, 0.5), (0.0, 0.5)]
    (mark,) = ax.lines  # what chance explains, beyond the recalibrated score
    assert [round(float(x), 9) for x in mark.get_xdata()] == [0.45, 0.45]
    assert plot_decomposition(0.0, 0.0, 0.0).get_xlim() == (0.0, 1.0)


def test_bars_of_a_pit_histogram_outside_the_band_are_orange() -> None:
    ax = plot_pit(COUNTS, (5, 20))
    assert [bar.get_height() for bar in ax.patches[:4]] == COUNTS
    corners = ax.patches[-1].get_corners()
    assert (corners[:, 1].min(), corners[:, 1].max()) == (5, 20)
    assert [to_rgb(bar.get_facecolor()) for bar in ax.patches[:4]] == [to_rgb(c) for c in (BLUE, BLUE, ORANGE, BLUE)]
    without = plot_pit(COUNTS)
    assert {to_rgb(bar.get_facecolor()) for bar in without.patches} == {to_rgb(BLUE)}
    assert without.get_legend() is None


def test_a_fan_has_its_median_in_the_order_of_x_and_the_widest_band_first_and_lightest() -> None:
    ax = plot_fan(X, MEDIAN, BANDS)
    assert ax.lines[0].get_xydata().tolist() == [[0, 0], [1, 10], [2, 20]]
    wide, narrow = ax.collections
    assert [wide.get_label(), narrow.get_label()] == ["90%", "50%"]
    assert wide.get_alpha() < narrow.get_alpha()
    assert {tuple(corner) for corner in wide.get_paths()[0].vertices} >= {(0, -2), (0, 2), (2, 18), (2, 22)}


def test_of_thousands_of_observations_an_even_selection_is_drawn_and_said() -> None:
    few = plot_fan(X, MEDIAN, BANDS, x_observed=[0.5, 1.5], y_observed=[5.0, 16.0]).collections[-1]
    assert few.get_offsets().tolist() == [[0.5, 5.0], [1.5, 16.0]]
    x = np.linspace(0, 2, 20_001)
    dots = plot_fan(X, MEDIAN, BANDS, x_observed=x, y_observed=x).collections[-1]
    assert (len(dots.get_offsets()), dots.get_label()) == (MOST_DOTS, "observed (1,500 of 20,001)")
    assert (dots.get_offsets()[:, 0].min(), dots.get_offsets()[:, 0].max()) == (0, 2)


def test_wide_inputs_get_a_logarithmic_axis() -> None:
    x = np.geomspace(1e-12, 1e12, 30)
    assert plot_fan(x, x, []).get_xscale() == "log"


def test_categories_get_bars_from_lower_to_upper() -> None:
    ax = plot_fan_by_category(["He", "O2"], [1.0, 2.0], [(0.9, [0.0, 1.0], [3.0, 5.0])])
    assert [(bar.get_y(), bar.get_y() + bar.get_height()) for bar in ax.patches] == [(0, 3), (1, 5)]


def test_observed_over_predicted_has_whiskers_and_orange_dots_outside_them() -> None:
    ax = plot_observed(*TWO)
    whiskers = next(item for item in ax.collections if isinstance(item, LineCollection))
    assert [segment.tolist() for segment in whiskers.get_segments()] == [[[1, 0], [1, 3]], [[2, 1.5], [2, 4]]]
    outside = next(item for item in ax.collections if item.get_label() == "outside it")
    assert outside.get_offsets().tolist() == [[2.0, 9.0]]
    assert tuple(outside.get_facecolor()[0]) == to_rgba(ORANGE)
    assert np.array_equal(ax.lines[-1].get_xdata(), ax.lines[-1].get_ydata())  # the identity


def test_thousands_of_rows_become_counted_hexagons_with_typical_intervals() -> None:
    y = np.random.default_rng(0).normal(size=20_000)
    counts = plot_observed(y, y / 2, y / 2 - 2, y / 2 + 2).collections[0].get_array()
    assert counts.sum() == 20_000
    assert len(counts) < 1_500
    median = np.linspace(0, 1, MOST_WHISKERS + 1)
    lower, upper, _ = plot_observed(median, median, median - 2, median + 3).lines
    assert np.allclose(lower.get_ydata(), lower.get_xdata() - 2)
    assert np.allclose(upper.get_ydata(), upper.get_xdata() + 3)


@pytest.mark.parametrize("n", [50, 5_000])
def test_positive_responses_over_decades_get_logarithmic_axes(n: int) -> None:
    y = np.geomspace(1e-6, 1e6, n)
    ax = plot_observed(y, y, y / 2, y * 2)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_a_main_effect_is_a_line_or_a_dot_for_each_category() -> None:
    assert plot_main_effect(LINE).lines[0].get_xydata().tolist() == np.c_[LINE.values, LINE.mean].tolist()
    ax = plot_main_effect(GAS)
    assert ax.collections[-1].get_offsets().tolist() == [[0, 1], [1, 2]]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["He", "O2"]
    assert ax.get_title(loc="left") == "0.3% of variance"  # small shares keep a digit


def test_main_effects_side_by_side_share_one_figure_and_one_scale() -> None:
    axes = plot_main_effects([LINE, GAS, LINE, GAS])
    assert len({ax.figure for ax in axes}) == len({ax.get_ylim() for ax in axes}) == 1


def test_shares_are_bars_from_the_top() -> None:
    ax = plot_shares(["a", "b"], [0.6, 0.2])
    assert [bar.get_width() for bar in ax.patches] == [0.6, 0.2]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_each_model_is_a_dot_in_its_row_the_chosen_ones_orange() -> None:
    ax = plot_scores(NAMES, [1.0, 1.2, 1.3], [0.1, 0.1, 0.2], [True, False, True])
    dots = [container.lines[0] for container in ax.containers]
    np.testing.assert_allclose([dot.get_xydata()[0] for dot in dots], [[1.0, 0], [1.2, 1], [1.3, 2]])
    assert [dot.get_color() for dot in dots] == [ORANGE, BLUE, ORANGE]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first is at the top
    assert (ax.get_xscale(), len(ax.texts)) == ("linear", 0)


@pytest.mark.parametrize(
    ("mean", "scale", "words"),
    [
        ([1.0, 1.2, 900.0], "linear", ["900 ± 0.2"]),  # one is far: an arrow says where
        ([1.0, 300.0, 900.0], "log", []),  # most are far: all have their place
        ([0.0, 0.1, 900.0], "linear", []),  # nothing is so many times a perfect score
        ([-1.0, 0.5, 9.0], "linear", []),
    ],
)
def test_no_score_is_drawn_where_it_is_not(mean: list[float], scale: str, words: list[str]) -> None:
    ax = plot_scores(NAMES, mean, [0.1, 0.1, 0.2], [True, False, False])
    ax.figure.draw_without_rendering()
    left, right = ax.get_xlim()
    drawn = {int(y): x for container in ax.containers for x, y in container.lines[0].get_xydata()}
    assert drawn == {row: value for row, value in enumerate(mean) if left <= value <= right}
    assert ax.get_xscale() == scale
    assert [text.get_text() for text in ax.texts] == words
    assert len(drawn) + len(words) == len(mean)


def test_a_training_is_drawn_by_epoch_and_its_best_held_out_epoch_is_marked() -> None:
    ax = plot_training([1, 2, 3], [3.0, 2.0, 1.0], held_out=([1, 2, 3], [2.0, 1.5, 1.8]))
    assert ax.lines[0].get_xydata().tolist() == [[1, 3], [2, 2], [3, 1]]
    assert ax.collections[-1].get_offsets().tolist() == [[2.0, 1.5]]
    assert "kept" not in "".join(ax.get_legend_handles_labels()[1])
    kept = plot_training([1, 2, 3], [3.0, 2.0, 1.0], kept=2.0).lines[-1]
    assert (list(kept.get_xdata()), kept.get_label()) == ([2.0, 2.0], "kept: epoch 2")


@pytest.mark.parametrize(("loss", "scale"), [([100.0, 1.0], "log"), ([3.0, 1.0], "linear"), ([100.0, -1.0], "linear")])
def test_only_a_positive_loss_that_falls_far_is_drawn_on_a_logarithmic_axis(loss: list, scale: str) -> None:
    assert plot_training([1, 2], loss).get_yscale() == scale
