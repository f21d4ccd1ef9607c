"""Train a stack of quantile networks for design: small, and able to go on from where it stopped.

The loss is the unbiased one of the recipe "fast". Beyond it, members may weigh runs differently (bootstrap) and pay
for moving away from given weights (anchors). Each member keeps every fifth run aside, its own, and stops by them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from genbayes.network import DEFAULT, PriorIQN, Rows, held_out_crps, unbiased_loss
from genbayes.network.embedding import N_LEVELS, level_table, levels_of
from genbayes.training import TrainingSettings, minimise

__all__ = ["N_FOLDS", "Objective", "keep_aside", "train_members"]

N_FOLDS = 5
N_TAU = 2  # levels drawn for each run and step, one from each half


@dataclass(frozen=True)
class Objective:
    """What members minimise beyond the check loss of all runs alike.

    Attributes:
        row_weight: Weight of each run in each member's loss, shape (K, n); None for 1.
        penalty: Added to each member's loss, shape (K,); None for nothing.
    """

    row_weight: Tensor | None = None
    penalty: Callable[[], Tensor] | None = None


def keep_aside(n: int, n_members: int) -> Tensor:
    """Runs that each member keeps aside, shape (K, n // 5): member j every fifth from the j-th.

    A run stays aside for the same member for ever, however many follow.

    Example:
        >>> keep_aside(11, 2)
        tensor([[0, 5],
                [1, 6]])
    """
    first = torch.arange(n_members).unsqueeze(1) % N_FOLDS
    return first + N_FOLDS * torch.arange(n // N_FOLDS)


def train_members(
    network: PriorIQN,
    rows: Rows,
    settings: TrainingSettings,
    generators: Sequence[torch.Generator],
    objective: Objective,
) -> None:
    """Train all members in place, each keeping the weights that serve its runs aside best.

    Args:
        network: The members; training goes on from their present weights.
        rows: Scaled runs.
        settings: Length, rate and portions of the training.
        generators: One for each member: its order of runs and its levels.
        objective: What is minimised beyond the check loss.
    """
    n, n_members = len(rows), network.shape.n_members
    aside = keep_aside(n, n_members)
    table = level_table(network.shape.n_cosines)

    def loss(batch: Tensor) -> Tensor:
        index = _draw_levels(batch.shape[1], generators)
        mu, q = network.predict_heads(rows.Z[batch], table[index])
        losses = unbiased_loss(rows.y[batch].unsqueeze(-1), mu, q, levels_of(index), DEFAULT).mean(dim=2)
        if objective.row_weight is not None:
            losses = losses * objective.row_weight.gather(1, batch)
        mean = losses.mean(dim=1)
        return mean if objective.penalty is None else mean + objective.penalty()

    minimise(
        loss,
        [p for p in network.parameters() if p.requires_grad],
        _rows_to_learn(n, aside),
        settings,
        generators,
        held_out=(lambda: held_out_crps(network, rows, aside)) if aside.shape[1] else None,
    )


def _draw_levels(n: int, generators: Sequence[torch.Generator]) -> Tensor:
    """Table rows of stratified levels, one from each of N_TAU equal strata of (0, 1), shape (K, b, N_TAU)."""
    width = N_LEVELS // N_TAU
    offset = torch.stack([torch.randint(width, (n, N_TAU), generator=g) for g in generators])
    return offset + width * torch.arange(N_TAU)


def _rows_to_learn(n: int, aside: Tensor) -> list[Tensor]:
    """Runs of each member: those that it does not keep aside."""
    learn = []
    for held in aside:
        is_learnt = torch.ones(n, dtype=torch.bool)
        is_learnt[held] = False
        learn.append(is_learnt.nonzero()[:, 0])
    return learn
