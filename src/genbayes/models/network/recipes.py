"""The recipe "paper", and what both recipes share: the runs as tensors, on the device that the user means.

`paper` follows sections 3.3 and 5.1 to the letter and is the yardstick: one hidden layer of 256 units, the full
batch, one level a step, Adam at 1e-3, cosine annealing, 3,000 epochs. `fast` is our own and lives in fast.py. A recipe
reads the constructor arguments of the surrogate, which `fit` has checked; None leaves a choice to the recipe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.models.base import ScaledRuns
from genbayes.models.network.fit import IQNSettings, Rows, fit_iqn
from genbayes.models.network.iqn import NetworkShape, PriorIQN
from genbayes.progress import show_progress
from genbayes.seeding import torch_generator
from genbayes.training import History, TrainingSettings

if TYPE_CHECKING:
    from genbayes.models.network.surrogate import QuantileSurrogate


# the network, what it was trained with, how that went, the factor by which quantiles are moved away from their median,
# and how much each network input matters, the largest 1, shape (p,)
Trained = tuple[PriorIQN, IQNSettings, History, float, FloatArray]


def train_paper(model: QuantileSurrogate, runs: ScaledRuns, rng: np.random.Generator) -> Trained:
    """The paper to the letter, unless the user says otherwise; the bias of its loss is left as it is."""
    if model.batch_size is not None:
        raise InvalidInput(f"batch_size must be None with recipe='paper', got {model.batch_size}; use recipe='fast'")
    n_hidden, n_members, n_inputs = int(model.n_hidden or 256), int(model.n_members or 1), runs.Z.shape[1]
    shape = NetworkShape(
        n_inputs=n_inputs,
        n_members=n_members,
        n_hidden=n_hidden,
        n_layers=int(model.n_layers or 1),
        n_merge=n_hidden,
        n_cosines=int(model.n_cosines),
        n_fourier=int(model.n_fourier or 0),
    )
    training = TrainingSettings(
        n_epochs=int(model.n_epochs or 3000),
        learning_rate=float(model.learning_rate or 1e-3),
        weight_decay=float(model.weight_decay),
    )
    settings = IQNSettings(
        shape,
        model.weights_,
        training,
        dropout=float(model.dropout or 0.0),
        prior_scale=float(model.prior_scale),
    )
    generators = [torch_generator(child) for child in rng.spawn(n_members)]
    with show_progress("fitting", bool(model.verbose)) as report:
        rows = as_tensors(runs, choose_device(model.device))
        network, history = fit_iqn(rows, settings, generators, report=report)
    return network, settings, history, 1.0, np.ones(n_inputs)


def choose_device(name: str) -> torch.device:
    """The device a user means; "auto" is the GPU where there is one."""
    if name == "cuda" and not torch.cuda.is_available():
        raise InvalidInput("device must be available, got 'cuda' on a machine without it; use device='auto'")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def as_tensors(runs: ScaledRuns, device: torch.device) -> Rows:
    """The runs as single-precision tensors, weights scaled to mean 1."""
    weight = runs.weight / runs.weight.mean()
    Z, y, w = (torch.as_tensor(part, dtype=torch.float32, device=device) for part in (runs.Z, runs.y, weight))
    if not bool(torch.isfinite(y).all() and torch.isfinite(Z).all()):
        raise InvalidInput("X and y must fit single precision after scaling, got larger values; look for outliers")
    return Rows(Z, y, w)
