from types import SimpleNamespace

import numpy as np
import pytest

from genbayes.errors import InvalidInput
from genbayes.plotting import plot_main_effect, plot_main_effects, plot_shares

LINE = SimpleNamespace(
    name="mach", values=np.linspace(0, 1, 20), mean=np.linspace(2, 5, 20), share=0.7, categorical=False
)
GAS = SimpleNamespace(name="gas", values=["He", "O2"], mean=np.array([1.0, 2.0]), share=0.003, categorical=True)


def test_a_numeric_effect_is_a_line_through_its_means() -> None:
    line = plot_main_effect(LINE).lines[0]
    assert line.get_xydata().tolist() == np.c_[LINE.values, LINE.mean].tolist()


def test_a_categorical_effect_is_a_dot_for_each_category() -> None:
    ax = plot_main_effect(GAS)
    assert ax.collections[-1].get_offsets().tolist() == [[0, 1], [1, 2]]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["He", "O2"]


def test_small_shares_keep_a_digit() -> None:
    assert plot_main_effect(GAS).get_title(loc="left") == "0.3% of variance"


def test_small_multiples_share_one_figure_and_one_scale() -> None:
    axes = plot_main_effects([LINE, GAS, LINE, GAS])
    assert len({ax.figure for ax in axes}) == 1
    assert len({ax.get_ylim() for ax in axes}) == 1


def test_no_effects_are_refused() -> None:
    with pytest.raises(InvalidInput, match="effects must hold at least one main effect"):
        plot_main_effects([])


def test_shares_are_bars_from_the_top() -> None:
    ax = plot_shares(["a", "b"], [0.6, 0.2])
    assert [bar.get_width() for bar in ax.patches] == [0.6, 0.2]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
