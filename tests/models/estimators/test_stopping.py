"""The number of trees is read off rows that the trees have not seen."""

import numpy as np
import pytest

from genbayes.models.trees.boosted import best_length, held_out_folds


@pytest.mark.parametrize("n", [10, 101])
def test_every_row_is_held_out_once_and_never_seen_by_its_fold(n: int) -> None:
    folds = held_out_folds(n, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(np.concatenate([held_out for _, held_out in folds])), np.arange(n))
    assert all(np.intersect1d(*fold).size == 0 and sum(map(len, fold)) == n for fold in folds)


def test_one_fold_is_enough_when_rows_abound() -> None:
    ((learn, held_out),) = held_out_folds(10_001, np.random.default_rng(0))
    assert len(held_out) == 3334
    assert np.intersect1d(learn, held_out).size == 0


def test_the_best_length_is_that_of_the_mean_curve() -> None:
    assert best_length([[5.0, 1.0, 4.0, 0.0], [5.0, 4.0, 0.5, 9.0]]) == (3, 2.25)


def test_only_lengths_that_every_fold_reached_are_compared() -> None:
    assert best_length([[5.0, 4.0, 0.0], [5.0, 4.5]]) == (2, 4.25)


def test_a_length_at_which_a_fold_diverged_is_never_chosen() -> None:
    assert best_length([[5.0, 1.0, np.nan], [5.0, np.inf, 0.0]]) == (1, 5.0)
