"""Folds: nearly equal, whole inputs and known categories only, and a clear sentence where rows do not suffice."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genbayes.data import hold_out
from genbayes.data.folds import ALWAYS_LEARNT, draw_folds, hold_out_unseen, number_units
from genbayes.data.matrix import code_values
from genbayes.errors import InvalidInput


def draw(X: np.ndarray, n_folds: int = 5, categorical: tuple[int, ...] = (), seed: int = 0) -> np.ndarray:
    return draw_folds(X, np.arange(float(len(X))), n_folds, categorical, 10, np.random.default_rng(seed))


@given(st.integers(2, 10), st.integers(0, 60), st.integers(0, 10**6))
def test_sizes_differ_by_one_at_most_and_enough_is_left(n_folds: int, more: int, seed: int) -> None:
    n = -(-10 * n_folds // (n_folds - 1)) + more
    size = np.bincount(draw(np.arange(float(n))[:, None], n_folds, seed=seed), minlength=n_folds)
    assert size.sum() == n
    assert size.max() - size.min() <= 1
    assert n - size.max() >= 10


@given(st.integers(0, 10**6))
def test_inputs_repeated_on_purpose_stay_together_and_by_chance_are_shared_out(seed: int) -> None:
    X = np.random.default_rng(seed).integers(0, 6, (80, 2)).astype(float)  # 36 inputs at most
    fold = draw(X, seed=seed)
    for x in np.unique(X, axis=0):
        assert len(np.unique(fold[(x == X).all(axis=1)])) == 1
    by_chance = np.r_[np.arange(60.0), np.zeros(20)][:, None]
    assert len(np.unique(draw(by_chance)[60:])) == 5


def test_folds_are_drawn_at_random_and_again_by_the_same_seed() -> None:
    X = np.arange(40.0)[:, None]
    np.testing.assert_array_equal(draw(X, seed=1), draw(X, seed=1))
    assert (draw(X, seed=1) != draw(X, seed=2)).any()


@given(st.integers(0, 10**6))
def test_a_held_out_category_is_always_among_the_rows_learnt_from(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(size=40), rng.integers(0, 8, 40), rng.integers(0, 15, 40)])
    fold = draw(X, categorical=(1, 2), seed=seed)
    for each in range(5):
        for column in (1, 2):
            assert set(X[fold == each, column]) <= set(X[fold != each, column])


def test_a_category_of_one_fold_is_learnt_from_and_never_judged_but_a_number_is() -> None:
    X = np.column_stack([np.arange(30.0), np.r_[7.0, np.arange(29.0) % 2]])
    fold = draw(X, categorical=(1,))
    assert fold[0] == ALWAYS_LEARNT
    assert (fold[1:] >= 0).all()
    assert (draw(X) >= 0).all()


@pytest.mark.parametrize(("n_folds", "needed"), [(2, 20), (3, 15), (5, 13), (10, 12)])
def test_too_few_rows_are_refused_with_the_number_that_is_needed(n_folds: int, needed: int) -> None:
    X = np.arange(float(needed))[:, None]
    assert draw(X, n_folds).max() == n_folds - 1
    with pytest.raises(InvalidInput, match=f"X must have at least {needed} .*{n_folds} folds.*got {needed - 1}"):
        draw(X[1:], n_folds)


def test_categories_that_leave_nothing_to_hold_out_are_refused() -> None:
    X = np.column_stack([np.arange(20.0), np.arange(20.0)])
    with pytest.raises(InvalidInput, match="categorical must leave rows to be held out"):
        draw(X, categorical=(1,))


@given(st.integers(2, 200), st.integers(0, 10**6))
def test_rows_without_repeats_are_held_out_as_by_their_numbers(n: int, seed: int) -> None:
    X, y = np.random.default_rng(seed).uniform(size=(n, 3)), np.zeros(n)
    for mine, plain in zip(hold_out_unseen(X, y, 0.2, seed), hold_out(n, 0.2, seed), strict=True):
        np.testing.assert_array_equal(mine, plain)


@given(st.integers(0, 10**6))
def test_copies_of_a_row_are_held_out_together_and_a_fifth_of_the_rows_at_most(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = np.r_[np.arange(60), rng.choice(60, 20)]  # some rows twice or more, inputs not repeated on purpose
    rng.shuffle(rows)
    X, y = rng.uniform(size=(60, 2))[rows], rng.uniform(size=60)[rows]
    learn, held = hold_out_unseen(X, y, 0.2, seed)
    assert sorted([*learn, *held]) == list(range(80))
    assert not set(rows[learn]) & set(rows[held])
    assert 8 <= len(held) <= 16


@pytest.mark.parametrize("share", [0.01, 0.2, 0.5])
def test_inputs_repeated_on_purpose_are_held_out_whole_and_one_at_least(share: float) -> None:
    X, y = np.repeat(np.arange(10.0), 4)[:, None], np.arange(40.0)
    learn, held = hold_out_unseen(X, y, share, 0)
    assert not set(X[learn, 0]) & set(X[held, 0])
    assert len(held) == max(4, 40 * share)


@given(st.integers(0, 10**6))
def test_a_category_of_held_out_rows_is_learnt_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(size=40), rng.integers(0, 15, 40)])
    learn, held = hold_out_unseen(X, X[:, 0], 0.2, seed, [1])
    assert set(X[held, 1]) <= set(X[learn, 1])
    assert sorted([*learn, *held]) == list(range(40))


def test_rows_that_each_have_a_category_of_their_own_cannot_be_held_out() -> None:
    X = np.arange(20.0)[:, None]
    with pytest.raises(InvalidInput, match="categorical must leave rows to be held out"):
        hold_out_unseen(X, X[:, 0], 0.2, 0, [0])


def test_units_are_rows_with_their_copies_whatever_the_columns_hold() -> None:
    frame = pd.DataFrame({"gas": ["O2", "He", "O2", "He"], "on": [True, False, True, True]})
    X = code_values(frame, 4)
    assert number_units(X, np.array([1.0, 1.0, 1.0, 1.0])).tolist() == [0, 1, 0, 2]
    assert number_units(X, np.array([1.0, 1.0, 2.0, 1.0])).tolist() == [0, 1, 2, 3]
