"""Which inputs matter: a short pilot network whose penalty lets whole inputs go (group lasso).

The neural cousin of a Gaussian process's length scales. The norm of an input's first-layer weights, relative to
the largest, is its relevance; inputs that the pilot let go are dimmed in the final network, the others are left
alone. So no penalty distorts the final fit.
"""

from __future__ import annotations

import numpy as np
import torch

from genbayes.arrays import FloatArray
from genbayes.network import IQNSettings, LossWeights, NetworkShape, PriorIQN, Rows, fit_iqn
from genbayes.seeding import torch_generator
from genbayes.training import Report, TrainingSettings

__all__ = ["dim_inert_inputs", "measure_relevance"]

PENALTY = 0.01
N_STEPS = 400
BATCH_SIZE = 128
FEW_INPUTS = 2  # so few are there because they matter
FULL = 0.2  # an input of at least this relevance keeps its scale; below, it fades with the square


def measure_relevance(
    rows: Rows, rng: np.random.Generator, most_epochs: int | None = None, report: Report | None = None
) -> FloatArray:
    """Relevance of each column, the largest 1, shape (p,); the pilot is no longer than the run it serves."""
    n_inputs = rows.Z.shape[1]
    if n_inputs <= FEW_INPUTS:
        return np.ones(n_inputs)
    per_epoch = max(1, -(-len(rows) // BATCH_SIZE))
    n_epochs = min(max(1, N_STEPS // per_epoch), most_epochs or N_STEPS)
    settings = IQNSettings(
        NetworkShape(n_inputs, n_hidden=64, n_layers=2, n_merge=32),
        LossWeights(0.0, 0.0, 1.0),
        TrainingSettings(n_epochs, BATCH_SIZE, learning_rate=4e-3, warmup=0.05),
        n_tau=4,
    )
    network, _ = fit_iqn(rows, settings, [torch_generator(rng)], penalty=_group_lasso, report=report)
    norms = network.trained.input_norms()[0].detach().cpu().double().numpy()
    return np.asarray(norms / norms.max())


def _group_lasso(network: PriorIQN) -> torch.Tensor:
    """PENALTY times the sum over inputs of the norm of their first-layer weights, shape (K,)."""
    return PENALTY * network.trained.input_norms().sum(dim=1)


def dim_inert_inputs(relevance: FloatArray) -> torch.Tensor:
    """Factor for each input: 1 for those that matter, (r / FULL)^2 for those that hardly do, shape (p,).

    Example:
        >>> dim_inert_inputs(np.array([1.0, 0.2, 0.02]))
        tensor([1.0000, 1.0000, 0.0100])
    """
    return torch.as_tensor(np.minimum(relevance / FULL, 1.0) ** 2, dtype=torch.float32)
