"""Scores from small deep networks, paper section 4.2: the committee's member for many runs.

One network per fold of the rows, all trained in one stack. Each holds out its own fold, by which it also knows when to
stop; so every row was unseen by one network, and new inputs get the mean of all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from genbayes.arrays import FloatArray, IntArray
from genbayes.persistence import State
from genbayes.progress import Report
from genbayes.seeding import torch_generator
from genbayes.training import TrainingSettings, choose_batch_size, differentiate, minimise


@dataclass(frozen=True)
class PerceptronScores:
    """K networks of equal shape, h <- relu(h W + b), with the mean of their last layers as scores.

    Attributes:
        weights: W of each layer, shape (K, i, o).
        biases: b of each layer, shape (K, 1, o).
    """

    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]

    def scores(self, Z: FloatArray) -> FloatArray:
        """Mean scores of the networks, (n, p) -> (n, k)."""
        each = [self.scores_of(network, Z) for network in range(len(self.weights[0]))]
        return np.asarray(np.mean(each, axis=0))

    def scores_of(self, network: int, Z: FloatArray) -> FloatArray:
        """Scores of one network, centred over the regimes, (n, p) -> (n, k)."""
        h = Z  # in float64, so that a row's scores do not depend on its company
        for i, (W, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            h = h @ W[network].astype(np.float64) + b[network]
            h = np.maximum(h, 0.0) if i < len(self.weights) - 1 else h
        return np.asarray(h - h.mean(axis=1, keepdims=True))

    def out_of_fold(self, Z: FloatArray, folds: Sequence[IntArray]) -> FloatArray:
        """Scores of every row by the network that held out its fold, (n, p) -> (n, k)."""
        scores = np.empty((len(Z), self.biases[-1].shape[2]))
        for network, rows in enumerate(folds):
            scores[rows] = self.scores_of(network, Z[rows])
        return scores

    def to_state(self) -> State:
        """Weights and biases of the layers."""
        arrays = {f"weight{i}": W for i, W in enumerate(self.weights)}
        arrays |= {f"bias{i}": b for i, b in enumerate(self.biases)}
        return State("PerceptronScores", {"n_layers": len(self.weights)}, arrays)

    @classmethod
    def from_state(cls, state: State, p: int, k: int) -> PerceptronScores:
        """Scores of k regimes from p inputs, as a file describes them."""
        n_layers = state.count("n_layers", at_least=1)
        members, width = len(state.array("weight0", (None, p, None))), p
        weights, biases = [], []
        for i in range(n_layers):
            W = state.array(f"weight{i}", (members, width, k if i == n_layers - 1 else None))
            width = W.shape[2]
            weights.append(W)
            biases.append(state.array(f"bias{i}", (members, 1, width)))
        return cls(tuple(weights), tuple(biases))


def fit_perceptrons(
    Z: FloatArray,
    evidence: FloatArray,
    weight: FloatArray,
    folds: Sequence[IntArray],
    rng: np.random.Generator,
    report: Report | None = None,
) -> PerceptronScores:
    """Train one network per fold on the rows outside it.

    Args:
        Z: Scaled inputs, shape (n, p).
        evidence: Log density of each response in each regime, shape (n, k).
        weight: Positive weights, shape (n,).
        folds: Row numbers of each fold.
        rng: Draws first weights and orders of the rows.
        report: Called with (step, steps, loss) now and then.
    """
    generators = [torch_generator(child) for child in rng.spawn(len(folds))]
    # rows that each network learns from, and those it holds out; a few count twice to make lengths equal
    outside = [np.setdiff1d(np.arange(len(Z)), fold) for fold in folds]
    n, size = max(len(rows) for rows in outside), max(len(fold) for fold in folds)
    learn = [torch.as_tensor(np.resize(rows, n)) for rows in outside]
    aside = torch.as_tensor(np.stack([np.resize(fold, size) for fold in folds]))
    parameters = _first_weights([Z.shape[1], 64, 64, 64, evidence.shape[1]], generators)
    tensors = [torch.as_tensor(a, dtype=torch.float32) for a in (Z, evidence, weight / weight.mean())]

    def miss(rows: Tensor) -> Tensor:
        z, log_density = tensors[0][rows], tensors[1][rows]
        scores = _forward(z, parameters)
        return torch.logsumexp(scores, dim=-1) - torch.logsumexp(scores + log_density, dim=-1)

    def loss(rows: Tensor) -> Tensor:
        return (tensors[2][rows] * miss(rows)).mean(dim=1)

    @torch.no_grad()
    def held_out() -> tuple[Tensor, Tensor]:
        return miss(aside), tensors[2][aside]

    batch_size = choose_batch_size(n, 64, 512)
    n_steps = int(np.clip(3 * n, 400, 3_000))  # few rows are soon known by heart
    settings = TrainingSettings(
        n_epochs=max(1, n_steps * batch_size // max(n, batch_size)),
        batch_size=batch_size,
        learning_rate=6e-3,
        warmup=0.03,
        averaging=0.99,
        steps_between_checks=25,
        patience=24,  # checks: a winding boundary is found late
    )
    minimise(differentiate(loss), parameters, learn, settings, generators, held_out=held_out, report=report)
    arrays = [parameter.detach().numpy() for parameter in parameters]
    return PerceptronScores(tuple(arrays[0::2]), tuple(arrays[1::2]))


def _first_weights(sizes: Sequence[int], generators: Sequence[torch.Generator]) -> list[torch.nn.Parameter]:
    """W and b of each layer in turn; biases of the first spread the kinks over the scaled inputs."""
    parameters = []
    for i, (n_in, n_out) in enumerate(pairwise(sizes)):
        W = [torch.randn(n_in, n_out, generator=g) * math.sqrt(2 / n_in) for g in generators]
        b = [torch.randn(1, n_out, generator=g) * (1.0 if i == 0 else 0.0) for g in generators]
        parameters += [torch.nn.Parameter(torch.stack(W)), torch.nn.Parameter(torch.stack(b))]
    return parameters


def _forward(h: Tensor, parameters: Sequence[torch.nn.Parameter]) -> Tensor:
    """Scores of all networks, (K, b, p) -> (K, b, k)."""
    last = len(parameters) // 2 - 1
    for i in range(last + 1):
        h = torch.baddbmm(parameters[2 * i + 1], h, parameters[2 * i])
        h = torch.relu(h) if i < last else h
    return h
