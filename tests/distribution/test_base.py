import matplotlib as mpl
import numpy as np
import pytest

from genbayes.distribution import Normal
from genbayes.errors import InvalidInput

mpl.use("Agg")

LAW = Normal([0.0, 1.0, 2.0], 1.0)


def test_the_distributions_cannot_be_made_without_a_quantile_function() -> None:
    from genbayes.distribution import PredictiveDistribution

    with pytest.raises(TypeError, match="abstract"):
        PredictiveDistribution()  # type: ignore[abstract]


def test_a_row_of_points_is_asked_of_every_distribution() -> None:
    np.testing.assert_allclose(LAW.cdf([[0.0, 1.0]]), [[0.5, 0.8413], [0.1587, 0.5], [0.0228, 0.1587]], atol=5e-5)


def test_a_vector_is_one_point_per_distribution() -> None:
    np.testing.assert_allclose(LAW.cdf([0.0, 1.0, 2.0]), 0.5)


@pytest.mark.parametrize("y", [np.zeros(2), np.zeros((2, 3)), np.zeros((3, 1, 1))])
def test_points_of_another_shape_are_refused(y: np.ndarray) -> None:
    with pytest.raises(InvalidInput, match=r"y must be a number or have shape \(3,\), \(3, j\) or \(1, j\)"):
        LAW.cdf(y)


def test_text_is_refused() -> None:
    with pytest.raises(InvalidInput, match="y must be numbers, got str"):
        LAW.cdf("high")


@pytest.mark.parametrize("level", [0.0, 1.0, 90, True])
def test_a_bad_level_is_refused(level: float) -> None:
    with pytest.raises(InvalidInput, match="level must lie strictly between 0 and 1"):
        LAW.interval(level)


def test_a_bad_seed_is_refused() -> None:
    with pytest.raises(InvalidInput, match="random_state must be"):
        LAW.sample(2, random_state="seed")  # type: ignore[arg-type]


def test_a_legacy_random_state_serves_as_a_seed() -> None:
    draws = [LAW.sample(4, random_state=np.random.RandomState(0)) for _ in range(2)]
    np.testing.assert_array_equal(*draws)


def test_two_indices_are_refused() -> None:
    with pytest.raises(IndexError, match="too many indices"):
        LAW[0, 1]  # type: ignore[index]


def test_a_table_of_indices_is_refused() -> None:
    with pytest.raises(IndexError, match="rows must be given by one index, a mask or a vector"):
        LAW[np.array([[0, 1]])]


def test_a_mask_of_another_length_is_refused() -> None:
    with pytest.raises(IndexError, match="boolean index did not match"):
        LAW[np.array([True, False])]


def test_plot_gives_the_axis_with_its_labels() -> None:
    ax = LAW.plot(x=[2.0, 0.0, 1.0], y=[0.0, 1.0, 2.0], levels=(0.5, 0.9), xlabel="dose", ylabel="yield")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("dose", "yield")


def test_plot_numbers_the_rows_without_x() -> None:
    assert LAW.plot().get_xlabel() == "row"


def test_plot_refuses_a_wrong_number_of_places() -> None:
    with pytest.raises(InvalidInput, match=r"x must have shape \(3,\)"):
        LAW.plot(x=[0.0, 1.0])
