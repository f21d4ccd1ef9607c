from collections.abc import Callable

import numpy as np
import pytest

from genbayes.arrays import FloatArray
from genbayes.models.gp.large import FullScale
from genbayes.models.gp.likelihood import Replicates

ONE = np.ones(2)
Dense = Callable[..., tuple[FloatArray, FloatArray]]


def rows_with_noise(n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Inputs, responses, and a noise variance of its own for each row."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(n, 2))
    return W, np.sin(2 * W[:, 0]) + W[:, 1] + 0.2 * rng.normal(size=n), rng.uniform(0.01, 0.2, size=n)


@pytest.mark.parametrize(("n_inducing", "m"), [(5, 80), (80, 4)])
def test_all_neighbours_or_all_inducing_points_are_exact(dense_kriging: Dense, n_inducing: int, m: int) -> None:
    W, y, noise = rows_with_noise(80)
    new = np.random.default_rng(1).normal(size=(10, 2))
    rng = np.random.default_rng(2)
    model = FullScale.learn(W, y, noise, rng, n_inducing=n_inducing, n_predecessors=m, n_neighbours=m)
    mean, variance = dense_kriging(W, y, noise, ONE, new)
    np.testing.assert_allclose(model.predict(new)[0], mean, atol=1e-6)
    np.testing.assert_allclose(model.predict(new)[1], variance, rtol=1e-5)


@pytest.mark.parametrize(("n_inducing", "m"), [(5, 40), (40, 4)])
def test_leaving_one_out_equals_learning_without_it(dense_kriging: Dense, n_inducing: int, m: int) -> None:
    W, y, noise = rows_with_noise(40)
    model = FullScale.learn(W, y, noise, np.random.default_rng(2), n_inducing=n_inducing, n_predecessors=m)
    mean, variance = model.leave_one_out()
    for i in (0, 17, 39):
        rest = np.arange(40) != i
        expected = dense_kriging(W[rest], y[rest], noise[rest], ONE, W[i : i + 1])
        assert mean[i] == pytest.approx(expected[0][0], abs=1e-7)
        assert variance[i] == pytest.approx(expected[1][0], rel=1e-6)


def test_few_inducing_points_and_neighbours_come_close_to_the_exact_gp(dense_kriging: Dense) -> None:
    W, y, noise = rows_with_noise(600)
    new = np.random.default_rng(1).normal(size=(50, 2))
    mean, variance = dense_kriging(W, y, noise, ONE, new)
    model = FullScale.learn(W, y, noise, np.random.default_rng(2), n_inducing=100, n_predecessors=15, n_neighbours=20)
    ours = model.predict(new)
    assert np.sqrt(np.mean((ours[0] - mean) ** 2 / variance)) < 0.15  # in standard deviations of the exact GP
    assert np.mean(ours[1] / variance) == pytest.approx(1.0, abs=0.05)


def test_a_row_is_predicted_the_same_in_any_company() -> None:
    W, y, noise = rows_with_noise(300)
    model = FullScale.learn(W, y, noise, np.random.default_rng(2), n_inducing=50)
    new = np.random.default_rng(1).normal(size=(2000, 2))
    together = np.array(model.predict(new))
    alone = np.array([model.predict(new[i : i + 1]) for i in (0, 999, 1999)])[:, :, 0].T
    np.testing.assert_allclose(together[:, [0, 999, 1999]], alone, atol=1e-10)


def test_far_away_only_the_mean_is_known() -> None:
    W, y, noise = rows_with_noise(100)
    model = FullScale.learn(W, y, noise, np.random.default_rng(2), n_inducing=20)
    mean, variance = model.predict(np.array([[500.0, 0.0]]))
    assert mean[0] == pytest.approx(model.coefficients[-1])
    assert 1.0 < variance[0] < 2.0


def test_runs_without_noise_are_met(make_runs: Callable[..., Replicates]) -> None:
    runs = make_runs(500, 2, noise=0.0)
    model = FullScale.learn(runs.Z, runs.mean, np.full(500, 1e-8), np.random.default_rng(0), n_inducing=60)
    mean, variance = model.predict(runs.Z[:100])
    np.testing.assert_allclose(mean, runs.mean[:100], atol=1e-4)
    assert variance.max() < 1e-6
