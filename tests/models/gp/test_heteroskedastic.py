"""The heteroskedastic GP from fit to prediction: recovery, fallback, weights, saving, extremes."""

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genbayes.arrays import FloatArray
from genbayes.metrics import crps_normal
from genbayes.models import HeteroskedasticGP, StationaryGP
from genbayes.models.gp import heteroskedastic
from genbayes.models.gp.heteroskedastic import FittedHeteroskedasticGP, fit_heteroskedastic_gp
from genbayes.models.gp.likelihood import Replicates
from genbayes.models.gp.noise_process import NoiseProcess
from genbayes.models.gp.stationary import FittedGP, fit_gp
from genbayes.persistence import State

NEW = np.linspace(-1.4, 1.4, 15)[:, None]


def noise_sd(z: FloatArray) -> FloatArray:
    return np.asarray(np.exp(0.8 * z - 1.5))


def draw(n_inputs: int = 50, n_replicates: int = 6) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(21)
    z = np.repeat(np.linspace(-1.6, 1.6, n_inputs), n_replicates)
    return z[:, None], np.sin(2 * z) + noise_sd(z) * rng.standard_normal(len(z))


def fit(Z: FloatArray, y: FloatArray, weight: FloatArray | None = None) -> FittedHeteroskedasticGP:
    runs = Replicates.collect(Z, y, np.ones(len(y)) if weight is None else weight)
    return fit_heteroskedastic_gp(runs, np.random.default_rng(0))


@cache
def fitted() -> FittedHeteroskedasticGP:
    return fit(*draw())


def test_mean_and_noise_are_recovered() -> None:
    # 300 runs and a smooth log noise worth some 4 parameters: the log sd is known to sqrt(4 / 600) = 0.08; three of
    # those, on average over inputs
    mean, variance, noise = fitted().predict(NEW)
    assert not fitted().is_homoskedastic
    assert np.sqrt(np.mean((0.5 * np.log(noise) - np.log(noise_sd(NEW[:, 0]))) ** 2)) < 0.24
    assert (np.abs(mean - np.sin(2 * NEW[:, 0])) < 4 * np.sqrt(variance)).all()
    assert variance[1] < variance[-2] / 4  # quiet regions are followed more closely than noisy ones


@pytest.mark.parametrize("n_replicates", [1, 5])
def test_constant_noise_falls_back_to_the_stationary_gp(n_replicates: int) -> None:
    rng = np.random.default_rng(5)
    z = np.repeat(np.linspace(-1.6, 1.6, 40), n_replicates)
    gp = fit(z[:, None], np.sin(2 * z) + 0.3 * rng.standard_normal(len(z)))
    assert gp.is_homoskedastic
    _, _, noise = gp.predict(NEW)
    np.testing.assert_array_equal(noise, gp.latent.parameters.noise)


