"""Predictions against kriging written out, and the laws they must obey."""

import io
import tracemalloc
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
    predict_deep_gp,
    predict_each_draw,
    sample_deep_gp,
)
from genbayes.models.gp.deep import (
    prediction as layers,
)
from genbayes.models.gp.deep.layers import correlate, latent_jitter
from genbayes.models.gp.deep.prediction import Hidden

X = np.random.default_rng(0).random((10, 2))
Y = np.cos(4 * X[:, 0]) * X[:, 1]
X_NEW = np.random.default_rng(1).random((7, 2))


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
    whole, each = predict_deep_gp(draws, X_NEW), predict_each_draw(draws, X_NEW)
    monkeypatch.setattr(layers, "CELLS_PER_CHUNK", 30)  # three rows at a time
    chunked = predict_deep_gp(draws, X_NEW)
    np.testing.assert_allclose(chunked.mean, whole.mean, atol=1e-9)
    np.testing.assert_allclose(chunked.latent_variance, whole.latent_variance, atol=1e-9)
    for one, other in zip(each, predict_each_draw(draws, X_NEW), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_memory_does_not_grow_with_the_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "CELLS_PER_CHUNK", 20_000)
    draws, many = make_draws(n_draws=2), np.random.default_rng(0).random((50_000, 2))
    predict_deep_gp(draws, many[:10])
    tracemalloc.start()
    predict_deep_gp(draws, many)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    result = 8 * 50_000 * 5  # three arrays, two of them once more while they are joined
    assert peak < result + 10 * 8 * 20_000  # and a handful of chunks; all rows at once would take 8 MB an array


def test_wrong_inputs_are_refused() -> None:
    draws = make_draws()
    with pytest.raises(InvalidInput, match=r"X_new must have shape \(k, 2\)"):
        predict_deep_gp(draws, [[1.0]])
    with pytest.raises(InvalidInput, match=r"X_new must have shape \(k, 2\) with k at least 1"):
        predict_each_draw(draws, np.empty((0, 2)))
    with pytest.raises(InvalidInput, match="hidden must be one of 'drawn', 'mean'"):
        predict_deep_gp(draws, X_NEW, "draw")  # type: ignore[arg-type]
