"""What ConformalSurrogate is given: labels of groups, and who learns and who calibrates."""

import numpy as np
import pandas as pd
import pytest

from genbayes.conformal.splits import Groups, draw_folds, draw_split
from genbayes.errors import InvalidInput

ALONE = np.zeros(9_000, dtype=np.int64)  # all rows are one group
TWO = np.repeat([0, 1], 100)  # two groups


LABELS = ["b", "a", "b"]


@pytest.mark.parametrize("labels", [LABELS, np.array(LABELS), pd.Series(LABELS, index=[7, 8, 9]), np.array([2, 1, 2])])
def test_labels_of_any_kind_are_numbered_in_order(labels) -> None:
    np.testing.assert_array_equal(Groups.learn(labels, 3).encode(labels, 3), [1, 0, 1])


def test_numbers_and_text_may_stand_side_by_side_and_without_labels_all_rows_are_one_group() -> None:
    assert Groups.learn([1, "a", 0.5], 3).labels == (0.5, 1, "a")
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


def members(codes: np.ndarray, groups: Groups) -> np.ndarray:
    return codes[:, None] == np.arange(len(groups))


def split(codes, level: float, share: float | None = None, rng: np.random.Generator | None = None) -> np.ndarray:
    groups = Groups(("a", "b")) if codes.any() else Groups()
    return draw_split(members(codes, groups), groups, level, share, 10, rng or np.random.default_rng(0))


@pytest.mark.parametrize(
    ("n", "level", "share", "n_held"),
    [
        *[(400, 0.9, None, 100), (60, 0.9, None, 19), (29, 0.9, None, 19), (9_000, 0.9, None, 1_000)],
        (60, 0.9, 0.5, 30),  # a share that is asked for is kept
        (20, 0.8181, None, 10),  # the level that is offered below would do
    ],
)
def test_a_quarter_calibrates_but_never_too_few_and_not_more_than_enough(n: int, level: float, share, n_held) -> None:
    assert split(ALONE[:n], level, share).sum() == n_held


@pytest.mark.parametrize(
    ("codes", "share", "sentence"),
    [
        (ALONE[:60], 0.2, "level must be at most 0.8461 with 12 calibration rows, got 0.9"),
        (ALONE[:60], 0.9, "X must leave at least 10 rows to learn from, got 6 of 60"),
        (
            ALONE[:20], None,
            r"X must have at least 29 rows for method='split' at level 0.9 \(19 to calibrate, 10 to learn from\), got "
            "20; lower level to 0.8181 or use method='cross'",
        ),
        (ALONE[:11], None, "got 11; give more rows"),
        (TWO[:105], None, "level must be at most 0.6666 with 5 calibration rows in group 'b', got 0.9; give at"),
        (TWO[80:120], None, r"at least 48 rows .*\(19 to calibrate each group, 10 to learn from\), got 40"),
    ],
)  # fmt: skip
def test_a_split_that_cannot_be_drawn_is_refused(codes, share: float | None, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        split(codes, 0.9, share)


def test_every_row_calibrates_equally_often_and_each_group_keeps_its_share() -> None:
    held = np.mean([split(ALONE[:40], 0.8, rng=rng) for rng in np.random.default_rng(1).spawn(2_000)], axis=0)
    standard_error = np.sqrt(0.25 * 0.75 / 2_000)
    assert np.abs(held - 0.25).max() < 4.5 * standard_error  # 40 rows: false alarm 1 in 3,700
    np.testing.assert_array_equal(np.bincount(TWO[:140][split(TWO[:140], 0.8)]), [25, 10])


def fold(codes, level: float, n_folds: int = 5) -> np.ndarray:
    groups = Groups(tuple("abc")[: codes.max() + 1]) if codes.any() else Groups()
    return draw_folds(members(codes, groups), groups, level, n_folds, 10, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("codes", "n_folds"),
    [
        *[(ALONE[:60], 5), (ALONE[:61], 5), (ALONE[:30], 30), (ALONE[:50], 7)],
        (np.repeat([0, 1, 2], [31, 22, 40]), 5),  # within each group
    ],
)
def test_folds_are_as_equal_as_can_be(codes: np.ndarray, n_folds: int) -> None:
    folds = fold(codes, 0.8, n_folds)
    for code in np.unique(codes):
        sizes = np.bincount(folds[codes == code], minlength=n_folds)
        assert len(sizes) == n_folds
        assert sizes.max() - sizes.min() <= 1


def test_folds_that_cannot_be_drawn_are_refused() -> None:
    with pytest.raises(InvalidInput, match="X must have at least 13 rows for method='cross' with 5 folds, got 12"):
        fold(ALONE[:12], 0.5)
    assert 13 - np.bincount(fold(ALONE[:13], 0.5)).max() == 10
    with pytest.raises(InvalidInput, match="level must be at most 0.6666 with 5 calibration rows in group 'b'"):
        fold(TWO[:105], 0.9)


def test_rows_of_several_groups_calibrate_each_of_them() -> None:
    both = np.ones((60, 2), dtype=bool)
    both[:20, 1] = False
    held_out = draw_split(both, Groups(("a", "b")), 0.8, None, 10, np.random.default_rng(0))
    counts = both[held_out].sum(axis=0)
    assert 15 <= counts[0] <= 25
    assert counts[1] >= 10
    np.testing.assert_array_equal(
        np.sort(np.bincount(draw_folds(both, Groups(("a", "b")), 0.8, 5, 10, np.random.default_rng(0)))), [12] * 5
    )
