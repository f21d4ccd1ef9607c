"""What passes between the estimator and the recipes: the user's settings in, a trained network out."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.network import IQNSettings, PriorIQN, Rows
from genbayes.scaling import Bounds
from genbayes.tabular import ScaledRuns
from genbayes.training import History

__all__ = ["RecipeOptions", "Trained", "as_tensors", "choose_device"]


@dataclass(frozen=True)
class RecipeOptions:
    """Constructor arguments of the surrogate, checked; None leaves a choice to the recipe."""

    recipe: str
    n_members: int | None
    prior_scale: float
    n_hidden: int | None
    n_layers: int | None
    n_waves: int | None
    n_cosines: int
    dropout: float | None
    n_epochs: int | None
    batch_size: int | None
    learning_rate: float | None
    weight_decay: float
    device: str
    verbose: bool
    bounds: Bounds


@dataclass(frozen=True)
class Trained:
    """What a recipe returns.

    Attributes:
        network: The trained network.
        settings: What it was trained with.
        history: The course of the training.
        spread: Factor by which quantiles are moved away from their median; 1 leaves them.
        relevance: How much each network input matters, the largest 1, shape (p,).
    """

    network: PriorIQN
    settings: IQNSettings
    history: History
    spread: float
    relevance: FloatArray


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
