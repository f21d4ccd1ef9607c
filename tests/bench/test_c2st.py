"""C2ST: its ends, agreement with scikit-learn's network, what it refuses."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.model_selection import KFold, cross_val_score
from sklearn.neural_network import MLPClassifier

from genbayes.errors import InvalidInput
from genbayes_bench.c2st import c2st, c2st_many


def samples(shift: float, n: int = 120, d: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.random.default_rng(seed).normal(size=(2, n, d))
    return first, second + shift


def test_one_distribution_gives_a_half_and_two_that_never_meet_give_one() -> None:
    same, apart = c2st_many([samples(0.0), samples(20.0)])
    assert abs(same - 0.5) < 4 * 0.5 / np.sqrt(240)  # a guess is right as often as a coin
    assert apart == 1.0


def test_it_is_the_accuracy_of_scikit_learns_network_with_sbibms_settings() -> None:
    reference, draws = samples(0.8, n=150)
    mean, sd = reference.mean(axis=0), reference.std(axis=0, ddof=1)
    X, y = (np.concatenate([reference, draws]) - mean) / sd, np.repeat([0, 1], 150)
    network = MLPClassifier(activation="relu", hidden_layer_sizes=(20, 20), max_iter=10_000, random_state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = cross_val_score(network, X, y, cv=KFold(5, shuffle=True, random_state=1)).mean()
    assert c2st(reference, draws) == pytest.approx(theirs, abs=0.03)  # other starts, the same folds


def test_scores_of_many_pairs_do_not_depend_on_the_unit_and_few_rows_may_leave_folds_of_two_sizes() -> None:
    reference, draws = samples(1.0, n=51)
    assert c2st(reference, draws) == pytest.approx(c2st(1e6 * reference, 1e6 * draws), abs=0.03)


def test_pairs_of_different_sizes_are_refused_together() -> None:
    with pytest.raises(InvalidInput, match="as many draws each"):
        c2st_many([samples(0.0, n=20), samples(0.0, n=25)])


@pytest.mark.parametrize(
    ("reference", "draws", "match"),
    [
        (np.ones((9, 2)), np.ones((9, 3)), r"columns of the reference, got \(9, 2\) and \(9, 3\)"),
        (np.ones((9, 2)), np.full((9, 2), np.nan), "finite, got NaN"),
        (np.ones((9, 2)), np.ones((9, 2)), "vary in every dimension"),
    ],
)
def test_what_cannot_be_compared_is_refused(reference, draws, match) -> None:
    with pytest.raises(InvalidInput, match=match):
        c2st(reference, draws)
