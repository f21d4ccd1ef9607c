"""Predictions and ALC against kriging written out."""

import io
import tracemalloc
from collections.abc import Callable
from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from genbayes.errors import InvalidInput
from genbayes.models.gp.deep import (
    KERNELS,
    NOISE_FREE,
    DeepGPDraws,
    DeepGPSettings,
    Kernel,
    alc,
    predict_deep_gp,
    predict_each_draw,
    prediction,
    sample_deep_gp,
)
from genbayes.models.gp.deep.layers import correlate, latent_jitter
from genbayes.models.gp.deep.prediction import DrawnLayers, Hidden

X = np.random.default_rng(0).random((10, 2))
Y = np.cos(4 * X[:, 0]) * X[:, 1]
X_NEW, REFERENCE = np.random.default_rng(1).random((7, 2)), np.random.default_rng(7).random((9, 2))


def make_draws(n_draws: int = 4, kernel: Kernel = "matern52", nugget: float | None = None) -> DeepGPDraws:
    settings = DeepGPSettings(kernel=kernel, n_samples=n_draws, n_burn_in=10, thinning=2, nugget=nugget)
    return sample_deep_gp(X, (Y - Y.mean()) / Y.std(), settings, np.random.default_rng(2))


def krige(A: np.ndarray, v: np.ndarray, A_new: np.ndarray, theta: float, nugget: float, kernel: Kernel) -> tuple:
    """Mean and variance of a Gaussian process of unit variance, by the textbook."""
    K = correlate(cdist(A, A, "sqeuclidean"), theta, kernel) + nugget * np.eye(len(A))
    k = correlate(cdist(A_new, A, "sqeuclidean"), theta, kernel)
    return k @ np.linalg.solve(K, v), 1 - np.sum(k * np.linalg.solve(K, k.T).T, axis=1)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("hidden", ["drawn", "mean"])
def test_each_draw_is_kriging_twice(kernel: Kernel, hidden: Hidden) -> None:
    draws = make_draws(kernel=kernel)
    means, variances, noise = predict_each_draw(draws, X_NEW, hidden)
    for t in range(len(draws)):
        w_new = np.empty((7, 2))
        for j in range(2):
            m, v = krige(X, draws.w[t, :, j], X_NEW, draws.theta_w[t, j], latent_jitter(10), kernel)
            w_new[:, j] = m + (draws.xi[t, j] * np.sqrt(np.maximum(v, 0)) if hidden == "drawn" else 0)
        mean, variance = krige(draws.w[t], draws.y, w_new, draws.theta_y[t], draws.nugget[t], kernel)
        np.testing.assert_allclose(means[t], mean, atol=1e-4)  # the textbook's inverse loses digits, ours fewer
        np.testing.assert_allclose(variances[t], draws.tau2[t] * variance, atol=1e-4)
    np.testing.assert_array_equal(noise, draws.tau2 * draws.nugget)


def test_moments_follow_the_law_of_total_variance() -> None:
    draws = make_draws(n_draws=6)
    means, variances, noise = predict_each_draw(draws, X_NEW)
    total = predict_deep_gp(draws, X_NEW)
    np.testing.assert_allclose(total.mean, means.mean(axis=0))
    second_moment = np.mean(variances + means**2, axis=0)
    np.testing.assert_allclose(total.latent_variance, second_moment - means.mean(axis=0) ** 2)
    np.testing.assert_allclose(total.noise_variance, np.full(7, noise.mean()))


@pytest.mark.parametrize("kernel", KERNELS)
def test_without_noise_the_runs_are_interpolated(kernel: Kernel) -> None:
    draws = make_draws(kernel=kernel, nugget=NOISE_FREE)
    at_runs = predict_deep_gp(draws, X)
    np.testing.assert_allclose(at_runs.mean, draws.y, atol=1e-3)
    assert at_runs.latent_variance.max() < 1e-5
    assert predict_deep_gp(draws, X_NEW).latent_variance.min() > at_runs.latent_variance.max()


def test_far_away_the_prior_returns() -> None:
    draws = make_draws(n_draws=3)
    means, variances, _ = predict_each_draw(draws, [[1e4, 1e4], [-1e4, 0.0]])
    np.testing.assert_allclose(means[:, 0], means[:, 1])  # the hidden layer is xi, wherever far away is
    assert (variances <= draws.tau2[:, None]).all()
    plugged, _, _ = predict_each_draw(replace(draws, xi=np.zeros((3, 2))), [[1e4, 1e4]])
    np.testing.assert_array_equal(plugged, predict_each_draw(draws, [[1e4, 1e4]], "mean")[0])


def test_the_hidden_layer_s_uncertainty_widens_predictions_between_runs() -> None:
    draws = make_draws(n_draws=60)
    drawn, plugged = (predict_deep_gp(draws, X_NEW, hidden).latent_variance.mean() for hidden in ("drawn", "mean"))
    assert drawn > plugged


