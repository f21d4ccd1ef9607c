from genbayes.plotting import plot_decomposition


def test_the_bars_are_steps_from_uncertainty_to_the_score() -> None:
    bars = plot_decomposition(0.1, 0.6, 1.0).patches
    ends = [(round(bar.get_x(), 9), round(bar.get_x() + bar.get_width(), 9)) for bar in bars]
    assert ends == [(0.0, 1.0), (0.4, 1.0), (0.4, 0.5), (0.0, 0.5)]


def test_what_luck_explains_is_marked_beyond_the_recalibrated_score() -> None:
    (mark,) = plot_decomposition(0.1, 0.6, 1.0, 0.05).lines
    assert [round(float(x), 9) for x in mark.get_xdata()] == [0.45, 0.45]


def test_a_perfect_score_of_a_constant_can_be_drawn() -> None:
    assert plot_decomposition(0.0, 0.0, 0.0).get_xlim() == (0.0, 1.0)
