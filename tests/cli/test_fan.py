import numpy as np

from genbayes.cli.demo import draw_fan


def test_the_bands_nest_and_points_lie_on_top() -> None:
    q = np.tile([-4.0, -2.0, 0.0, 2.0, 4.0], (3, 1))
    picture = draw_fan(np.array([0.0, 1.0, 2.0]), q, np.array([2.0]), np.array([0.0]), n_lines=9).plain
    columns = zip(*(line[6:] for line in picture.splitlines()[:-1]), strict=True)
    assert ["".join(column) for column in columns] == ["░░▒▒━▒▒░░", "░░▒▒━▒▒░░", "░░▒▒•▒▒░░"]


def test_the_axis_reaches_from_the_lowest_to_the_highest_value() -> None:
    q = np.tile([0.0, 1.0, 2.0, 3.0, 4.0], (2, 1))
    lines = draw_fan(np.array([0.0, 1.0]), q, np.array([0.0, 1.0]), np.array([-10.0, 90.0])).plain.splitlines()
    assert lines[0].startswith("  90 ┤")
    assert lines[-2].startswith(" -10 ┤")


def test_a_fan_without_height_is_one_line() -> None:
    picture = draw_fan(np.array([0.0, 1.0]), np.zeros((2, 5)), np.array([0.0]), np.array([0.0]))
    assert "•" in picture.plain
