"""The one door: each rule in one sentence."""

import numpy as np
import pytest

from genbayes.errors import InvalidInput
from genbayes.validation import (
    check_array,
    check_choice,
    check_count,
    check_finite,
    check_level,
    check_nonnegative,
    check_targets,
    check_tau,
    describe_rows,
    suggest,
)


@pytest.mark.parametrize("level", [0, 1, 90, -0.1, float("nan"), True, "0.9", None])
def test_a_level_outside_the_unit_interval_is_refused(level) -> None:
    with pytest.raises(InvalidInput, match="level must lie strictly between 0 and 1, got .*; pass 0.9 for 90%"):
        check_level(level)


@pytest.mark.parametrize("tau", [0.0, 1.0, [0.5, 1.2], float("nan"), [0.1, float("inf")]])
def test_a_tau_outside_the_unit_interval_is_refused(tau) -> None:
    with pytest.raises(InvalidInput, match="tau must lie strictly between 0 and 1"):
        check_tau(tau)


@pytest.mark.parametrize("tau", [[], [[0.1]], "a", None])
def test_a_tau_that_is_no_sequence_of_numbers_is_refused(tau) -> None:
    with pytest.raises(InvalidInput, match="tau must"):
        check_tau(tau)


def test_targets_are_one_finite_value_a_row() -> None:
    np.testing.assert_array_equal(check_targets(2, 3), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(check_targets([[1], [2]], 2), [1.0, 2.0])
    with pytest.raises(InvalidInput, match=r"y must have shape \(3,\), one value per row, got \(2,\)"):
        check_targets([1, 2], 3)
    with pytest.raises(InvalidInput, match=r"y must be finite, got NaN or infinity in 1 of 2 rows \(row 1\)"):
        check_targets([1, np.nan], 2)
    with pytest.raises(InvalidInput, match="y must be numbers"):
        check_targets(["a", "b"], 2)


def test_rows_are_counted_and_the_first_are_named() -> None:
    assert describe_rows(np.arange(9) > 1) == "7 of 9 rows (rows 2, 3, 4, 5, 6, ...)"
    with pytest.raises(InvalidInput, match=r"X must be finite, got NaN or infinity in 1 of 2 rows \(row 1\)"):
        check_finite(np.array([[1.0, 2.0], [3.0, np.inf]]), "X")


@pytest.mark.parametrize("value", [0, 2.5, True, "3", None])
def test_a_count_is_a_whole_number(value) -> None:
    with pytest.raises(InvalidInput, match="n must be a whole number of at least 1, got"):
        check_count(value, "n")


def test_counts_of_numpy_are_accepted() -> None:
    assert type(check_count(np.int32(3), "n")) is int


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), "a", True])
def test_a_size_is_not_negative(value) -> None:
    with pytest.raises(InvalidInput, match="a must be zero or positive and finite, got"):
        check_nonnegative(value, "a")
    with pytest.raises(InvalidInput, match="a must be positive and finite, got 0"):
        check_nonnegative(0, "a", strictly=True)


def test_a_near_miss_is_answered_with_the_nearest_word() -> None:
    with pytest.raises(InvalidInput, match="recipe must be one of 'fast', 'paper', got 'papr'; did you mean 'paper'?"):
        check_choice("papr", "recipe", ["fast", "paper"])
    assert suggest("zzz", ["fast"]) == ""


def test_arrays_are_checked_for_shape_and_numbers() -> None:
    with pytest.raises(InvalidInput, match="q must"):
        check_array([1.0, 2.0], "q", "(n, m)")
    with pytest.raises(InvalidInput, match="q must"):
        check_array([["a"]], "q", "(n, m)")
