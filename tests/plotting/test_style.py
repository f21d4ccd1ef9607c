import re
import subprocess
import sys
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from genbayes.plotting import plot_fan, plot_observed, to_svg
from genbayes.plotting.style import (
    axes_for,
    default_settings,
    label_axes,
    new_axes,
    set_category_ticks,
    shorten,
    spans_decades,
)


def test_matplotlib_is_imported_late_and_pyplot_never() -> None:
    code = """
import sys
from genbayes.plotting import plot_pit, to_svg
assert "matplotlib" not in sys.modules
to_svg(plot_pit([0.5]).figure, "a", "b")
assert "matplotlib.pyplot" not in sys.modules
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_callers_axis_is_used_and_keeps_its_style() -> None:
    ax = Figure().add_subplot()
    assert axes_for(ax) is ax
    assert ax.spines["top"].get_visible()


def test_a_new_axis_has_no_upper_and_right_spine() -> None:
    spines = new_axes().spines
    assert [side for side, spine in spines.items() if spine.get_visible()] == ["left", "bottom"]


def test_dollar_signs_in_names_are_no_formula() -> None:
    ax = new_axes()
    label_axes(ax, "cost_$_{", "a$b$")
    set_category_ticks(ax, ["$x", "y$^"])
    ax.figure.draw_without_rendering()  # would raise on a broken formula
    assert ax.get_ylabel() == "a$b$"


@pytest.mark.parametrize("longest", [5, 6, 20])
def test_shortened_text_keeps_both_ends_and_the_limit(longest: int) -> None:
    short = shorten("start" + "-" * 50 + "end", longest)
    assert len(short) == longest
    assert short[0] == "s"
    assert short[-1] == "d"


def test_line_breaks_in_names_become_spaces() -> None:
    assert shorten("a\n b") == "a b"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.geomspace(1e-9, 1e-3, 30), True),
        (np.linspace(1e-9, 1.0, 1000), False),
        (np.array([-1.0, 1e6]), False),
        (np.array([0.0, 1e6]), False),
        (np.array([3.0]), False),
    ],
)
def test_only_positive_values_over_decades_get_a_logarithmic_axis(values: np.ndarray, expected: bool) -> None:
    assert spans_decades(values) is expected


@pytest.fixture(scope="module")
def svg() -> str:
    x = np.linspace(0, 1, 30)
    ax = plot_fan(x, x, [(0.9, x - 1, x + 1)], x_observed=x, y_observed=x, xlabel='<b> & $x$ id="m1" 压力 #0072b2')
    return to_svg(ax.figure, "fan", 'a "fan" <chart>')


def test_the_svg_is_well_formed(svg: str) -> None:
    assert ElementTree.fromstring(svg).tag == "svg"


def test_nothing_is_fetched_from_elsewhere(svg: str) -> None:
    assert "http" not in svg
    assert "<style" not in svg


def test_names_are_kept_literally_and_escaped(svg: str) -> None:
    text = "".join(ElementTree.fromstring(svg).itertext())
    assert '<b> & $x$ id="m1" 压力 #0072b2' in text


def test_every_reference_has_its_identifier_and_the_prefix(svg: str) -> None:
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', re.sub(r">[^<]*<", "><", svg)))
    known = set(re.findall(r' id="([^"]+)"', re.sub(r">[^<]*<", "><", svg)))
    assert used == known
    assert used
    assert all(name.startswith("fan-") for name in used)


def test_palette_colours_can_be_restyled_by_the_page(svg: str) -> None:
    assert "var(--blue, #0072b2)" in svg


def test_the_same_figure_gives_the_same_text() -> None:
    first, second = (to_svg(plot_fan([0, 1], [0, 1], []).figure, "a", "b") for _ in range(2))
    assert first == second


def test_hexagons_keep_their_places_when_digits_are_dropped() -> None:
    y = np.random.default_rng(0).normal(size=2_000) * 1e-12
    svg = to_svg(plot_observed(y, y, y - 1e-12, y + 1e-12).figure, "hex", "hexagons")
    places = re.findall(r'<use href="#hex-\w+" x="([\d.]+)" y="([\d.]+)"', svg)
    assert len(set(places)) > 20


def test_settings_of_the_user_neither_leak_in_nor_get_lost() -> None:
    with matplotlib.rc_context({"text.usetex": True, "axes.facecolor": "black"}):
        with default_settings():
            svg = to_svg(new_axes().figure, "a", "b")
        assert matplotlib.rcParams["text.usetex"]
    assert "#000000" not in svg