def test_a_fall_back_predicts_as_the_stationary_gp_of_the_same_stream() -> None:
    runs = Replicates.collect(NEW, np.cos(NEW[:, 0]), np.ones(15))
    gp = fit_heteroskedastic_gp(runs, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    rng.permutation(15)
    for own, other in zip(gp.predict(NEW + 0.05), fit_gp(runs, rng, kernel="auto").predict(NEW + 0.05), strict=True):
        np.testing.assert_array_equal(own, other)


def test_noise_that_only_an_inert_input_drives_is_found() -> None:
    rng = np.random.default_rng(8)
    Z = rng.uniform(-1.7, 1.7, size=(200, 2))
    gp = fit(Z, np.sin(2 * Z[:, 0]) + noise_sd(Z[:, 1]) * rng.standard_normal(200))
    _, _, noise = gp.predict(np.array([[0.0, -1.2], [0.0, 1.2], [1.2, 1.2]]))
    assert noise[1] / noise[0] > 8  # exp(3.84) = 47 in truth
    assert 1 / 3 < noise[2] / noise[1] < 3  # 1 in truth


@pytest.mark.parametrize("constant", [False, True])
def test_rebuilt_from_its_state_it_predicts_the_same_to_the_last_bit(constant: bool) -> None:
    gp = fit(NEW, np.cos(NEW[:, 0])) if constant else fitted()
    assert gp.is_homoskedastic is constant
    state = gp.to_state()
    state = State(state.kind, state.values, {name: array.copy() for name, array in state.arrays.items()})
    for array in state.arrays.values():
        array.flags.writeable = False  # as arrays read from a file may be
    again = FittedHeteroskedasticGP.from_state(state, 1)
    for own, other in zip(gp.predict(NEW), again.predict(NEW), strict=True):
        np.testing.assert_array_equal(own, other)


def test_far_away_mean_and_noise_return_to_their_levels() -> None:
    mean, variance, noise = fitted().predict(np.array([[1e4]]))
    parameters, process = fitted().latent.parameters, fitted().noise
    assert mean[0] == pytest.approx(parameters.mean)
    assert variance[0] > parameters.variance
    mean_of_lognormal = np.exp(process.level + min(process.variance, 1.0) / 2)
    assert noise[0] == pytest.approx(parameters.variance * mean_of_lognormal, rel=1e-4)


@settings(max_examples=15, deadline=None)
@given(
    n=st.integers(1, 8),
    p=st.integers(1, 4),
    seed=st.integers(0, 99),
    kind=st.sampled_from(["noisy", "equal responses", "equal inputs"]),
)
def test_a_handful_of_runs_gives_finite_predictions(n: int, p: int, seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    Z = np.zeros((n, p)) if kind == "equal inputs" else rng.normal(size=(n, p))
    y = np.zeros(n) if kind == "equal responses" else rng.normal(size=n)
    mean, variance, noise = fit(Z, y).predict(np.vstack([Z, Z + 1]))
    assert np.isfinite([mean, variance, noise]).all()
    assert (variance >= 0).all()
    assert (noise > 0).all()


def test_a_function_without_noise_is_interpolated() -> None:
    rng = np.random.default_rng(0)
    Z, new = rng.uniform(-1.7, 1.7, size=(60, 2)), rng.uniform(-1.5, 1.5, size=(50, 2))
    f = lambda Z: np.sin(Z[:, 0]) * np.cos(Z[:, 1])  # noqa: E731
    mean, _, noise = fit(Z, f(Z)).predict(new)
    assert np.sqrt(np.mean((mean - f(new)) ** 2)) < 0.01
    assert np.sqrt(noise.max()) < 0.01


def test_replicates_that_agree_to_the_last_digit_on_one_side_only() -> None:
    rng = np.random.default_rng(2)
    z = np.repeat(np.linspace(-1.6, 1.6, 30), 4)
    y = np.sin(2 * z) + np.where(z > 0, 0.5 * rng.standard_normal(len(z)), 0.0)
    mean, _, noise = fit(z[:, None], y).predict(NEW)
    assert np.sqrt(noise[NEW[:, 0] < -0.4]).max() < 0.02
    assert np.sqrt(noise[NEW[:, 0] > 0.4]).min() > 0.2
    assert np.sqrt(noise).max() < 2  # no overshoot behind the jump
    np.testing.assert_allclose(mean[NEW[:, 0] < -0.4], np.sin(2 * NEW[NEW[:, 0] < -0.4, 0]), atol=0.05)


def test_many_inputs_are_learnt_from_some_and_predicted_from_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heteroskedastic, "JOINT_LIMIT", 60)
    monkeypatch.setattr(heteroskedastic, "FEW_ROWS", 40)
    gp = fit(*draw(150, 3))
    assert len(gp.noise.Z) == 60
    assert len(gp.latent.runs) == 150
    _, variance, noise = gp.predict(NEW)
    assert np.sqrt(np.mean((0.5 * np.log(noise) - np.log(noise_sd(NEW[:, 0]))) ** 2)) < 0.4
    assert (variance < noise).all()


def test_beyond_the_exact_limit_predictions_stay_close_to_the_exact_ones() -> None:
    Z, y = draw(150, 2)
    runs = Replicates.collect(Z, y, np.ones(len(y)))
    exact = fit_heteroskedastic_gp(runs, np.random.default_rng(0), kernel="matern52")
    nearly = fit_heteroskedastic_gp(runs, np.random.default_rng(0), exact_limit=100)
    assert nearly.latent.large is not None
    np.testing.assert_allclose(nearly.predict(NEW)[0], exact.predict(NEW)[0], atol=0.02)
    np.testing.assert_allclose(nearly.predict(NEW)[2], exact.predict(NEW)[2], rtol=0.05)


def test_progress_is_reported_stage_by_stage() -> None:
    heard: list[tuple[int, int]] = []
    runs = Replicates.collect(*draw(20, 2), np.ones(40))
    fit_heteroskedastic_gp(
        runs, np.random.default_rng(0), report=lambda stage, stages, _: heard.append((stage, stages))
    )
    assert heard == [(1, 3), (2, 3), (3, 3)]


def test_left_out_answers_are_those_of_a_gp_that_has_not_seen_the_runs_there() -> None:
    gp = fitted()
    Z = gp.latent.runs.Z
    mean, latent, noise = gp.leave_out(Z)
    seen_mean, seen_latent, seen_noise = gp.predict(Z)
    assert (latent > seen_latent).all()
    assert not np.allclose(noise, seen_noise, rtol=1e-6)
    row = 17
    rest = np.delete(np.arange(len(Z)), row)
    K = gp.noise._covariance(Z) + np.diag(1 / gp.noise.information)
    delta = K @ gp.noise.weights  # the working values
    weights = np.linalg.solve(K[np.ix_(rest, rest)], delta[rest])
    without = NoiseProcess(
        gp.noise.level, gp.noise.variance, gp.noise.length, Z[rest], gp.noise.information[rest], weights
    )
    for own, other in zip(gp.noise.leave_out(Z[[row]]), without.predict(Z[[row]]), strict=True):
        assert own[0] == pytest.approx(other[0], rel=1e-6)
    others = FittedGP(gp.latent.parameters, gp.latent.runs.take(rest), kernel=gp.latent.kernel)
    assert mean[row] == pytest.approx(others.predict(Z[[row]])[0][0], abs=0.01)  # the mean level is estimated anew
    assert abs(mean[row] - seen_mean[row]) > 1e-6


def test_at_new_inputs_there_is_nothing_to_leave_out() -> None:
    for own, other in zip(fitted().leave_out(NEW + 0.01), fitted().predict(NEW + 0.01), strict=True):
        np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize("n", [30, 100])
def test_a_deterministic_simulator_is_not_taken_for_noise(n: int) -> None:
    rng = np.random.default_rng(n)
    Z, new = rng.uniform(-1.7, 1.7, (n, 3)), rng.uniform(-1.6, 1.6, (200, 3))
    f = lambda Z: np.tanh(4 * Z[:, 0] * Z[:, 1]) + np.abs(Z[:, 2])  # noqa: E731
    runs = Replicates.collect(Z, f(Z), np.ones(n))
    uneven = fit_heteroskedastic_gp(runs, np.random.default_rng(0))
    even = fit_gp(runs, np.random.default_rng(0), kernel="auto")
    scores = []
    for gp in (uneven, even):
        mean, latent, noise = gp.predict(new)
        scores.append(crps_normal(mean, np.sqrt(latent + noise), f(new)).mean())
    assert scores[0] < 1.05 * scores[1]


def test_uneven_noise_that_says_less_of_runs_left_out_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not fitted().is_homoskedastic
    monkeypatch.setattr(
        heteroskedastic, "_left_out_scores", lambda gp, runs: np.arange(len(runs)) * gp.is_homoskedastic
    )
    assert fit(*draw()).is_homoskedastic


def with_stationary() -> tuple[np.ndarray, np.ndarray, StationaryGP]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(50, 2))
    y = np.sin(5 * X[:, 0]) + 0.1 * rng.standard_normal(50)
    return X, y, StationaryGP(random_state=0).fit(X, y)


