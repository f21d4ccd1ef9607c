from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from genbayes.arrays import FloatArray
from genbayes.design import DesignGP, RandomizedPriors
from genbayes.design.acquisition import VarianceReduction, disagreement
from genbayes.design.batch import choose_batch

GRID = np.random.default_rng(9).uniform(size=(600, 2))
NOTHING = np.empty((0, 2))
Q = 6


def data() -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(25, 2)) * [0.6, 1.0]  # nothing is known on the right
    return X, np.sin(5 * X[:, 0]) + X[:, 1] ** 2


def best_of_grid(score: Callable[[FloatArray], FloatArray]) -> FloatArray:
    return np.asarray(GRID[score(GRID).argmax()])


def same(U: FloatArray) -> FloatArray:
    return U


def least_distance(U: FloatArray) -> float:
    gaps = np.sqrt(((U[:, None] - U[None]) ** 2).sum(axis=2))
    return float(gaps[np.triu_indices(len(U), 1)].min())


def left_after(model: Any, U: FloatArray) -> float:
    """Mean disagreement over the grid once the batch is done."""
    return float(disagreement(model.imagine(U), GRID).mean())


@pytest.fixture(scope="module", params=["gp", "ensemble"])
def model(request: pytest.FixtureRequest) -> Any:
    made = DesignGP() if request.param == "gp" else RandomizedPriors(n_steps=200)
    return made.fit(*data(), np.random.default_rng(0))


@pytest.mark.parametrize(
    "acquisition", [disagreement, VarianceReduction(GRID[:200])], ids=["disagreement", "reduction"]
)
def test_a_batch_is_further_apart_and_settles_more_than_the_best_q(model: Any, acquisition: Any) -> None:
    top = GRID[np.argsort(-acquisition(model, GRID))[:Q]]
    batch = choose_batch(model, acquisition, best_of_grid, Q, same, NOTHING)
    assert least_distance(batch) > 2 * least_distance(top)
    assert left_after(model, batch) < left_after(model, top)


def test_a_batch_begins_with_the_best_point(model: Any) -> None:
    batch = choose_batch(model, disagreement, best_of_grid, 3, same, NOTHING)
    assert np.array_equal(batch[0], best_of_grid(lambda U: disagreement(model, U)))


def test_one_after_another_while_runs_are_out_is_the_same_as_at_once(model: Any) -> None:
    at_once = choose_batch(model, disagreement, best_of_grid, 3, same, NOTHING)
    running = NOTHING
    for _ in range(3):
        running = np.vstack([running, choose_batch(model, disagreement, best_of_grid, 1, same, running)])
    assert np.array_equal(at_once, running)
