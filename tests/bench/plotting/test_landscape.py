"""Every method on every problem."""

import numpy as np

from genbayes_bench.plotting.landscape import plot_landscape
from genbayes_bench.plotting.panels import LOOKS


def test_a_method_is_drawn_where_it_was_run() -> None:
    ax = plot_landscape(["p", "q"], {"gp": {"p": 1.0, "q": 2.0}, "net": {"q": 0.5}}, {"gp": 2, "net": 0})
    drawn = [scatter for scatter in ax.collections if scatter.get_label() in ("gp", "net")]
    np.testing.assert_allclose(drawn[0].get_offsets()[:, 0], [1.0, 2.0])
    np.testing.assert_allclose(drawn[1].get_offsets()[:, 0], [0.5])
    assert round(float(drawn[1].get_offsets()[0, 1])) == 1  # the row of q
    assert [label.get_text() for label in ax.get_yticklabels()] == ["p", "q"]


def test_equal_scores_do_not_hide_one_another() -> None:
    ax = plot_landscape(["p"], {"a": {"p": 1.0}, "b": {"p": 1.0}}, {"a": 0, "b": 1})
    heights = [float(scatter.get_offsets()[0, 1]) for scatter in ax.collections if scatter.get_label() in ("a", "b")]
    assert heights[0] != heights[1]
    assert max(abs(height) for height in heights) < 0.5  # and stay in their row


def test_many_methods_stay_within_their_row() -> None:
    methods = [str(i) for i in range(len(LOOKS))]
    ax = plot_landscape(["p"], {m: {"p": 1.0} for m in methods}, {m: i for i, m in enumerate(methods)})
    heights = [float(s.get_offsets()[0, 1]) for s in ax.collections if s.get_label() in methods]
    assert max(abs(height) for height in heights) < 0.5
