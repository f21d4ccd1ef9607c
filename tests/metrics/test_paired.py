"""Tests of paired differences: closed forms of mean and error, weights as repeated rows, and where the rule flips."""

import math

import numpy as np
import pytest

from genbayes.metrics import is_clearly_better, mean_and_error, paired_difference

A, B = np.array([1.0, 2.0, 4.0, 8.0]), np.array([2.0, 2.0, 3.0, 12.0])  # b - a is 1, 0, -1, 4: mean 1, variance 3.5


def test_the_difference_has_the_mean_and_the_standard_error_of_the_textbook() -> None:
    assert paired_difference(B, A) == pytest.approx((1.0, math.sqrt(3.5 / 4)))
    assert paired_difference(A, B) == pytest.approx((-1.0, math.sqrt(3.5 / 4)))


def test_a_weight_is_a_share_of_the_mean_and_the_error_is_that_of_the_effective_number_of_rows() -> None:
    weight, repeated = np.array([1.0, 2.0, 1.0, 3.0]), np.array([0, 1, 1, 2, 3, 3, 3])
    mean, error = paired_difference(B, A, weight)
    as_rows = paired_difference(B[repeated], A[repeated])
    assert (mean, error * math.sqrt(49 / 15)) == pytest.approx((as_rows[0], as_rows[1] * math.sqrt(7)))  # 7^2 / 15 rows


@pytest.mark.parametrize("factor", [3.0, 1e-3, 0.25])
def test_neither_copies_of_all_rows_nor_another_scale_of_the_weights_make_a_mean_more_certain(factor: float) -> None:
    assert paired_difference(B, A, np.full(4, factor)) == pytest.approx(paired_difference(B, A))


def test_rows_without_a_score_are_left_out() -> None:
    with_gap = np.append(A, np.nan)
    assert paired_difference(np.append(B, 7.0), with_gap, np.ones(5)) == paired_difference(B, A, np.ones(4))
    assert all(math.isnan(part) for part in mean_and_error([np.nan]))


@pytest.mark.parametrize(
    ("n_errors", "better"), [(0.0, True), (1.0, True), (1.06, True), (1.08, False), (2.0, False)]
)  # 1 / sqrt(3.5 / 4) = 1.069 standard errors
def test_better_is_clear_only_beyond_the_standard_errors_asked_for(n_errors: float, better: bool) -> None:
    assert is_clearly_better(A, B, n_errors=n_errors) is better
    assert not is_clearly_better(B, A, n_errors=n_errors)


@pytest.mark.parametrize("b", [[2.0], [2.0, np.nan], [np.nan, np.nan]])
def test_fewer_than_two_known_rows_make_nothing_clear(b: list[float]) -> None:
    assert not is_clearly_better([1.0] * len(b), b)
