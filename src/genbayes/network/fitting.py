"""From scaled runs to a fitted network: draws tau, feeds the training loop, scores rows kept aside.

Two objectives share the network. `recipe="paper"`: the whole batch with one level a step and the loss as printed.
`recipe="fast"`: mini-batches, several stratified levels for each row that share f_x, and the unbiased loss.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from genbayes.network.embedding import N_LEVELS, cosine_embedding, level_table, levels_of
from genbayes.network.iqn import NetworkShape
from genbayes.network.loss import LossWeights, three_term_loss, unbiased_loss
from genbayes.network.prior import PriorIQN
from genbayes.training import History, Report, TrainingSettings, minimise

__all__ = ["IQNSettings", "Rows", "fit_iqn", "held_out_crps"]

MASK_POOL = 1 << 20  # Bernoulli draws made once per member and read from random places: drawing them afresh each
# step costs as much as the matrix products
N_SCORE_LEVELS = 49  # levels at which held-out rows are scored during training


@dataclass(frozen=True)
class IQNSettings:
    """What to train and how.

    Attributes:
        shape: Sizes of the network.
        weights: Weights of the three loss terms.
        training: Length, rate and portions of the run.
        n_tau: Levels drawn for each row of a mini-batch; None is the paper's single level for the whole batch.
        dropout: Share of f_x's hidden units silenced at random in each step, for all members or for each.
        prior_scale: Size of the randomized prior in standard deviations of y; 0 for none.
        input_penalty: Weight of the sum over inputs of the norm of their first-layer weights (group lasso).
    """

    shape: NetworkShape
    weights: LossWeights
    training: TrainingSettings
    n_tau: int | None = None
    dropout: float | tuple[float, ...] = 0.0
    prior_scale: float = 0.0
    input_penalty: float = 0.0


@dataclass(frozen=True)
class Rows:
    """Scaled runs as tensors: inputs (n, p), responses (n,), weights of mean 1 (n,)."""

    Z: Tensor
    y: Tensor
    weight: Tensor

    def __len__(self) -> int:
        return len(self.y)


@dataclass
class _Draws:
    """Random levels and dropout masks, each member from its own stream."""

    generators: Sequence[torch.Generator]
    settings: IQNSettings
    device: torch.device
    pools: Tensor | None = field(default=None)

    def levels(self, rows: int) -> Tensor:
        """Table rows of stratified levels, one from each of n_tau equal strata of (0, 1), shape (K, b, n_tau)."""
        n_tau = self.settings.n_tau
        assert n_tau is not None
        width = N_LEVELS // n_tau
        offset = [torch.randint(width, (rows, n_tau), generator=g) for g in self.generators]
        return (torch.stack(offset) + width * torch.arange(n_tau)).to(self.device)

    def one_level(self) -> Tensor:
        """One uniform level per member, shape (K, 1, 1)."""
        return torch.stack([torch.rand(1, 1, generator=g) for g in self.generators]).to(self.device)

    def masks(self, rows: int) -> list[Tensor] | None:
        """Dropout masks for the hidden layers of f_x, each (K, b, width)."""
        dropout = self.settings.dropout
        shares = dropout if isinstance(dropout, tuple) else (dropout,) * len(self.generators)
        if not any(shares):
            return None
        if self.pools is None:
            draws = [
                torch.empty(MASK_POOL).bernoulli_(1 - share, generator=g) / (1 - share)
                for share, g in zip(shares, self.generators, strict=True)
            ]
            self.pools = torch.stack(draws).to(self.device)
        return [self._one_mask(rows, width) for width in self.settings.shape.widths]

    def _one_mask(self, rows: int, width: int) -> Tensor:
        assert self.pools is not None
        size = rows * width
        starts = [int(torch.randint(MASK_POOL - size, (1,), generator=g)) for g in self.generators]
        parts = [pool[start : start + size] for pool, start in zip(self.pools, starts, strict=True)]
        return torch.stack(parts).view(-1, rows, width)


def fit_iqn(
    rows: Rows,
    settings: IQNSettings,
    generators: Sequence[torch.Generator],
    *,
    input_scale: Tensor | None = None,
    held_out: Rows | None = None,
    report: Report | None = None,
) -> tuple[PriorIQN, History]:
    """Train all members on the rows.

    Args:
        rows: Scaled runs.
        settings: What to train and how.
        generators: One per member: its weights, its order of rows, its levels, its masks.
        input_scale: What each member multiplies its inputs by, shape (K, 1, p) or broadcasting to it.
        held_out: Scaled runs to be scored on the way; each member keeps its best weights.
        report: Called with (step, steps, loss) now and then.

    Returns:
        The fitted network and the course of its training.
    """
    network = PriorIQN(settings.shape, generators, settings.prior_scale).to(rows.Z.device)
    if input_scale is not None:
        network.scale_inputs(input_scale)
    network.rescale_prior(rows.Z)
    draws = _Draws(generators, settings, rows.Z.device)
    objective = _paper_objective if settings.n_tau is None else _fast_objective
    score = None if held_out is None else (lambda: held_out_crps(network, held_out))
    history = minimise(
        objective(network, rows, settings, draws),
        [p for p in network.parameters() if p.requires_grad],
        len(rows),
        settings.training,
        generators,
        held_out=score,
        report=report,
    )
    return network, history


def _paper_objective(
    network: PriorIQN, rows: Rows, settings: IQNSettings, draws: _Draws
) -> Callable[[Tensor | None], Tensor]:
    """Mean three-term loss of the whole batch at one level a step, (K,)."""
    members = settings.shape.n_members
    Z = rows.Z.expand(members, -1, -1)
    y, weight = rows.y.unsqueeze(-1), rows.weight.unsqueeze(-1)

    def loss(batch: Tensor | None) -> Tensor:
        assert batch is None, "the paper trains on the full batch"
        tau = draws.one_level()
        phi = cosine_embedding(tau, settings.shape.n_cosines)
        mu, q = network.predict_heads(Z, phi, draws.masks(len(rows)))
        return (weight * three_term_loss(y, mu, q, tau, settings.weights)).mean(dim=(1, 2))

    return loss


def _fast_objective(
    network: PriorIQN, rows: Rows, settings: IQNSettings, draws: _Draws
) -> Callable[[Tensor | None], Tensor]:
    """Mean unbiased loss of a mini-batch, several stratified levels a row, (K,)."""
    members = settings.shape.n_members
    table = level_table(settings.shape.n_cosines, rows.Z.device)

    def loss(batch: Tensor | None) -> Tensor:
        if batch is None:
            batch = torch.arange(len(rows), device=rows.Z.device).expand(members, -1)
        index = draws.levels(batch.shape[1])
        Z, y, weight = rows.Z[batch], rows.y[batch].unsqueeze(-1), rows.weight[batch].unsqueeze(-1)
        mu, q = network.predict_heads(Z, table[index], draws.masks(batch.shape[1]))
        mean = (weight * unbiased_loss(y, mu, q, levels_of(index), settings.weights)).mean(dim=(1, 2))
        if settings.input_penalty > 0:
            mean = mean + settings.input_penalty * network.trained.input_norms().sum(dim=1)
        return mean

    return loss


@torch.no_grad()
def held_out_crps(network: PriorIQN, rows: Rows) -> Tensor:
    """Mean CRPS of each member on scaled rows, as twice the mean check loss over equally spaced levels, (K,)."""
    tau = (torch.arange(N_SCORE_LEVELS, device=rows.Z.device) + 0.5) / N_SCORE_LEVELS
    e = rows.y.unsqueeze(-1) - network.quantiles(rows.Z, tau).sort(dim=-1).values
    check = torch.maximum(tau * e, (tau - 1) * e).mean(dim=-1)
    return 2 * (rows.weight * check).sum(dim=-1) / rows.weight.sum()
