import matplotlib as mpl
import numpy as np
import pytest

from genbayes.distribution import Normal, PredictiveDistribution
from genbayes.errors import InvalidInput

mpl.use("Agg")

LAW = Normal([0.0, 1.0, 2.0], 1.0)


def test_a_distribution_cannot_be_made_without_a_quantile_function() -> None:
    with pytest.raises(TypeError, match="abstract"):
        PredictiveDistribution()


def test_a_row_of_points_is_asked_of_every_distribution_and_a_vector_has_one_for_each() -> None:
    np.testing.assert_allclose(LAW.cdf([[0.0, 1.0]]), [[0.5, 0.8413], [0.1587, 0.5], [0.0228, 0.1587]], atol=5e-5)
    np.testing.assert_allclose(LAW.cdf([0.0, 1.0, 2.0]), 0.5)


SHAPE = r"y must be a number or have shape \(3,\), \(3, j\) or \(1, j\)"


@pytest.mark.parametrize(
    ("read", "argument", "error", "message"),
    [
        *[("cdf", np.zeros(shape), InvalidInput, SHAPE) for shape in (2, (2, 3), (3, 1, 1))],
        ("cdf", "high", InvalidInput, "y must be numbers, got str"),
        *[("interval", bad, InvalidInput, "level must lie strictly between 0 and 1") for bad in (0.0, 1.0, 90, True)],
        ("__getitem__", (0, 1), IndexError, "too many indices"),
        ("__getitem__", np.array([[0, 1]]), IndexError, "rows must be given by one index, a mask or a vector"),
        ("__getitem__", np.array([True, False]), IndexError, "boolean index did not match"),
        ("plot", [0.0, 1.0], InvalidInput, r"x must have shape \(3,\)"),
    ],
)
def test_a_bad_question_is_refused(read: str, argument: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        getattr(LAW, read)(argument)


def test_a_bad_seed_is_refused() -> None:
    with pytest.raises(InvalidInput, match="random_state must be"):
        LAW.sample(2, random_state="seed")


def test_a_legacy_random_state_serves_as_a_seed() -> None:
    draws = [LAW.sample(4, random_state=np.random.RandomState(0)) for _ in range(2)]
    np.testing.assert_array_equal(*draws)


def test_plot_gives_the_axis_with_its_labels_and_numbers_the_rows_without_x() -> None:
    ax = LAW.plot(x=[2.0, 0.0, 1.0], y=[0.0, 1.0, 2.0], levels=(0.5, 0.9), xlabel="dose", ylabel="yield")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("dose", "yield")
    assert LAW.plot().get_xlabel() == "row"
