"""The one door: each rule in one sentence."""

from collections.abc import Callable
from functools import partial

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

NAN, INF = float("nan"), float("inf")
LEVEL = "level must lie strictly between 0 and 1, got .*; pass 0.9 for 90%"
ONE_BAD_ROW = r"must be finite, got NaN or infinity in 1 of 2 rows \(row 1\)"


@pytest.mark.parametrize(
    ("check", "arguments", "sentence"),
    [
        *[(check_level, [level], LEVEL) for level in (0, 1, 90, -0.1, NAN, True, "0.9", None)],
        *[(check_tau, [t], "tau must lie strictly between 0 and 1") for t in (0.0, 1.0, [0.5, 1.2], NAN, [0.1, INF])],
        *[(check_tau, [no_sequence], "tau must") for no_sequence in ([], [[0.1]], "a", None)],
        (check_targets, [[1, 2], 3], r"y must have shape \(3,\), one value per row, got \(2,\)"),
        (check_targets, [[1, NAN], 2], f"y {ONE_BAD_ROW}"),
        (check_targets, [["a", "b"], 2], "y must be numbers"),
        (check_finite, [np.array([[1.0, 2.0], [3.0, INF]]), "X"], f"X {ONE_BAD_ROW}"),
        *[(check_count, [n, "n"], "n must be a whole number of at least 1, got") for n in (0, 2.5, True, "3", None)],
        *[
            (check_nonnegative, [a, "a"], "a must be zero or positive and finite")
            for a in (-1, NAN, INF, "a", True, 10**400)
        ],
        (partial(check_nonnegative, strictly=True), [0, "a"], "a must be positive and finite, got 0"),
        (check_choice, ["papr", "recipe", ["fast", "paper"]], "recipe must be one of 'fast', 'paper', got 'papr'; did"),
        (check_choice, ["papr", "recipe", ["fast", "paper"]], "did you mean 'paper'?"),
        (check_array, [[1.0, 2.0], "q", "(n, m)"], "q must"),
        (check_array, [[["a"]], "q", "(n, m)"], "q must"),
    ],
)
def test_what_breaks_a_rule_is_refused(check: Callable[..., object], arguments: list, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        check(*arguments)


def test_targets_are_one_value_a_row() -> None:
    np.testing.assert_array_equal(check_targets(2, 3), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(check_targets([[1], [2]], 2), [1.0, 2.0])


def test_rows_are_counted_and_the_first_are_named() -> None:
    assert describe_rows(np.arange(9) > 1) == "7 of 9 rows (rows 2, 3, 4, 5, 6, ...)"


def test_counts_of_numpy_are_accepted() -> None:
    assert type(check_count(np.int32(3), "n")) is int


def test_a_word_far_from_all_others_has_no_suggestion() -> None:
    assert suggest("zzz", ["fast"]) == ""
