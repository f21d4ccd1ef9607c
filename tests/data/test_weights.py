"""The door for weights: counts pass, shares are rescaled once, what was checked is taken as it is."""

import numpy as np
import pytest

from genbayes.data.weights import CheckedWeight, as_checked, check_weight
from genbayes.errors import InvalidInput, WeightsRescaled

ROWS = np.zeros((12, 1))


@pytest.mark.parametrize("weight", [[1] * 12, [3.0] * 10 + [0.0] * 2, [5] * 2 + [0] * 10, [2.0**53] * 12])
def test_whole_numbers_are_counts_and_pass_as_they_are(weight: list[float]) -> None:
    np.testing.assert_array_equal(check_weight(weight, ROWS), weight)
    assert isinstance(check_weight(weight, ROWS), CheckedWeight)
    assert check_weight(None, ROWS) is None


@pytest.mark.parametrize("scale", [1 / 12, 1e-3, 1e-300, 1e6 / 7, 1e300])
def test_equal_shares_are_ones_whatever_their_scale_and_zeros_stay(scale: float) -> None:
    with pytest.warns(
        WeightsRescaled, match="not whole, so they are not counts of runs; they were rescaled to mean one"
    ):
        weight = check_weight(np.r_[np.full(10, scale), 0.0, 0.0], ROWS)
    np.testing.assert_array_equal(weight, [1.0] * 10 + [0.0] * 2)


def test_shares_of_mean_one_and_what_was_checked_pass_without_a_word() -> None:
    of_mean_one = np.tile([0.5, 1.5], 6)
    np.testing.assert_allclose(check_weight(of_mean_one, ROWS), of_mean_one)
    part = as_checked(np.full(12, 1 / 12))[:3]
    assert check_weight(part, ROWS[:3]) is part  # neither rescaled nor too few


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        ([1] * 9 + [0] * 3, r"At least 10 runs are needed; the table has 9 of positive weight \(n_samples=12\)"),
        ([0.5] * 9 + [0.0] * 3, "the table has 9 of positive weight"),
        ([9] + [0] * 11, "the table has 9 of positive weight"),  # as nine equal rows
    ],
)
def test_too_few_runs_of_positive_weight_are_refused(weight: list[float], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        check_weight(weight, ROWS)


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        (np.zeros(12), "at least one non-zero number; sample_weight must hold"),
        (np.r_[-1.0, np.ones(11)], "Negative values in data passed to `sample_weight`"),
        (np.r_[np.nan, np.ones(11)], "sample_weight contains NaN"),
        (np.r_[np.inf, np.ones(11)], "sample_weight contains infinity"),
        (np.ma.array(np.ones(12), mask=[True] + [False] * 11), "sample_weight contains NaN"),
        (np.ones(5), "expected"),
        (np.ones((12, 1)), "1D"),
        (["heavy"] * 12, "could not convert string"),
        (np.ones(12) + 1j, "^Complex data not supported; sample_weight must hold a number for each row$"),
    ],
)
def test_weights_that_are_none_are_refused_with_our_error(weight, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        check_weight(weight, ROWS)
