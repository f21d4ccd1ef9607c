"""Models that the paper tried on jumps and found wanting: a mixture of experts, and GBC-Aug with a weak classifier.

A mixture of experts (section 4.2) is K complete networks and a gate: q(tau, x) = sum_k g_k(x) q_k(tau, x) with g the
softmax of a small network, trained as the paper trains a single one. Routed softly, prediction is that sum; routed
hard, the expert of the largest g alone.
"""

from __future__ import annotations

import math
import warnings
from typing import Literal, Self

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor

from genbayes import PredictiveDistribution, QuantileSurrogate
from genbayes.arrays import FloatArray
from genbayes.distribution import QuantileFunction
from genbayes.models.network import QUANTILE_DOMINANT, LossWeights
from genbayes.models.network.iqn import IQN, NetworkShape, cosine_embedding
from genbayes.models.network.loss import three_term_loss
from genbayes.models.regimes.mixture import fit_gaussians
from genbayes.seeding import torch_generator

LEARNING_RATE = 1e-3
N_GATE = 64  # hidden units of the gate
LEVELS = np.arange(1, 200) / 200


class ExpertsIQN:
    """K implicit quantile networks under one gate.

    Args:
        n_experts: Number of experts K.
        n_epochs: Steps of Adam on the full batch, one level each.
        n_hidden: Units of a hidden layer of an expert.
        weights: Weights of the loss.
        seed: Seeds first weights and levels.
    """

    def __init__(
        self,
        n_experts: int = 2,
        n_epochs: int = 6_000,
        n_hidden: int = 256,
        weights: LossWeights = QUANTILE_DOMINANT,
        seed: int = 0,
    ) -> None:
        self.n_experts = n_experts
        self.n_epochs = n_epochs
        self.n_hidden = n_hidden
        self.weights = weights
        self.seed = seed

    def fit(self, X: FloatArray, y: FloatArray) -> Self:
        """Train experts and gate together on runs, (n, d) and (n,)."""
        self.center_, self.scale_ = X.mean(axis=0), X.std(axis=0)
        self.location_, self.spread_ = float(y.mean()), float(y.std())
        *own, gate, levels = (torch_generator(g) for g in np.random.default_rng(self.seed).spawn(self.n_experts + 2))
        shape = NetworkShape(
            n_inputs=X.shape[1], n_members=self.n_experts, n_hidden=self.n_hidden, n_merge=self.n_hidden
        )
        self.experts_ = IQN(shape, own)
        self.gate_ = [_layer(X.shape[1], N_GATE, gate), _layer(N_GATE, self.n_experts, gate)]
        Z, target = self._scaled(X), torch.as_tensor((y - self.location_) / self.spread_, dtype=torch.float32)
        self._descend(Z, target, levels)
        return self

    def predict_distribution(self, X: FloatArray, routing: Literal["soft", "hard"] = "soft") -> QuantileFunction:
        """The distribution of a new run at each row of X, (n, d)."""
        Z = self._scaled(X)
        q = self.experts_.quantiles(Z, torch.as_tensor(LEVELS, dtype=torch.float32))  # (K, n, m)
        share = self.shares(X)
        if routing == "hard":
            share = np.eye(self.n_experts)[share.argmax(axis=1)]
        mixed = np.einsum("nk,knm->nm", share, q.numpy().astype(np.float64))
        return QuantileFunction(LEVELS, self.location_ + self.spread_ * mixed)

    def shares(self, X: FloatArray) -> FloatArray:
        """What the gate gives each expert, summing to 1, (n, d) -> (n, K)."""
        with torch.no_grad():
            return self._gate(self._scaled(X)).numpy().astype(np.float64)

    def specialisation(self, X: FloatArray) -> float:
        """Mean over rows of the largest share: 1 if the gate always commits itself, 1/K if never."""
        return float(self.shares(X).max(axis=1).mean())

    def _scaled(self, X: FloatArray) -> Tensor:
        return torch.as_tensor((X - self.center_) / self.scale_, dtype=torch.float32)

    def _gate(self, Z: Tensor) -> Tensor:
        (W, b), (V, c) = self.gate_
        return torch.softmax(torch.relu(Z @ W + b) @ V + c, dim=1)

    def _descend(self, Z: Tensor, y: Tensor, levels: torch.Generator) -> None:
        """Adam with cosine annealing on the whole batch, one level a step (paper section 3.3)."""
        parameters = [*self.experts_.parameters(), *(part for layer in self.gate_ for part in layer)]
        optimiser = torch.optim.Adam(parameters, lr=LEARNING_RATE)
        self.losses_ = []
        for step in range(self.n_epochs):
            optimiser.param_groups[0]["lr"] = LEARNING_RATE * 0.5 * (1 + math.cos(math.pi * step / self.n_epochs))
            loss = self._loss(Z, y, torch.rand((), generator=levels))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            self.losses_.append(float(loss.detach()))

    def _loss(self, Z: Tensor, y: Tensor, tau: Tensor) -> Tensor:
        K = self.n_experts
        phi = cosine_embedding(tau.reshape(1, 1, 1), self.experts_.shape.n_cosines).expand(K, -1, -1, -1)
        heads = self.experts_.heads(self.experts_.features(Z.expand(K, -1, -1)), phi)  # mu and q, (K, n, 1) each
        share = self._gate(Z).T
        mu, q = ((share * head.squeeze(-1)).sum(dim=0) for head in heads)
        return three_term_loss(y, mu, q, tau, self.weights).mean()


