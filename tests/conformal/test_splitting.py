"""Who learns and who calibrates: sizes, randomness, and tables that are too small."""

import numpy as np
import pytest

from genbayes.conformal.rows import Groups, draw_folds, draw_split
from genbayes.errors import InvalidInput

ONE = Groups()


def alone(n: int) -> np.ndarray:
    return np.zeros(n, dtype=np.int64)


@pytest.mark.parametrize(("n", "level", "n_held"), [(400, 0.9, 100), (60, 0.9, 19), (29, 0.9, 19), (9_000, 0.9, 1_000)])
def test_a_quarter_calibrates_but_never_too_few_and_not_more_than_enough(n: int, level: float, n_held: int) -> None:
    assert draw_split(alone(n), ONE, level, None, 10, np.random.default_rng(0)).sum() == n_held


def test_a_share_that_is_asked_for_is_kept() -> None:
    assert draw_split(alone(60), ONE, 0.9, 0.5, 10, np.random.default_rng(0)).sum() == 30
    with pytest.raises(InvalidInput, match=r"level must be at most 0.8461 with 12 calibration rows, got 0.9"):
        draw_split(alone(60), ONE, 0.9, 0.2, 10, np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="X must leave at least 10 rows to learn from, got 6 of 60"):
        draw_split(alone(60), ONE, 0.9, 0.9, 10, np.random.default_rng(0))


def test_every_row_calibrates_equally_often() -> None:
    held = np.mean([draw_split(alone(40), ONE, 0.8, None, 10, rng) for rng in np.random.default_rng(1).spawn(2_000)], 0)
    standard_error = np.sqrt(0.25 * 0.75 / 2_000)
    assert np.abs(held - 0.25).max() < 4.5 * standard_error  # 40 rows: false alarm 1 in 3,700


def test_too_few_rows_are_refused_with_the_number_needed_and_the_level_that_would_do() -> None:
    match = (
        r"X must have at least 29 rows for method='split' at level 0.9 \(19 to calibrate, 10 to learn from\), got 20; "
        r"lower level to 0.8181 or use method='cross'"
    )
    with pytest.raises(InvalidInput, match=match):
        draw_split(alone(20), ONE, 0.9, None, 10, np.random.default_rng(0))
    draw_split(alone(20), ONE, 0.8181, None, 10, np.random.default_rng(0))


def test_with_hardly_any_rows_no_level_is_offered() -> None:
    with pytest.raises(InvalidInput, match="got 11; give more rows"):
        draw_split(alone(11), ONE, 0.9, None, 10, np.random.default_rng(0))


def test_each_group_keeps_its_share() -> None:
    codes = np.repeat([0, 1], [100, 40])
    held = draw_split(codes, Groups(("a", "b")), 0.8, None, 10, np.random.default_rng(0))
    np.testing.assert_array_equal(np.bincount(codes[held]), [25, 10])


def test_a_group_that_is_too_small_is_named_with_the_level_it_supports() -> None:
    codes, groups = np.repeat([0, 1], [100, 5]), Groups(("a", "b"))
    match = r"level must be at most 0.6666 with 5 calibration rows in group 'b', got 0.9; give at least 19"
    with pytest.raises(InvalidInput, match=match):
        draw_split(codes, groups, 0.9, None, 10, np.random.default_rng(0))
    with pytest.raises(InvalidInput, match=match):
        draw_folds(codes, groups, 0.9, 5, 10, np.random.default_rng(0))


def test_groups_that_leave_nothing_to_learn_from_are_refused() -> None:
    codes, groups = np.repeat([0, 1], [20, 20]), Groups(("a", "b"))
    with pytest.raises(
        InvalidInput, match=r"at least 48 rows .*\(19 to calibrate each group, 10 to learn from\), got 40"
    ):
        draw_split(codes, groups, 0.9, None, 10, np.random.default_rng(0))


@pytest.mark.parametrize(("n", "n_folds"), [(60, 5), (61, 5), (30, 30), (50, 7)])
def test_folds_are_as_equal_as_can_be(n: int, n_folds: int) -> None:
    sizes = np.bincount(draw_folds(alone(n), ONE, 0.9, n_folds, 10, np.random.default_rng(0)))
    assert len(sizes) == n_folds
    assert sizes.max() - sizes.min() <= 1


def test_folds_are_equal_within_groups_too() -> None:
    codes = np.repeat([0, 1, 2], [31, 22, 40])
    folds = draw_folds(codes, Groups(("a", "b", "c")), 0.8, 5, 10, np.random.default_rng(0))
    for code in range(3):
        sizes = np.bincount(folds[codes == code], minlength=5)
        assert sizes.max() - sizes.min() <= 1


def test_too_few_rows_for_the_folds_are_refused() -> None:
    with pytest.raises(InvalidInput, match="X must have at least 13 rows for method='cross' with 5 folds, got 12"):
        draw_folds(alone(12), ONE, 0.5, 5, 10, np.random.default_rng(0))
    folds = draw_folds(alone(13), ONE, 0.5, 5, 10, np.random.default_rng(0))
    assert 13 - np.bincount(folds).max() == 10
