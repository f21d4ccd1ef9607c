"""Chains can be repeated, continued, watched and refused."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from genbayes.errors import InvalidInput
from genbayes.models.gp.deep import NOISE_FREE, DeepGPDraws, DeepGPSettings, predict_deep_gp, sample_deep_gp

X = np.random.default_rng(0).random((12, 2))
Y = np.sin(5 * X[:, 0]) + X[:, 1]
Y = (Y - Y.mean()) / Y.std()


def settings(**changes: Any) -> DeepGPSettings:
    return DeepGPSettings(**{"n_samples": 6, "n_burn_in": 4, "thinning": 2} | changes)


def assert_equal_draws(one: DeepGPDraws, other: DeepGPDraws) -> None:
    for field in fields(DeepGPDraws):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


def join(one: DeepGPDraws, other: DeepGPDraws, name: str) -> np.ndarray:
    return np.concatenate([getattr(one, name), getattr(other, name)])


def test_equal_generators_give_equal_draws() -> None:
    draws = [sample_deep_gp(X, Y, settings(), np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert_equal_draws(draws[0], draws[1])
    assert not np.array_equal(draws[0].w, draws[2].w)


@pytest.mark.parametrize("nugget", [None, NOISE_FREE])
def test_a_chain_in_two_parts_equals_one_that_runs_through(nugget: float | None) -> None:
    whole = sample_deep_gp(X, Y, settings(n_samples=10, nugget=nugget), np.random.default_rng(3))
    rng = np.random.default_rng(3)
    first = sample_deep_gp(X, Y, settings(n_samples=4, nugget=nugget), rng)
    second = sample_deep_gp(X, Y, settings(n_burn_in=0, n_samples=6, nugget=nugget), rng, start=first)
    for name in ["w", "theta_y", "theta_w", "xi", "nugget", "tau2", "log_likelihood"]:
        np.testing.assert_array_equal(getattr(whole, name), join(first, second, name))


def test_a_warm_start_with_more_rows_goes_on_from_the_old_hidden_layer() -> None:
    early = sample_deep_gp(X[:9], Y[:9], settings(n_burn_in=100, nugget=NOISE_FREE), np.random.default_rng(0))
    warm = settings(n_burn_in=0, n_samples=1, thinning=1, nugget=NOISE_FREE)
    draws = sample_deep_gp(X, Y, warm, np.random.default_rng(1), start=early)
    cold = sample_deep_gp(X, Y, warm, np.random.default_rng(1))
    step = np.abs(draws.w[0, :9] - early.w[-1]).mean()
    assert step < np.abs(cold.w[0, :9] - early.w[-1]).mean()
    assert draws.w.shape == (1, 12, 2)


def test_a_warm_start_may_have_other_rows() -> None:
    early = sample_deep_gp(X, Y, settings(), np.random.default_rng(0))
    draws = sample_deep_gp(X[::-1], Y[::-1], settings(), np.random.default_rng(1), start=early)
    assert np.isfinite(draws.log_likelihood).all()


def test_the_likelihood_rises_from_the_start() -> None:
    long = settings(n_burn_in=0, n_samples=150, thinning=1, nugget=NOISE_FREE)
    value = sample_deep_gp(X, Y, long, np.random.default_rng(0)).log_likelihood
    assert value[-50:].mean() > value[:5].mean()


def test_noise_is_found_in_noise_and_not_elsewhere() -> None:
    rng = np.random.default_rng(5)
    x = np.linspace(0, 1, 40)[:, None]
    signal, noise = np.sin(6 * x[:, 0]), rng.standard_normal(40)
    chain = settings(n_burn_in=80, n_samples=40, thinning=1)
    smooth = predict_deep_gp(sample_deep_gp(x, signal / signal.std(), chain, rng), x)
    rough = predict_deep_gp(sample_deep_gp(x, noise / noise.std(), chain, rng), x)
    assert smooth.noise_variance[0] < 0.01
    assert rough.noise_variance[0] > 0.2


def test_progress_is_reported_up_to_the_end() -> None:
    seen: list[tuple[int, int, float]] = []
    draws = sample_deep_gp(X, Y, settings(n_samples=11), np.random.default_rng(0), report=lambda *a: seen.append(a))
    assert [step for step, _, _ in seen] == [10, 20, 26]
    assert {length for _, length, _ in seen} == {26}
    assert seen[-1][2] == draws.log_likelihood[-1]


def test_the_hidden_layer_may_be_narrower_or_wider() -> None:
    for h in (1, 3):
        assert sample_deep_gp(X, Y, settings(n_hidden=h), np.random.default_rng(0)).theta_w.shape == (6, h)


def test_repeated_rows_are_no_obstacle() -> None:
    X_twice, y_twice = np.vstack([X, X]), np.tile(Y, 2)
    draws = sample_deep_gp(X_twice, y_twice, settings(nugget=NOISE_FREE), np.random.default_rng(0))
    assert np.isfinite(draws.log_likelihood).all()


def test_the_number_of_threads_is_put_back() -> None:
    before = [lib["num_threads"] for lib in threadpool_info()]
    sample_deep_gp(X, Y, settings(), np.random.default_rng(0))
    assert [lib["num_threads"] for lib in threadpool_info()] == before


def test_wrong_data_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InvalidInput, match="X must have at least 3 rows, got 2"):
        sample_deep_gp(X[:2], Y[:2], settings(), rng)
    with pytest.raises(InvalidInput, match="y must have shape"):
        sample_deep_gp(X, Y[:5], settings(), rng)
    with pytest.raises(InvalidInput, match="X must be finite"):
        sample_deep_gp(np.where(X > 0.9, np.nan, X), Y, settings(), rng)


@pytest.mark.parametrize("changes", [{"kernel": "squared-exponential"}, {"n_hidden": 1}])
def test_a_start_of_another_model_is_refused(changes: dict[str, Any]) -> None:
    early = sample_deep_gp(X, Y, settings(), np.random.default_rng(0))
    with pytest.raises(InvalidInput, match="start must have the inputs, kernel and hidden width"):
        sample_deep_gp(X, Y, settings(**changes), np.random.default_rng(0), start=early)
