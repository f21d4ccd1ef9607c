import re
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest

from genbayes.plotting import plot_fan, plot_observed, to_svg
from genbayes.plotting.style import default_settings, new_axes


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
