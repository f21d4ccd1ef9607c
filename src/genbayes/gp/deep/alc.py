"""Active learning Cohn (ALC) for a two-layer deep GP: where one more run reduces the predictive variance most.

As in Sauer, Gramacy & Higdon (2023), after Cohn (1996); the variance is that of the outer layer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.gp.deep.draws import DeepGPDraws
from genbayes.gp.deep.layers import DrawnLayers, rows_per_chunk
from genbayes.gp.deep.prediction import check_new_inputs

__all__ = ["alc"]


def alc(draws: DeepGPDraws, candidates: ArrayLike, reference: ArrayLike) -> FloatArray:
    """Expected reduction of the mean predictive variance over reference points when a candidate is run.

    avg_t avg_r tau2 c_t(r, x)^2 / (v_t(x) + g_t), where c_t and v_t are posterior covariance and variance of the
    outer layer in units of tau2, given the draw's hidden layer; inputs are mapped to its conditional mean.

    Args:
        draws: Posterior draws.
        candidates: Inputs that might be run next, shape (c, d).
        reference: Inputs at which predictions matter, shape (r, d).

    Returns:
        One score per candidate, larger is better, shape (c,).

    Example:
        >>> from genbayes.gp.deep import NOISE_FREE, DeepGPSettings, sample_deep_gp
        >>> X = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 1.0])[:, None]
        >>> settings = DeepGPSettings(nugget=NOISE_FREE, n_samples=10, n_burn_in=20, thinning=1)
        >>> draws = sample_deep_gp(X, np.sin(9 * X[:, 0]), settings, np.random.default_rng(0))
        >>> scores = alc(draws, [[0.25], [0.7]], np.linspace(0, 1, 20)[:, None])
        >>> int(scores.argmax())  # the gap, not the crowd
        1
    """
    X_c, X_r = check_new_inputs(draws, candidates, "candidates"), check_new_inputs(draws, reference, "reference")
    total = np.zeros(len(X_c))
    for t in range(len(draws)):
        total += _alc_of_draw(DrawnLayers(draws, t), X_c, X_r)
    return total / len(draws)


def _alc_of_draw(layers: DrawnLayers, X_c: FloatArray, X_r: FloatArray) -> FloatArray:
    w_c, w_r = layers.hidden(X_c, "mean"), layers.hidden(X_r, "mean")
    V_r = layers.whitened(w_r)
    rows = rows_per_chunk(*V_r.shape)
    return np.concatenate([_reductions(layers, w_c[i : i + rows], w_r, V_r) for i in range(0, len(w_c), rows)])


def _reductions(layers: DrawnLayers, w_c: FloatArray, w_r: FloatArray, V_r: FloatArray) -> FloatArray:
    V_c = layers.whitened(w_c)
    covariance = layers.correlation(w_r, w_c) - V_r.T @ V_c  # (r, c)
    variance = layers.unexplained(V_c) + layers.nugget
    reduction: FloatArray = layers.tau2 * np.mean(covariance**2, axis=0) / variance
    return reduction