def test_given_the_stationary_gp_of_the_same_runs_it_is_not_fitted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, base = with_stationary()
    starts: list[object] = []

    def fit_gp(*arguments: object, start: object = None, **settings: object) -> FittedGP:
        starts.append(start)
        return base.gp_

    monkeypatch.setattr(heteroskedastic, "fit_gp", fit_gp)
    HeteroskedasticGP(random_state=0).fit_on(base, X, y)
    assert starts == []
    HeteroskedasticGP(random_state=0).fit(X, y)
    assert starts == [None]


def test_given_the_stationary_gp_of_other_runs_the_search_begins_there(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, base = with_stationary()
    starts: list[object] = []
    real = heteroskedastic.fit_gp

    def fit_gp(*arguments: Any, **settings: Any) -> FittedGP:
        starts.append((settings["start"], settings["kernel"]))
        return real(*arguments, **settings)

    monkeypatch.setattr(heteroskedastic, "fit_gp", fit_gp)
    HeteroskedasticGP(random_state=0).fit_on(base, X[:40], y[:40])
    assert starts == [(base.gp_.parameters, base.gp_.kernel)]


@pytest.mark.parametrize(("noise", "expected"), [(0.0, "the same everywhere"), (0.3, "a process of its own")])
def test_a_simulator_without_noise_that_is_lively_in_a_corner_is_not_taken_for_noisy_there(
    noise: float, expected: str
) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(100, 2))
    y = 1 / (1.05 - X[:, 0] * X[:, 1])
    y = y + noise * np.exp(4 * (X[:, 0] - 1)) * y.std() * rng.standard_normal(100)
    assert HeteroskedasticGP(random_state=0).fit(X, y).summary()["noise"] == expected


@pytest.mark.parametrize(
    ("mean", "kernel"),
    [(lambda x: 4 * np.abs(x - 0.1), "matern52"), (np.sin, "squared-exponential")],
    ids=["kink", "smooth"],
)
def test_the_mean_has_the_kernel_that_suits_it_with_uneven_noise(mean: Any, kernel: str) -> None:
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-1.7, 1.7, 150))
    y = mean(x) + np.exp(x - 3) * rng.standard_normal(150)
    runs = Replicates.collect(x[:, None], (y - y.mean()) / y.std(), np.ones(150))
    gp = fit_heteroskedastic_gp(runs, rng, kernel="squared-exponential")
    assert not gp.is_homoskedastic
    assert gp.latent.kernel == kernel


def test_runs_that_contradict_a_quiet_one_beside_them_do_not_blow_up_the_variance() -> None:
    """The noise is learnt from 700 runs; another, beside one of hardly any noise, asked for a variance of 8,000."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(860, 2))
    is_quiet = X[:, 0] < 0.5
    y = np.sin(4 * X[:, 0]) + X[:, 1] + np.where(is_quiet, 1e-3, 0.3) * rng.standard_normal(860)
    X, y = np.vstack([X, X[is_quiet][:6] + 1e-3]), np.append(y, y[is_quiet][:6] + 0.3 * rng.standard_normal(6))
    model = HeteroskedasticGP(random_state=0).fit(X, y)
    assert not model.gp_.is_homoskedastic
    assert model.gp_.latent.parameters.variance < 100
