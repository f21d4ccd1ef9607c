import math

import numpy as np
import pytest
from scipy.stats import kstest

from genbayes.errors import InvalidInput
from genbayes.metrics import pit


def test_it_is_the_share_of_draws_below() -> None:
    np.testing.assert_array_equal(pit([[4.0, 1.0, 3.0, 2.0]] * 3, [0.0, 2.5, 9.0]), [0.0, 0.5, 1.0])


def test_a_tie_counts_half() -> None:
    np.testing.assert_array_equal(pit([[1.0, 2.0, 2.0, 3.0]], [2.0]), [0.5])


def test_it_is_uniform_under_the_true_law() -> None:
    rng = np.random.default_rng(0)
    draws, y = rng.normal(size=(1000, 999)), rng.normal(size=1000)
    assert kstest(pit(draws, y), "uniform").pvalue > 1e-4  # false alarm 1 in 10,000


def test_its_mean_is_one_half_for_whole_numbers_too() -> None:
    rng = np.random.default_rng(0)
    draws, y = rng.poisson(1.0, size=(2000, 200)), rng.poisson(1.0, size=2000)
    assert abs(pit(draws, y).mean() - 0.5) < 4 * math.sqrt(1 / 12 / 2000)  # at most this variance; 1 in 16,000


@pytest.mark.parametrize(
    ("q", "y", "message"),
    [
        ([1.0, 2.0], [1.0], r"q must have shape \(n, m\)"),
        ([[np.nan, 1.0]], [1.0], "q must be finite"),
        ([[1.0, 2.0]], [np.nan], "y must be finite"),
        ([[1.0, 2.0]], [1.0, 2.0], r"y must have shape \(1,\)"),
    ],
)
def test_bad_draws_are_refused(q: object, y: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        pit(q, y)
