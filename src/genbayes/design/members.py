"""What the members of an ensemble say one by one, and what their joint answers tell of distant inputs.

Members' medians at two inputs covary where a run at one would say something of the other. A handful of members also
covaries by chance, so covariances are damped with distance, as ensemble Kalman filters do ("localisation": Houtekamer
& Mitchell 2001):

    cov(x, x') = t(x, x')  sum_k (f_k(x) - f(x)) (f_k(x') - f(x')) / (K - 1),   t = exp(-|x - x'|^2 / (2 l^2)).
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput

__all__ = ["covariance_of_members", "predict_members", "reduce_by_members", "taper"]

NORMAL_WIDTH = 3.2897  # of the 5-95% interval of a standard normal law


def predict_members(model: Any, X: Any) -> FloatArray | None:
    """Each member's median, shape (K, n), in units of y; None for a model without members.

    Example:
        >>> from genbayes.design.process import DesignGP
        >>> X = np.linspace(0, 1, 6)[:, None]
        >>> predict_members(DesignGP().fit(X, X[:, 0], np.random.default_rng(0)), X) is None
        True
    """
    if hasattr(model, "predict_members"):
        return np.asarray(model.predict_members(X))
    if getattr(getattr(model, "network_", None), "shape", None) is None or model.network_.shape.n_members < 2:
        return None
    return _medians_of_surrogate(model, X)


def covariance_of_members(F: FloatArray, G: FloatArray, damping: FloatArray) -> FloatArray:
    """Damped covariance between inputs, from medians (K, n) and (K, r) and factors (n, r) -> (n, r).

    Example:
        >>> F = np.array([[0.0, 1.0], [2.0, 1.0]])
        >>> covariance_of_members(F, F, np.ones((2, 2)))
        array([[2., 0.],
               [0., 0.]])
    """
    return np.asarray(damping * ((F - F.mean(axis=0)).T @ (G - G.mean(axis=0))) / (len(F) - 1))


def taper(X: FloatArray, reference: FloatArray, radius: float) -> FloatArray:
    """exp(-|x - x'|^2 / (2 radius^2)), (n, d) and (r, d) -> (n, r).

    Example:
        >>> taper(np.array([[0.0]]), np.array([[0.0], [1.0]]), 1.0).round(4)
        array([[1.    , 0.6065]])
    """
    s = (X * X).sum(axis=1)[:, None] + (reference * reference).sum(axis=1) - 2 * X @ reference.T
    return np.asarray(np.exp(np.maximum(s, 0.0) / (-2 * radius**2)))


def reduce_by_members(model: Any, X: Any, reference: FloatArray, radius: float | None = None) -> FloatArray:
    """Reduction of the members' mean variance over reference inputs by a run at each row of X.

    mean_r cov(x, r)^2 / (var(x) + noise(x)), the noise being that of the 5-95% interval of a run beyond what the
    members disagree on.

    Args:
        model: A surrogate with members.
        X: Inputs, shape (n, d).
        reference: Inputs at which predictions matter, shape (r, d).
        radius: Distance at which covariances are damped; a quarter of the reference's extent if left out.

    Returns:
        Shape (n,), in units of y squared.
    """
    X = np.asarray(X, dtype=np.float64)
    F, G = predict_members(model, X), predict_members(model, reference)
    if F is None or G is None:
        raise InvalidInput(
            f"model must have two or more members or a covariance of its own, got {type(model).__name__}; "
            "fit QuantileSurrogate(n_members=3, prior_scale=0.5) or use predictive_variance"
        )
    span = np.ptp(reference, axis=0)
    span = np.where(span > 0, span, 1.0)
    damping = taper(X / span, reference / span, 0.25 * np.sqrt(X.shape[1]) if radius is None else radius)
    variance = F.var(axis=0, ddof=1)
    lower, upper = model.predict_distribution(X).interval(0.9)
    noise = np.maximum(((upper - lower) / NORMAL_WIDTH) ** 2 - variance, 0.0)
    gain = (covariance_of_members(F, G, damping) ** 2).mean(axis=1)
    return np.asarray(gain / np.maximum(variance + noise, np.finfo(np.float64).tiny))


def _medians_of_surrogate(model: Any, X: Any) -> FloatArray:
    """Medians of each member's law, (K, n), for a `QuantileSurrogate`: the surrogate with one network at a time."""
    import torch  # slow to import

    from genbayes.network import PriorIQN

    network = model.network_
    medians = []
    for k in range(network.shape.n_members):
        one = PriorIQN(replace(network.shape, n_members=1), [torch.Generator()], network.prior_scale)
        one.load_state_dict({name: value[k : k + 1] for name, value in network.state_dict().items()})
        alone = copy.copy(model)
        alone.network_ = one.to(next(network.parameters()).device)
        medians.append(alone.predict_distribution(X).median())
    return np.stack(medians)
