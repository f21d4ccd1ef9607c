"""Predictions of a two-layer deep GP: moments for each posterior draw, and over all of them.

The hidden layer at a new input is uncertain even when it is known at the training inputs. deepgp plugs in its mean,
which leaves the intervals too narrow, the more so the more inputs there are; here each draw carries its own
deviation from that mean, unless told otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.gp.deep.draws import DeepGPDraws
from genbayes.gp.deep.layers import HIDDEN, DrawnLayers, Hidden, rows_per_chunk
from genbayes.validation import check_array, check_choice

__all__ = ["DeepGPPrediction", "check_new_inputs", "predict_deep_gp", "predict_each_draw"]


@dataclass(frozen=True)
class DeepGPPrediction:
    """Predictive moments of the response.

    Attributes:
        mean: Shape (k,).
        latent_variance: Variance of the noise-free response, shape (k,).
        noise_variance: Variance of the noise, shape (k,).
    """

    mean: FloatArray
    latent_variance: FloatArray
    noise_variance: FloatArray


def predict_deep_gp(draws: DeepGPDraws, X_new: ArrayLike, hidden: Hidden = "drawn") -> DeepGPPrediction:
    """Predictive mean and variance by the law of total variance over the draws.

    mean = avg_t mu_t, latent variance = avg_t v_t + var_t mu_t, noise variance = avg_t tau2_t g_t.
    Source: Sauer, Gramacy & Higdon (2023), where `hidden="mean"`.

    Args:
        draws: Posterior draws.
        X_new: Inputs on the scale of the training inputs, shape (k, d).
        hidden: "drawn" to account for the hidden layer's own uncertainty at new inputs, "mean" to ignore it.

    Returns:
        Moments, each of shape (k,).

    Example:
        >>> from genbayes.gp.deep import NOISE_FREE, DeepGPSettings, sample_deep_gp
        >>> X = np.linspace(0, 1, 8)[:, None]
        >>> settings = DeepGPSettings(nugget=NOISE_FREE, n_samples=10, n_burn_in=20, thinning=1)
        >>> draws = sample_deep_gp(X, np.sin(6 * X[:, 0]), settings, np.random.default_rng(0))
        >>> bool(np.allclose(predict_deep_gp(draws, X).mean, np.sin(6 * X[:, 0]), atol=1e-3))
        True
    """
    X_new = check_new_inputs(draws, X_new, "X_new")
    check_choice(hidden, "hidden", HIDDEN)
    parts = []
    for mean, variance in _chunks(draws, X_new, hidden):
        parts.append((mean.mean(axis=0), variance.mean(axis=0) + mean.var(axis=0)))
    means, variances = (np.concatenate(part) for part in zip(*parts, strict=True))
    return DeepGPPrediction(means, variances, np.full(len(X_new), float(np.mean(draws.tau2 * draws.nugget))))


def predict_each_draw(
    draws: DeepGPDraws, X_new: ArrayLike, hidden: Hidden = "drawn"
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Moments under each draw, of which the posterior predictive is the mixture.

    Args:
        draws: Posterior draws.
        X_new: Inputs on the scale of the training inputs, shape (k, d).
        hidden: As in `predict_deep_gp`.

    Returns:
        Means, shape (t, k), variances of the noise-free response, shape (t, k), and of the noise, shape (t,).

    Example:
        >>> from genbayes.gp.deep import DeepGPSettings, sample_deep_gp
        >>> X = np.linspace(0, 1, 8)[:, None]
        >>> settings = DeepGPSettings(n_samples=5, n_burn_in=0, thinning=1)
        >>> draws = sample_deep_gp(X, np.cos(X[:, 0]), settings, np.random.default_rng(0))
        >>> [part.shape for part in predict_each_draw(draws, X[:3])]
        [(5, 3), (5, 3), (5,)]
    """
    X_new = check_new_inputs(draws, X_new, "X_new")
    check_choice(hidden, "hidden", HIDDEN)
    means, variances = (np.concatenate(part, axis=1) for part in zip(*_chunks(draws, X_new, hidden), strict=True))
    return means, variances, draws.tau2 * draws.nugget


def check_new_inputs(draws: DeepGPDraws, X: ArrayLike, name: str) -> FloatArray:
    """Finite inputs with as many columns as the training inputs, shape (k, d), k at least 1.

    Example:
        >>> one = np.ones((1, 1))
        >>> draws = DeepGPDraws("matern52", one, one[0], one[None], one[0], one, one, one[0], one[0], one[0])
        >>> check_new_inputs(draws, [[2]], "X_new")
        array([[2.]])
    """
    array = check_array(X, name, "(k, d)")
    d = draws.X.shape[1]
    if len(array) == 0 or array.shape[1] != d:
        raise InvalidInput(f"{name} must have shape (k, {d}) with k at least 1, got {array.shape}")
    return array


def _chunks(draws: DeepGPDraws, X_new: FloatArray, hidden: Hidden) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Means and variances under each draw, (t, rows) each, for so many rows at a time that memory stays bounded."""
    rows = rows_per_chunk(len(draws.y), len(draws))
    for first in range(0, len(X_new), rows):
        chunk = X_new[first : first + rows]
        moments = []
        for t in range(len(draws)):
            layers = DrawnLayers(draws, t)
            moments.append(layers.outer_moments(layers.hidden(chunk, hidden)))
        means, variances = zip(*moments, strict=True)
        yield np.array(means), np.array(variances)
