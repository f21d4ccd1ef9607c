from typing import Any

import numpy as np
import pytest

from genbayes.arrays import FloatArray
from genbayes.design import DesignGP
from genbayes.design.optimum import ExpectedImprovement, ThompsonSampling, UpperConfidenceBound
from genbayes.distribution import Empirical, Normal


class Known:
    """A model whose law at x is N(x, 1), or draws from it."""

    def __init__(self, draws: bool = False) -> None:
        self.draws = draws

    def predict_distribution(self, X: Any, of: str = "run") -> Any:
        mean = np.asarray(X)[:, 0]
        if self.draws:
            return Empirical(mean[:, None] + Normal([0.0], [1.0]).ppf((np.arange(2000) + 0.5) / 2000))
        return Normal(mean, 1.0)


POINTS = np.array([[-1.0], [0.0], [2.0]])


def test_expected_improvement_is_that_of_simulation() -> None:
    y = POINTS[:, 0] + np.random.default_rng(0).standard_normal((400_000, 3))
    simulated = np.maximum(0.5 - y, 0.0)
    error = simulated.std(axis=0) / np.sqrt(len(y))
    assert (np.abs(ExpectedImprovement(0.5)(Known(), POINTS) - simulated.mean(axis=0)) < 4 * error).all()


def test_expected_improvement_of_draws_is_that_of_their_law() -> None:
    exact, drawn = (ExpectedImprovement(0.5)(Known(draws), POINTS) for draws in (False, True))
    assert np.allclose(exact, drawn, rtol=0.02, atol=1e-3)


def test_maximising_mirrors_minimising() -> None:
    up, down = ExpectedImprovement(0.5, maximise=True)(Known(), POINTS), ExpectedImprovement(-0.5)(Known(), -POINTS)
    assert np.allclose(up, down)


def test_a_certain_law_improves_by_its_gap_or_not_at_all() -> None:
    class Certain:
        def predict_distribution(self, X: Any, of: str = "run") -> Normal:
            return Normal(np.asarray(X)[:, 0], 0.0)

    assert np.allclose(ExpectedImprovement(0.5)(Certain(), POINTS), [1.5, 0.5, 0.0])


def test_the_confidence_bound_adds_what_is_not_known() -> None:
    assert np.allclose(UpperConfidenceBound(kappa=2.0, maximise=True)(Known(), POINTS), POINTS[:, 0] + 2)
    assert np.allclose(UpperConfidenceBound(kappa=2.0)(Known(), POINTS), -POINTS[:, 0] + 2)


def test_a_negative_kappa_is_refused() -> None:
    with pytest.raises(ValueError, match="kappa must be zero or positive"):
        UpperConfidenceBound(kappa=-1.0)(Known(), POINTS)


def test_thompson_sampling_keeps_to_one_function() -> None:
    X = np.random.default_rng(0).uniform(size=(6, 1))
    model = DesignGP().fit(X, np.sin(9 * X[:, 0]), np.random.default_rng(0))
    grid = np.linspace(0, 1, 20)[:, None]
    one, other = ThompsonSampling(0), ThompsonSampling(1)
    assert np.array_equal(one(model, grid), one(model, grid))
    assert not np.array_equal(one(model, grid), other(model, grid))


def test_thompson_sampling_of_members_follows_one_of_them() -> None:
    class Members(Known):
        def predict_members(self, X: Any) -> FloatArray:
            return np.stack([np.full(len(X), -1.0), np.full(len(X), 1.0)])

    found = {float(ThompsonSampling(seed)(Members(), POINTS)[0]) for seed in range(20)}
    assert found == {-1.0, 1.0}


def test_an_optimum_is_found_by_a_few_improvements() -> None:
    grid = np.linspace(0, 1, 200)[:, None]
    rng = np.random.default_rng(0)

    def f(X: FloatArray) -> FloatArray:
        return np.sin(9 * X[:, 0]) + 2 * X[:, 0]

    X = np.array([[0.0], [0.3], [0.6], [1.0]])
    for _ in range(8):
        model = DesignGP().fit(X, f(X), rng)
        X = np.vstack([X, grid[[ExpectedImprovement(f(X).min())(model, grid).argmax()]]])
    assert f(X).min() - f(grid).min() < 0.01
