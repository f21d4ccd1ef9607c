import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

from genbayes.plotting.style import axes_for, label_axes, new_axes, set_category_ticks, shorten, spans_decades


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