def test_predictions_from_saved_arrays_are_the_same_to_the_last_bit() -> None:
    draws, file = make_draws(), io.BytesIO()
    np.savez(file, **asdict(draws))
    file.seek(0)
    with np.load(file) as saved:
        again = DeepGPDraws(**{name: str(saved[name]) if name == "kernel" else saved[name] for name in saved})
    for one, other in zip(predict_each_draw(draws, X_NEW), predict_each_draw(again, X_NEW), strict=True):
        np.testing.assert_array_equal(one, other)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = make_draws()
    whole, each, scores = predict_deep_gp(draws, X_NEW), predict_each_draw(draws, X_NEW), alc(draws, X_NEW, REFERENCE)
    monkeypatch.setattr(prediction, "CELLS_PER_CHUNK", 30)  # three rows at a time
    chunked = predict_deep_gp(draws, X_NEW)
    np.testing.assert_allclose(chunked.mean, whole.mean, atol=1e-9)
    np.testing.assert_allclose(chunked.latent_variance, whole.latent_variance, atol=1e-9)
    for one, other in zip(each, predict_each_draw(draws, X_NEW), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    np.testing.assert_allclose(alc(draws, X_NEW, REFERENCE), scores, rtol=1e-9)


def test_memory_does_not_grow_with_the_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "CELLS_PER_CHUNK", 20_000)
    draws, many = make_draws(n_draws=2), np.random.default_rng(0).random((50_000, 2))
    predict_deep_gp(draws, many[:10])
    tracemalloc.start()
    predict_deep_gp(draws, many)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    result = 8 * 50_000 * 5  # three arrays, two of them once more while they are joined
    assert peak < result + 10 * 8 * 20_000  # and a handful of chunks; all rows at once would take 8 MB an array


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda draws: predict_deep_gp(draws, [[1.0]]), r"X_new must have shape \(k, 2\)"),
        (lambda draws: predict_each_draw(draws, np.empty((0, 2))), r"X_new must have shape \(k, 2\) with k at least 1"),
        (lambda draws: predict_deep_gp(draws, X_NEW, "draw"), "hidden must be one of 'drawn', 'mean'"),
        (lambda draws: alc(draws, [[0.5]], REFERENCE), r"candidates must have shape \(k, 2\)"),
        (lambda draws: alc(draws, X_NEW, np.empty((0, 2))), r"reference must have shape \(k, 2\)"),
    ],
)
def test_wrong_inputs_are_refused_by_name(call: Callable[[DeepGPDraws], object], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        call(make_draws(1))


def test_a_slice_keeps_the_data_and_some_draws() -> None:
    draws = make_draws(5)
    some = draws[1::2]
    assert len(some) == 2
    for whole, part in zip(predict_each_draw(draws, X), predict_each_draw(some, X), strict=True):
        np.testing.assert_array_equal(whole[1::2], part)


def test_the_hidden_layer_is_known_at_the_training_inputs_and_far_away_the_draw_s_own_numbers() -> None:
    draws, far = make_draws(2), np.array([[1e5, 0.0]])
    for t in range(2):
        layers = DrawnLayers(draws, t)
        for hidden in ("mean", "drawn"):
            np.testing.assert_allclose(layers.hidden(X, hidden), draws.w[t], atol=1e-3)
        np.testing.assert_allclose(layers.hidden(far, "drawn")[0], draws.xi[t], atol=1e-6)
        np.testing.assert_allclose(layers.hidden(far, "mean")[0], 0.0, atol=1e-6)


def mean_variance(draws: DeepGPDraws, W: np.ndarray, w_r: np.ndarray) -> float:
    """Mean over w_r of the variance of an outer layer observed at W, given the parameters of a single draw."""
    theta = draws.theta_y[0]
    K = correlate(cdist(W, W, "sqeuclidean"), theta, draws.kernel) + draws.nugget[0] * np.eye(len(W))
    k = correlate(cdist(w_r, W, "sqeuclidean"), theta, draws.kernel)
    return float(draws.tau2[0] * np.mean(1 - np.sum(k * np.linalg.solve(K, k.T).T, axis=1)))


@pytest.mark.parametrize("kernel", KERNELS)
def test_one_draw_equals_adding_the_candidate(kernel: Kernel) -> None:
    draws = make_draws(1, kernel, nugget=0.01)
    drawn = DrawnLayers(draws, 0)
    w_c, w_r = drawn.hidden(X_NEW, "mean"), drawn.hidden(REFERENCE, "mean")
    before = mean_variance(draws, draws.w[0], w_r)
    after = [mean_variance(draws, np.vstack([draws.w[0], w]), w_r) for w in w_c]
    np.testing.assert_allclose(alc(draws, X_NEW, REFERENCE), before - np.array(after), rtol=1e-8)


def test_scores_average_over_draws() -> None:
    draws = make_draws(3)
    each = [alc(draws[t : t + 1], X_NEW, REFERENCE) for t in range(3)]
    np.testing.assert_allclose(alc(draws, X_NEW, REFERENCE), np.mean(each, axis=0))


def test_a_run_that_is_known_already_teaches_nothing() -> None:
    draws = make_draws(4, nugget=NOISE_FREE)
    known, fresh = alc(draws, X, REFERENCE), alc(draws, X_NEW, REFERENCE)
    assert np.isfinite(known).all()
    assert known.max() < 1e-3 * fresh.min()
