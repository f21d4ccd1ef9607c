import numpy as np

from genbayes.design.gp import LocalScale
from genbayes.models.gp.exact import Kriging
from genbayes.models.gp.likelihood import GPParameters, Replicates

GRID = np.linspace(-2, 2, 41)[:, None]


def scale_of(y: np.ndarray) -> LocalScale:
    runs = Replicates.collect(GRID, y, np.ones(41))
    return LocalScale.learn(Kriging(GPParameters(np.array([0.5]), 1e-4, 1.0, 0.0), runs))


def test_a_gp_that_is_right_is_left_alone_on_average() -> None:
    rng = np.random.default_rng(0)
    distance = np.sqrt(5) * np.abs(GRID - GRID.T) / 0.5
    C = (1 + distance + distance**2 / 3) * np.exp(-distance) + 1e-4 * np.eye(41)
    draws = np.linalg.cholesky(C) @ rng.standard_normal((41, 50))
    means = [scale_of(draw).ratio.mean() for draw in draws.T]
    assert abs(np.mean(means) - 1) < 3 * np.std(means) / np.sqrt(50)  # E[e^2 / s^2] = 1; false alarm 1 in 370


def test_far_from_all_runs_the_factor_is_one() -> None:
    assert np.isclose(scale_of(np.sin(9 * GRID[:, 0])).at(np.array([[50.0]]))[0], 1.0)


def test_the_factor_is_large_where_the_response_is_lively_and_small_where_it_is_calm() -> None:
    scale = scale_of(np.where(GRID[:, 0] > 0, np.sin(20 * GRID[:, 0]), 0.0))
    calm, lively = scale.at(np.array([[-1.5], [1.5]]))
    assert lively > 10 * calm


def test_the_factor_at_a_run_without_its_own_error_ignores_that_error() -> None:
    scale = scale_of(np.sin(3 * GRID[:, 0]))
    other = LocalScale(scale.length, scale.W, scale.ratio + 1e3 * (np.arange(41) == 20))
    assert scale.without_own()[20] == other.without_own()[20]
    assert scale.at(GRID)[20] < other.at(GRID)[20]
