import pytest

from genbayes.errors import InvalidInput
from genbayes.plotting import plot_training


def test_the_loss_is_drawn_by_epoch() -> None:
    line = plot_training([1, 2], [3.0, 2.0]).lines[0]
    assert line.get_xydata().tolist() == [[1, 3], [2, 2]]


def test_the_best_held_out_epoch_is_marked() -> None:
    ax = plot_training([1, 2, 3], [3.0, 2.0, 1.0], held_out=([1, 2, 3], [2.0, 1.5, 1.8]))
    assert ax.collections[-1].get_offsets().tolist() == [[2.0, 1.5]]


@pytest.mark.parametrize(("loss", "scale"), [([100.0, 1.0], "log"), ([3.0, 1.0], "linear"), ([100.0, -1.0], "linear")])
def test_only_a_positive_loss_that_falls_far_is_drawn_on_a_logarithmic_axis(loss: list, scale: str) -> None:
    assert plot_training([1, 2], loss).get_yscale() == scale


def test_a_loss_of_another_length_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"loss must have shape \(2,\)"):
        plot_training([1, 2], [1.0, 2.0, 3.0])
