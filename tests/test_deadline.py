"""Deadlines: the tighter one counts, each ends with its block, and long computations keep them."""

import threading
import time

import numpy as np
import pytest
import torch

from genbayes.deadline import OutOfTime, deadline, require_time
from genbayes.errors import GenBayesError
from genbayes.models import StationaryGP
from genbayes.models.regimes.classifier import fit_classifier
from genbayes.training import TrainingSettings, differentiate, minimise


def is_over() -> bool:
    try:
        require_time()
    except OutOfTime:
        return True
    return False


def test_without_a_block_there_is_time() -> None:
    assert not is_over()


def test_time_runs_out_when_the_seconds_have_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    hands = iter([0.0, 1.9, 2.0])
    monkeypatch.setattr("genbayes.deadline.now", lambda: next(hands))
    with deadline(2.0):
        assert (is_over(), is_over()) == (False, True)


def test_none_sets_no_limit() -> None:
    with deadline(None):
        assert not is_over()


@pytest.mark.parametrize(("outer", "inner", "over"), [(0.0, 60.0, True), (60.0, 0.0, True), (0.0, None, True)])
def test_of_nested_blocks_the_tighter_one_counts(outer, inner, over: bool) -> None:
    with deadline(outer), deadline(inner):
        assert is_over() is over


def test_leaving_a_block_restores_the_one_around_it() -> None:
    with deadline(60.0):
        with deadline(0.0):
            assert is_over()
        assert not is_over()


def test_a_block_left_by_an_error_is_restored_too() -> None:
    with pytest.raises(OutOfTime, match="must end by its deadline"), deadline(0.0):
        require_time()
    assert not is_over()


def test_other_threads_are_not_touched() -> None:
    seen: list[bool] = []
    with deadline(0.0):
        thread = threading.Thread(target=lambda: seen.append(is_over()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_it_is_caught_as_a_timeout_and_as_an_error_of_this_library() -> None:
    assert issubclass(OutOfTime, TimeoutError)
    assert issubclass(OutOfTime, GenBayesError)


def test_training_stops_in_the_middle() -> None:
    parameter, steps = torch.nn.Parameter(torch.zeros(1, 1)), []

    def loss(rows: torch.Tensor) -> torch.Tensor:
        steps.append(len(rows))
        time.sleep(0.01)
        return (parameter**2).mean(dim=1)

    def train(n_epochs: int) -> None:
        generator = torch.Generator().manual_seed(0)
        minimise(differentiate(loss), [parameter], [torch.arange(10)], TrainingSettings(n_epochs=n_epochs), [generator])

    train(1)  # the first call of an optimiser loads much of torch
    with pytest.raises(OutOfTime, match="no time left"), deadline(0.05):
        train(1_000)
    assert 1 <= len(steps) <= 7


def draw_runs(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 3))
    return X, np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(n)


def seconds_to_stop(model, X: np.ndarray, y: np.ndarray) -> float:
    started = time.perf_counter()
    with pytest.raises(OutOfTime, match="no time left"), deadline(0.05):
        model.fit(X, y)
    return time.perf_counter() - started


def test_the_search_of_a_gp_stops() -> None:
    assert seconds_to_stop(StationaryGP(random_state=0), *draw_runs(600)) < 10


def test_the_classifier_of_regimes_stops() -> None:
    X, y = draw_runs(1_000)
    label = np.column_stack([y <= 1, y > 1]).astype(float)
    started = time.perf_counter()
    with pytest.raises(OutOfTime, match="no time left"), deadline(0.05):
        fit_classifier(X, np.log(np.maximum(label, 1e-9)), label, np.ones(1_000), np.random.default_rng(0))
    assert time.perf_counter() - started < 20


def test_boosted_trees_stop() -> None:
    pytest.importorskip("lightgbm")
    from genbayes.models.trees.boosted import BoostedQuantiles

    model = BoostedQuantiles(n_trees=100_000, learning_rate=1e-4, random_state=0)
    assert seconds_to_stop(model, *draw_runs(300)) < 2


def test_a_fit_with_time_enough_is_the_fit_without_a_deadline() -> None:
    X, y = draw_runs(40)
    plain = StationaryGP(random_state=0).fit(X, y).predict(X)
    with deadline(60.0):
        np.testing.assert_array_equal(StationaryGP(random_state=0).fit(X, y).predict(X), plain)
