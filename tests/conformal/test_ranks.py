"""Order statistics and the coverage they give: whole numbers, checked exactly."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genbayes.conformal.recalibration import cross_bound, highest_level, interval_ranks, require_support, rows_needed
from genbayes.errors import InvalidInput

PERCENT = st.integers(1, 99)


@given(st.integers(2, 3_000), PERCENT)
def test_the_gaps_of_an_interval_are_the_least_number_that_covers(n: int, percent: int) -> None:
    lower, upper = interval_ranks(n, percent / 100)
    assert upper - lower == math.ceil(Fraction(percent, 100) * (n + 1))
    assert 0 <= (n + 1 - upper) - lower <= 1  # what is left out is shared evenly


@given(PERCENT)
def test_the_rows_needed_are_the_fewest_that_give_two_finite_ends(percent: int) -> None:
    n = rows_needed(percent / 100)
    assert n >= 2
    assert Fraction(percent, 100) <= Fraction(n - 1, n + 1)
    assert n == 2 or Fraction(percent, 100) > Fraction(n - 2, n)


@given(st.integers(2, 3_000), PERCENT)
def test_ends_are_finite_exactly_when_there_are_enough_rows(n: int, percent: int) -> None:
    lower, upper = interval_ranks(n, percent / 100)
    assert (lower >= 1 and upper <= n) == (n >= rows_needed(percent / 100))


@pytest.mark.parametrize(("n", "most"), [(6, 5 / 7), (19, 0.9), (20, 19 / 21), (1, 0.0), (0, 0.0)])
def test_the_highest_level_spans_all_scores(n: int, most: float) -> None:
    assert highest_level(n) == pytest.approx(most)


def test_a_level_is_refused_with_the_one_that_would_do() -> None:
    require_support(19, 0.9)
    with pytest.raises(InvalidInput, match="level must be at most 0.8947 with 18 calibration rows, got 0.9; .* 19"):
        require_support(18, 0.9)
    require_support(18, 0.8947)


def test_the_cross_bound_is_that_of_jackknife_plus_when_each_row_is_a_fold() -> None:
    assert cross_bound(99, 99, 0.9) == pytest.approx(0.8)


@pytest.mark.parametrize(("n", "K"), [(40, 5), (100, 10), (1000, 10), (1000, 100)])
def test_the_cross_bound_is_no_worse_than_the_square_root_form(n: int, K: int) -> None:
    level = 0.9
    alpha = 1 - np.subtract(*interval_ranks(n, level)[::-1]) / (n + 1)
    assert cross_bound(n, K, level) >= max(1 - 2 * alpha - 2 * math.sqrt(2 / n), 0)  # corollary of theorem 4, twice
    assert cross_bound(n, K, level) <= 1 - 2 * alpha
