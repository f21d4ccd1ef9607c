"""Networks whose last layer alone is Bayesian: last-layer Laplace and SNGP, alternatives of the paper's Supplement D.

y = phi(x)'w + noise with w normal a posteriori, everything in closed form (Bishop 2006, section 3.3):

    precision P = Phi'Phi / s^2 + lambda I,   cov(f(x), f(x')) = phi(x)'P^{-1} phi(x').

The features phi are the last hidden units of a quantile network, or random Fourier features of a network that keeps
distances (SNGP, Liu et al. 2020).
"""

from __future__ import annotations

import copy
import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from scipy.linalg import cho_solve, solve_triangular
from torch import Tensor, nn

from genbayes.arrays import FloatArray
from genbayes.design.ensemble import GROWTH, N_STEPS, N_STEPS_MORE, SPREAD, NetworkEnsemble
from genbayes.design.interface import DesignModel
from genbayes.distribution import Normal
from genbayes.metrics import crps_normal
from genbayes.models.network.iqn import cosine_embedding
from genbayes.models.protocols import Of
from genbayes.seeding import torch_generator
from genbayes.threads import single_thread
from genbayes.training import TrainingSettings, differentiate, minimise

SMALLEST_NOISE = 1e-6  # of a variance, responses being standardised: a network that interpolates is not certain
N_HIDDEN, N_BLOCKS, N_FREQUENCIES = 64, 2, 128
SPECTRAL_NORM = 0.95  # of each residual block: below 1 it neither tears apart nor folds
LEARNING_RATE = 5e-3
PRIOR = 1.0  # precision of the last layer's weights


