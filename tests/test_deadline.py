"""Deadlines: the tighter one counts, each ends with its block, and long computations keep them."""

import threading
import time
from collections.abc import Callable

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


@pytest.mark.parametrize(
    ("outer", "inner", "over"),
    [(None, None, False), (60.0, None, False), (0.0, 60.0, True), (60.0, 0.0, True), (0.0, None, True)],
)
def test_the_tighter_of_nested_blocks_counts_in_this_thread_until_it_is_left(outer, inner, over: bool) -> None:
    seen: list[bool] = []
    with deadline(outer):
        with deadline(inner):
            assert is_over() is over
            thread = threading.Thread(target=lambda: seen.append(is_over()))
            thread.start()
            thread.join()
        assert is_over() is (outer == 0)
    assert (seen, is_over()) == ([False], False)


@pytest.mark.parametrize("kind", [OutOfTime, TimeoutError, GenBayesError])
def test_a_block_left_by_an_error_is_restored_too(kind: type[Exception]) -> None:
    with pytest.raises(kind, match="must end by its deadline"), deadline(0.0):
        require_time()
    assert not is_over()


def test_time_runs_out_when_the_seconds_have_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    hands = iter([0.0, 1.9, 2.0])
    monkeypatch.setattr("genbayes.deadline.now", lambda: next(hands))
    with deadline(2.0):
        assert (is_over(), is_over()) == (False, True)


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


def boost(X: np.ndarray, y: np.ndarray) -> None:
    pytest.importorskip("lightgbm")
    from genbayes.models.trees.boosted import BoostedQuantiles

    BoostedQuantiles(n_trees=100_000, learning_rate=1e-4, random_state=0).fit(X, y)


def classify(X: np.ndarray, y: np.ndarray) -> None:
    label = np.column_stack([y <= 1, y > 1]).astype(float)
    fit_classifier(X, np.log(np.maximum(label, 1e-9)), label, np.ones(len(y)), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("fit", "n", "seconds"), [(StationaryGP(random_state=0).fit, 600, 10), (classify, 1_000, 20), (boost, 300, 2)],
    ids=["gp", "classifier", "boosted"],
)  # fmt: skip
def test_a_long_fit_stops(fit: Callable[..., object], n: int, seconds: float) -> None:
    runs, started = draw_runs(n), time.perf_counter()
    with pytest.raises(OutOfTime, match="no time left"), deadline(0.05):
        fit(*runs)
    assert time.perf_counter() - started < seconds


def test_a_fit_with_time_enough_is_the_fit_without_a_deadline() -> None:
    X, y = draw_runs(40)
    plain = StationaryGP(random_state=0).fit(X, y).predict(X)
    with deadline(60.0):
        np.testing.assert_array_equal(StationaryGP(random_state=0).fit(X, y).predict(X), plain)