def _layer(n_in: int, n_out: int, generator: torch.Generator) -> tuple[torch.nn.Parameter, torch.nn.Parameter]:
    """Weights and biases uniform within 1/sqrt(n_in)."""
    bound = 1 / math.sqrt(n_in)
    W, b = ((2 * torch.rand(size, generator=generator) - 1) * bound for size in ((n_in, n_out), (n_out,)))
    return torch.nn.Parameter(W), torch.nn.Parameter(b)


class ShownProbability:
    """GBC-Aug as in the paper, with a classifier of choice.

    A mixture on y labels the runs, the classifier learns the labels from x, and its probability, in-sample, becomes one
    more input of the paper's network.

    Args:
        layers: Hidden layers of the classifier; none for a linear one.
        n_epochs: Epochs of the network.
        n_passes: Passes of the classifier over the rows, at most.
        seed: Seeds classifier and network.
    """

    def __init__(self, layers: tuple[int, ...], n_epochs: int, n_passes: int, seed: int = 0) -> None:
        self.layers, self.n_epochs, self.n_passes, self.seed = layers, n_epochs, n_passes, seed

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """The settings, for the record."""
        return {"layers": self.layers, "n_epochs": self.n_epochs, "n_passes": self.n_passes, "random_state": self.seed}

    def fit(self, X: FloatArray, y: FloatArray) -> Self:
        """Label the runs, learn the labels, train the network."""
        self.mixture_ = fit_gaussians(y, np.ones(len(y)), 2)
        model = (
            MLPClassifier(self.layers, max_iter=self.n_passes, random_state=self.seed, n_iter_no_change=50, tol=1e-6)
            if self.layers
            else LogisticRegression(max_iter=1_000)
        )
        self.classifier_ = make_pipeline(StandardScaler(), model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.classifier_.fit(X, self._label(y))
        self.network_ = QuantileSurrogate(
            recipe="paper", weights="quantile-dominant", n_epochs=self.n_epochs, random_state=self.seed
        ).fit(self._shown(X), y)
        return self

    def predict_distribution(self, X: FloatArray) -> PredictiveDistribution:
        """What the network makes of inputs and probability."""
        return self.network_.predict_distribution(self._shown(X))

    def accuracy(self, X: FloatArray, y: FloatArray) -> float:
        """How often the classifier names the regime of a run rightly."""
        return float(np.mean(self.classifier_.predict(X) == self._label(y)))

    def _label(self, y: FloatArray) -> FloatArray:
        return np.asarray(self.mixture_.log_density(y).argmax(axis=1))

    def _shown(self, X: FloatArray) -> FloatArray:
        return np.column_stack([X, self.classifier_.predict_proba(X)[:, 1]])
