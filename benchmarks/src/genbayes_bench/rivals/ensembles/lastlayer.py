"""Networks whose last layer alone is Bayesian: last-layer Laplace, and SNGP in `sngp`; alternatives of Supplement D."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import Any, Self

import numpy as np
import torch

from genbayes.arrays import FloatArray
from genbayes.design.ensembles.base import N_STEPS, N_STEPS_MORE, NetworkEnsemble
from genbayes.design.model import DesignModel
from genbayes.distribution import Normal
from genbayes.metrics import crps_normal
from genbayes.models.protocols import Of
from genbayes.network.embedding import cosine_embedding
from genbayes_bench.rivals.ensembles.head import BayesianHead

__all__ = ["LastLayerLaplace", "LastLayerModel"]


class LastLayerModel(DesignModel):
    """A design model with a Bayesian last layer; a kind trains a network and hands out its last features.

    Attributes:
        head_: The last layer.
    """

    head_: BayesianHead
    _center: float
    _width: float

    @abstractmethod
    def _features(self, X: FloatArray) -> FloatArray:
        """Features that the last layer is linear in, (n, p) -> (n, m)."""

    def predict_distribution(self, X: Any, of: Of = "run") -> Normal:
        """Normal laws of the last layer; of the mean without the noise."""
        Phi = self._features(np.asarray(X, dtype=np.float64))
        variance = self.head_.variance(Phi) + (self.head_.noise if of == "run" else 0.0)
        return Normal(self._center + self._width * self.head_.mean(Phi), self._width * np.sqrt(variance))

    def variance_reduction(self, X: FloatArray, reference: FloatArray) -> FloatArray:
        """mean_r cov(r, x)^2 / (var(x) + noise), exact for the last layer, (n, p), (r, p) -> (n,)."""
        Phi = self._features(X)
        covariance = self.head_.covariance(Phi, self._features(reference))
        return np.asarray(self._width**2 * (covariance**2).mean(axis=1) / (self.head_.variance(Phi) + self.head_.noise))

    def draw_path(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One draw of the last layer, (n, p) -> (n,)."""
        return self._center + self._width * self.head_.draw(self._features(X), rng)

    def imagine(self, X: FloatArray) -> Self:
        """A copy whose last layer takes runs at X, shape (q, p), for done."""
        dreamer = copy.copy(self)
        dreamer.head_ = self.head_.with_runs(self._features(X))
        return dreamer

    def score_unseen(self) -> FloatArray:
        """CRPS of each run left out of the last layer, shape (n,); too good, since its features have seen the run."""
        X, y = self._runs
        error, variance = self.head_.leave_one_out(self._features(X), (y - self._center) / self._width)
        return np.asarray(self._width * crps_normal(np.zeros(len(y)), np.sqrt(variance), error))

    def _remember(self, X: FloatArray, y: FloatArray, weight: FloatArray | None, prior: float) -> Self:
        """Learn the last layer from runs once the features are known; the noise is what they leave unexplained."""
        self._runs = (X, y)
        t = (y - self._center) / self._width
        Phi = self._features(X)
        fitted = BayesianHead.learn(Phi, t, 1.0, prior).weight if weight is None else weight
        noise = float(np.mean((t - Phi @ fitted) ** 2))
        self.head_ = BayesianHead.learn(Phi, t, noise, prior, weight)
        return self

    _runs: tuple[FloatArray, FloatArray]


class LastLayerLaplace(LastLayerModel):
    """One quantile network; the weights of its last layer are normal around the trained ones.

    Laplace's approximation at the median's output: precision H'H / s^2 + 3 m I, H its m last hidden units at the runs
    and 1 / (3 m) the variance that weights begin with (Kristiadi, Hein & Hennig 2020).

    Args:
        n_steps: Training steps from scratch, at most.
        n_steps_more: Training steps after a new run.

    Example:
        >>> X = np.linspace(0, 0.5, 20)[:, None]
        >>> model = LastLayerLaplace(n_steps=50).fit(X, np.sin(6 * X[:, 0]), np.random.default_rng(0))
        >>> bool(np.diff(model.predict_distribution([[0.25], [1.0]], of="mean").std())[0] > 0)
        True
    """

    def __init__(self, n_steps: int = N_STEPS, n_steps_more: int = N_STEPS_MORE) -> None:
        self.n_steps = n_steps
        self.n_steps_more = n_steps_more

    def fit(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Self:
        """Train the network, then its last layer's law."""
        # two members are trained and the first is used: a stack keeps aside and stops for each on its own
        self._stack = NetworkEnsemble(2, self.n_steps, self.n_steps_more).fit(X, y, rng)
        return self._take_head(X, y)

    def update(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Self:
        """Go on from the present weights."""
        self._stack.update(X, y, rng)
        return self._take_head(X, y)

    def _take_head(self, X: FloatArray, y: FloatArray) -> Self:
        scaler, last = self._stack.scaler_, self._stack.network_.trained.f_out
        self._center, self._width = float(np.ravel(scaler.center)[0]), float(np.ravel(scaler.scale)[0])
        weight = torch.cat([last.weight[0, :, 1], last.bias[0, 0, 1:]]).detach().double().numpy()
        return self._remember(X, y, weight, prior=3.0 * (len(weight) - 1))

    @torch.no_grad()
    def _features(self, X: FloatArray) -> FloatArray:
        network = self._stack.network_.trained
        Z = self._stack.scaled(X).expand(network.shape.n_members, -1, -1)
        f_tau = torch.relu(network.f_tau(cosine_embedding(torch.full((network.shape.n_members, 1), 0.5))))
        hidden = torch.relu(network.f_1(network.features(Z) * f_tau))[0].double().numpy()
        return np.column_stack([hidden, np.ones(len(hidden))])