@dataclass(frozen=True)
class BayesianHead:
    """Last layer with a normal posterior.

    Attributes:
        weight: Mean of w, shape (m,).
        root: Lower Cholesky factor of the precision, shape (m, m).
        noise: Variance s^2 of the noise.
    """

    weight: FloatArray
    root: FloatArray
    noise: float

    @classmethod
    def learn(
        cls, Phi: FloatArray, y: FloatArray, noise: float, prior: float, weight: FloatArray | None = None
    ) -> BayesianHead:
        """From features (n, m) and standardised responses (n,).

        Args:
            Phi: Features of the runs.
            y: Their responses.
            noise: Variance of the noise.
            prior: Prior precision lambda.
            weight: Mean of w where it is known already; otherwise P^{-1} Phi'y / s^2.

        Example:
            >>> head = BayesianHead.learn(np.ones((4, 1)), np.full(4, 2.0), noise=1.0, prior=1e-9)
            >>> head.weight.round(3), head.variance(np.ones((1, 1))).round(3)
            (array([2.]), array([0.25]))
        """
        noise = max(noise, SMALLEST_NOISE)
        root = np.asarray(np.linalg.cholesky(Phi.T @ Phi / noise + prior * np.eye(Phi.shape[1])), np.float64)
        if weight is None:
            weight = cho_solve((root, True), Phi.T @ y / noise)
        return cls(np.asarray(weight), root, noise)

    def mean(self, Phi: FloatArray) -> FloatArray:
        """Mean of f, (n, m) -> (n,)."""
        return np.asarray(Phi @ self.weight)

    def variance(self, Phi: FloatArray) -> FloatArray:
        """Variance of f, (n, m) -> (n,)."""
        half = solve_triangular(self.root, Phi.T, lower=True)
        return np.asarray((half * half).sum(axis=0))

    def covariance(self, Phi: FloatArray, Psi: FloatArray) -> FloatArray:
        """Covariance of f between inputs, (n, m) and (r, m) -> (n, r)."""
        left, right = (solve_triangular(self.root, part.T, lower=True) for part in (Phi, Psi))
        return np.asarray(left.T @ right)

    def draw(self, Phi: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One function f at all inputs, (n, m) -> (n,)."""
        away = solve_triangular(self.root, rng.standard_normal(len(self.weight)), lower=True, trans="T")
        return np.asarray(Phi @ (self.weight + away))

    def with_runs(self, Phi: FloatArray) -> BayesianHead:
        """The head once runs with these features, (q, m), are done with the responses expected of them."""
        precision = self.root @ self.root.T + Phi.T @ Phi / self.noise
        return replace(self, root=np.asarray(np.linalg.cholesky(precision), np.float64))

    def leave_one_out(self, Phi: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Error and variance of each run by the others, the features being kept, (n, m), (n,) -> (n,), (n,).

        e_i / (1 - h_i) and s^2 / (1 - h_i), h_i = var f(x_i) / s^2 the leverage.
        """
        left = np.maximum(1 - self.variance(Phi) / self.noise, SMALLEST_NOISE)
        return (y - self.mean(Phi)) / left, self.noise / left


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
        """Normal distributions of the last layer; of the mean without the noise."""
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
        updated = copy.copy(self)
        updated.head_ = self.head_.with_runs(self._features(X))
        return updated

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
        """Train the network, then the distribution of its last layer's weights."""
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


class SNGP(LastLayerModel):
    """Residual network with bounded spectral norms, random Fourier features, Bayesian last layer.

    h <- h + c W relu(.) / max(c, |W|), then phi = sqrt(2 / D) cos(V h + b) with V normal and b uniform: inputs far
    apart stay apart, so that the last layer's variance grows away from the runs. Trained by squared error.

    Args:
        n_steps: Training steps from scratch.
        n_steps_more: Training steps after a new run.

    Example:
        >>> X = np.linspace(0, 0.5, 20)[:, None]
        >>> model = SNGP(n_steps=50).fit(X, np.sin(6 * X[:, 0]), np.random.default_rng(0))
        >>> bool(np.diff(model.predict_distribution([[0.25], [1.0]], of="mean").std())[0] > 0)
        True
    """

    def __init__(self, n_steps: int = N_STEPS // 2, n_steps_more: int = N_STEPS_MORE) -> None:
        self.n_steps = n_steps
        self.n_steps_more = n_steps_more

    def fit(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Self:
        """Train the residual network, then the distribution of its last layer's weights."""
        self._center, width = float(y.mean()), float(y.std())
        self._width = width if width > 0 else 1.0
        self._n_fitted = len(y)
        self._network = _DistanceKeeping(X.shape[1], torch_generator(rng))
        return self._train(X, y, self.n_steps, rng)

    def update(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Self:
        """Go on from the present weights; from scratch when runs have grown by half."""
        if len(y) >= GROWTH * self._n_fitted:
            return self.fit(X, y, rng)
        return self._train(X, y, self.n_steps_more, rng)

    def _train(self, X: FloatArray, y: FloatArray, n_steps: int, rng: np.random.Generator) -> Self:
        network = self._network
        Z, t = _tensor((X - 0.5) * SPREAD), _tensor((y - self._center) / self._width)

        def loss(batch: Tensor) -> Tensor:
            out = network.features(Z[batch[0]]) @ network.weight[0]
            ridge = PRIOR * network.weight.square().sum() / len(t)
            return ((out - t[batch[0]]).square().mean() + ridge).reshape(1)

        settings = TrainingSettings(n_epochs=n_steps, learning_rate=LEARNING_RATE, warmup=0.05)
        with single_thread():
            rows, generators = [torch.arange(len(t))], [torch_generator(rng)]
            minimise(differentiate(loss), list(network.parameters()), rows, settings, generators)
        return self._remember(X, y, None, PRIOR)

    @torch.no_grad()
    def _features(self, X: FloatArray) -> FloatArray:
        return self._network.features(_tensor((X - 0.5) * SPREAD)).double().numpy()


class _DistanceKeeping(nn.Module):
    """From inputs (n, p) to random Fourier features (n, D) of a residual network; weights have a leading axis of 1."""

    frequencies: Tensor
    phases: Tensor
    lift: Tensor

    def __init__(self, p: int, generator: torch.Generator) -> None:
        super().__init__()

        def draw(*shape: int) -> Tensor:
            return torch.randn(*shape, generator=generator)

        self.register_buffer("lift", draw(p, N_HIDDEN) / N_HIDDEN**0.5)  # nearly an isometry, and not trained
        self.blocks = nn.ParameterList(
            nn.Parameter(draw(1, N_HIDDEN, N_HIDDEN) / N_HIDDEN**0.5) for _ in range(N_BLOCKS)
        )
        self.shifts = nn.ParameterList(nn.Parameter(torch.zeros(1, N_HIDDEN)) for _ in range(N_BLOCKS))
        self.weight = nn.Parameter(torch.zeros(1, N_FREQUENCIES))
        self.register_buffer("frequencies", draw(N_HIDDEN, N_FREQUENCIES))
        self.register_buffer("phases", 2 * torch.pi * torch.rand(N_FREQUENCIES, generator=generator))

    def features(self, Z: Tensor) -> Tensor:
        """Random Fourier features, (n, p) -> (n, D)."""
        h = Z @ self.lift
        for block, shift in zip(self.blocks, self.shifts, strict=True):
            norm = torch.linalg.matrix_norm(block[0].detach(), ord=2)
            h = h + torch.relu(h @ block[0] + shift[0]) * (SPECTRAL_NORM / norm).clamp(max=1.0)
        return math.sqrt(2 / N_FREQUENCIES) * torch.cos(h @ self.frequencies + self.phases)


def _tensor(values: FloatArray) -> Tensor:
    return torch.as_tensor(values, dtype=torch.float32)
