"""What ConformalSurrogate is given: labels of groups, and who learns and who calibrates."""

import numpy as np
import pandas as pd
import pytest

from genbayes.conformal.rows import Groups, draw_folds, draw_split
from genbayes.errors import InvalidInput

ONE = Groups()
TWO = np.repeat([0, 1], 100)  # two groups


@pytest.mark.parametrize(
    "labels",
    [["b", "a", "b"], np.array(["b", "a", "b"]), pd.Series(["b", "a", "b"], index=[7, 8, 9]), np.array([2, 1, 2])],
)
def test_labels_of_any_kind_are_numbered_in_order(labels) -> None:
    np.testing.assert_array_equal(Groups.learn(labels, 3).encode(labels, 3), [1, 0, 1])


def test_numbers_and_text_may_stand_side_by_side() -> None:
    assert Groups.learn([1, "a", 0.5], 3).labels == (0.5, 1, "a")


def test_without_labels_all_rows_are_one_group() -> None:
    none = Groups.learn(None, 3)
    assert len(none) == 1
    np.testing.assert_array_equal(none.encode(None, 2), [0, 0])


@pytest.mark.parametrize(
    ("known", "asked", "n", "sentence"),
    [
        (("a", "b"), ["a", "b", "c"], 3, r"be among those of fit \('a', 'b'\), got 'c' in 1 of 3 rows \(row 2\)"),
        (("a", "b"), None, 3, r"be given, since fit was given groups \('a', 'b'\)"),
        ((), ["a"], 1, "be left out, since fit was given none"),
        (("a", "b"), ["a", "b"], 3, r"have shape \(3,\), one label per row, got \(2,\)"),
    ],
)
def test_labels_that_do_not_fit_are_refused(known: tuple[str, ...], asked, n: int, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=f"groups must {sentence}"):
        Groups(known).encode(asked, n)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NaT, ("a", "b")])
def test_a_missing_label_is_refused(missing) -> None:
    labels = np.empty(2, dtype=object)
    labels[:] = ["a", missing]
    with pytest.raises(InvalidInput, match=r"groups must be text or numbers, got .* in 1 of 2 rows \(row 1\)"):
        Groups.learn(labels, 2)


def alone(n: int) -> np.ndarray:
    return np.zeros(n, dtype=np.int64)


@pytest.mark.parametrize(("n", "level", "n_held"), [(400, 0.9, 100), (60, 0.9, 19), (29, 0.9, 19), (9_000, 0.9, 1_000)])
def test_a_quarter_calibrates_but_never_too_few_and_not_more_than_enough(n: int, level: float, n_held: int) -> None:
    assert draw_split(alone(n), ONE, level, None, 10, np.random.default_rng(0)).sum() == n_held


def test_a_share_that_is_asked_for_is_kept() -> None:
    assert draw_split(alone(60), ONE, 0.9, 0.5, 10, np.random.default_rng(0)).sum() == 30


@pytest.mark.parametrize(
    ("codes", "level", "share", "sentence"),
    [
        (alone(60), 0.9, 0.2, "level must be at most 0.8461 with 12 calibration rows, got 0.9"),
        (alone(60), 0.9, 0.9, "X must leave at least 10 rows to learn from, got 6 of 60"),
        (
            alone(20),
            0.9,
            None,
            r"X must have at least 29 rows for method='split' at level 0.9 \(19 to calibrate, 10 to learn from\), got "
            "20; lower level to 0.8181 or use method='cross'",
        ),
        (alone(11), 0.9, None, "got 11; give more rows"),
        (TWO[:105], 0.9, None, "level must be at most 0.6666 with 5 calibration rows in group 'b', got 0.9; give at"),
        (TWO[80:120], 0.9, None, r"at least 48 rows .*\(19 to calibrate each group, 10 to learn from\), got 40"),
    ],
)
def test_a_split_that_cannot_be_drawn_is_refused(codes, level: float, share: float | None, sentence: str) -> None:
    groups = Groups(("a", "b")) if codes.any() else ONE
    with pytest.raises(InvalidInput, match=sentence):
        draw_split(codes, groups, level, share, 10, np.random.default_rng(0))


def test_the_level_that_is_offered_would_do() -> None:
    draw_split(alone(20), ONE, 0.8181, None, 10, np.random.default_rng(0))


def test_every_row_calibrates_equally_often() -> None:
    held = np.mean([draw_split(alone(40), ONE, 0.8, None, 10, rng) for rng in np.random.default_rng(1).spawn(2_000)], 0)
    standard_error = np.sqrt(0.25 * 0.75 / 2_000)
    assert np.abs(held - 0.25).max() < 4.5 * standard_error  # 40 rows: false alarm 1 in 3,700


def test_each_group_keeps_its_share() -> None:
    codes = np.repeat([0, 1], [100, 40])
    held = draw_split(codes, Groups(("a", "b")), 0.8, None, 10, np.random.default_rng(0))
    np.testing.assert_array_equal(np.bincount(codes[held]), [25, 10])


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


def test_folds_that_cannot_be_drawn_are_refused() -> None:
    with pytest.raises(InvalidInput, match="X must have at least 13 rows for method='cross' with 5 folds, got 12"):
        draw_folds(alone(12), ONE, 0.5, 5, 10, np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="level must be at most 0.6666 with 5 calibration rows in group 'b'"):
        draw_folds(TWO[:105], Groups(("a", "b")), 0.9, 5, 10, np.random.default_rng(0))
    folds = draw_folds(alone(13), ONE, 0.5, 5, 10, np.random.default_rng(0))
    assert 13 - np.bincount(folds).max() == 10
