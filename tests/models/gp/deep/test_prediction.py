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


def test_moments_follow_the_law_of_total_variance_and_a_slice_keeps_some_draws() -> None:
    draws = make_draws(n_draws=6)
    means, variances, noise = each = predict_each_draw(draws, X_NEW)
    total = predict_deep_gp(draws, X_NEW)
    np.testing.assert_allclose(total.mean, means.mean(axis=0))
    second_moment = np.mean(variances + means**2, axis=0)
    np.testing.assert_allclose(total.latent_variance, second_moment - means.mean(axis=0) ** 2)
    np.testing.assert_allclose(total.noise_variance, np.full(7, noise.mean()))
    assert len(draws[1::2]) == 3
    for whole, part in zip(each, predict_each_draw(draws[1::2], X_NEW), strict=True):
        np.testing.assert_array_equal(whole[1::2], part)


@pytest.mark.parametrize("kernel", KERNELS)
def test_without_noise_the_runs_are_interpolated_and_one_that_is_known_already_teaches_nothing(kernel: Kernel) -> None:
    draws = make_draws(kernel=kernel, nugget=NOISE_FREE)
    at_runs = predict_deep_gp(draws, X)
    np.testing.assert_allclose(at_runs.mean, draws.y, atol=1e-3)
    assert at_runs.latent_variance.max() < 1e-5
    assert predict_deep_gp(draws, X_NEW).latent_variance.min() > at_runs.latent_variance.max()
    known, fresh = alc(draws, X, REFERENCE), alc(draws, X_NEW, REFERENCE)
    assert np.isfinite(known).all()
    assert known.max() < 1e-3 * fresh.min()


def test_predictions_from_saved_arrays_are_the_same_to_the_last_bit() -> None:
    draws, file = make_draws(), io.BytesIO()
    np.savez(file, **asdict(draws))
    file.seek(0)
    with np.load(file) as saved:
        again = DeepGPDraws(**{name: str(saved[name]) if name == "kernel" else saved[name] for name in saved})
    for one, other in zip(predict_each_draw(draws, X_NEW), predict_each_draw(again, X_NEW), strict=True):
        np.testing.assert_array_equal(one, other)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> list[np.ndarray]:
        total = predict_deep_gp(draws, X_NEW)
        return [total.mean, total.latent_variance, *predict_each_draw(draws, X_NEW), alc(draws, X_NEW, REFERENCE)]

    draws = make_draws()
    whole = read()
    monkeypatch.setattr(prediction, "CELLS_PER_CHUNK", 30)  # three rows at a time
    for one, other in zip(read(), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


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


def test_the_hidden_layer_is_known_at_the_training_inputs_and_far_away_the_draw_s_own_numbers() -> None:
    draws, far = make_draws(2), np.array([[1e5, 0.0], [-1e5, 1e5]])
    for t in range(2):
        layers = DrawnLayers(draws, t)
        for hidden in ("mean", "drawn"):
            np.testing.assert_allclose(layers.hidden(X, hidden), draws.w[t], atol=1e-3)
        np.testing.assert_allclose(layers.hidden(far, "drawn"), [draws.xi[t]] * 2, atol=1e-6)
        np.testing.assert_allclose(layers.hidden(far, "mean"), 0.0, atol=1e-6)
    means, variances, _ = predict_each_draw(draws, far)  # the prior returns, wherever far away is
    np.testing.assert_allclose(means[:, 0], means[:, 1])
    assert (variances <= draws.tau2[:, None]).all()
    plugged, _, _ = predict_each_draw(replace(draws, xi=np.zeros((2, 2))), far)
    np.testing.assert_array_equal(plugged, predict_each_draw(draws, far, "mean")[0])


def test_the_hidden_layer_s_uncertainty_widens_predictions_between_runs() -> None:
    draws = make_draws(n_draws=60)
    drawn, plugged = (predict_deep_gp(draws, X_NEW, hidden).latent_variance.mean() for hidden in ("drawn", "mean"))
    assert drawn > plugged


@pytest.mark.parametrize("kernel", KERNELS)
def test_alc_equals_adding_the_candidate_averaged_over_draws(kernel: Kernel) -> None:
    draws = make_draws(3, kernel, nugget=0.01)

    def mean_variance(t: int, W: np.ndarray, w_r: np.ndarray) -> float:
        """Mean over w_r of the variance of an outer layer observed at W, given the parameters of a draw."""
        variance = krige(W, np.zeros(len(W)), w_r, draws.theta_y[t], draws.nugget[t], kernel)[1]
        return float(draws.tau2[t] * np.mean(variance))

    scores = []
    for t, w in enumerate(draws.w):
        w_c, w_r = (DrawnLayers(draws, t).hidden(x, "mean") for x in (X_NEW, REFERENCE))
        after = [mean_variance(t, np.vstack([w, row]), w_r) for row in w_c]
        scores.append(mean_variance(t, w, w_r) - np.array(after))
        np.testing.assert_allclose(alc(draws[t : t + 1], X_NEW, REFERENCE), scores[t], rtol=1e-8)
    np.testing.assert_allclose(alc(draws, X_NEW, REFERENCE), np.mean(scores, axis=0), rtol=1e-8)
