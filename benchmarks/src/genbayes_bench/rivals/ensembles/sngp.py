"""SNGP: a network that keeps distances, under a Gaussian process of its last features (Liu et al. 2020)."""

from __future__ import annotations

import math
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from genbayes.arrays import FloatArray
from genbayes.design.ensembles.base import GROWTH, N_STEPS, N_STEPS_MORE, SPREAD
from genbayes.seeding import torch_generator
from genbayes.training import TrainingSettings, minimise
from genbayes.training.threads import single_thread
from genbayes_bench.rivals.ensembles.lastlayer import LastLayerModel

__all__ = ["SNGP"]

N_HIDDEN, N_BLOCKS, N_FREQUENCIES = 64, 2, 128
SPECTRAL_NORM = 0.95  # of each residual block: below 1 it neither tears apart nor folds
LEARNING_RATE = 5e-3
PRIOR = 1.0  # precision of the last layer's weights


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
        """Train the residual network, then its last layer's law."""
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
            minimise(loss, list(network.parameters()), [torch.arange(len(t))], settings, [torch_generator(rng)])
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
