"""How wide the laws should be, learnt from rows that no member had seen: one factor about the median.

A network that has learnt its training rows a little too well states quantiles that are too close together. The
rows kept aside show by how much: q_tau becomes m + s (q_tau - m), m the median, with the s of lowest CRPS there.
Quantile levels keep their meaning, for the factor is 1 where the held-out rows agree with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from genbayes.models.network.iqn import N_LEVELS, NetworkShape, PriorIQN, cosine_embedding, level_table, levels_of
from genbayes.models.network.loss import LossWeights, check_loss, level_weight, three_term_loss, unbiased_loss
from genbayes.progress import Report
from genbayes.training import History, TrainingSettings, minimise

MASK_POOL = 1 << 20  # Bernoulli draws made once per member and read from random places: drawing them afresh each
# step costs as much as the matrix products
N_SCORE_LEVELS = 49  # levels at which held-out rows are scored during training
SCORED_AT_ONCE = 256  # held-out rows of each member: 5 members x 256 rows x 49 levels x 64 units are 16 MB


Penalty = Callable[[PriorIQN], Tensor]


@dataclass(frozen=True)
class IQNSettings:
    """What to train and how.

    Attributes:
        shape: Sizes of the network.
        weights: Weights of the three loss terms.
        training: Length, rate and portions of the run.
        n_tau: Levels drawn for each row of a mini-batch; None is the paper's single level for the whole batch.
        dropout: Share of f_x's hidden units silenced at random in each step.
        prior_scale: Size of the randomized prior in standard deviations of y; 0 for none.
    """

    shape: NetworkShape
    weights: LossWeights
    training: TrainingSettings
    n_tau: int | None = None
    dropout: float = 0.0
    prior_scale: float = 0.0


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
        keep = 1 - self.settings.dropout
        if keep == 1:
            return None
        if self.pools is None:
            size = max(MASK_POOL, 2 * rows * max(self.settings.shape.widths))
            draws = [torch.empty(size).bernoulli_(keep, generator=g) / keep for g in self.generators]
            self.pools = torch.stack(draws).to(self.device)
        return [self._one_mask(rows, width) for width in self.settings.shape.widths]

    def _one_mask(self, rows: int, width: int) -> Tensor:
        assert self.pools is not None
        size = rows * width
        starts = [int(torch.randint(self.pools.shape[1] - size, (1,), generator=g)) for g in self.generators]
        parts = [pool[start : start + size] for pool, start in zip(self.pools, starts, strict=True)]
        return torch.stack(parts).view(-1, rows, width)


def fit_iqn(
    rows: Rows,
    settings: IQNSettings,
    generators: Sequence[torch.Generator],
    *,
    network: PriorIQN | None = None,
    input_scale: Tensor | None = None,
    aside: Tensor | None = None,
    row_weight: Tensor | None = None,
    penalty: Penalty | None = None,
    report: Report | None = None,
) -> tuple[PriorIQN, History]:
    """Train all members on the rows.

    Args:
        rows: Scaled runs.
        settings: What to train and how.
        generators: One per member: its weights, its order of rows, its levels, its masks.
        network: Members to go on from, trained in place; None for new ones.
        input_scale: What each member multiplies its inputs by, shape (K, 1, p) or broadcasting to it.
        aside: Row numbers that each member does not learn from but is scored on, shape (K, a); each member then
            keeps the weights with its best score.
        row_weight: Further weight of each row in each member's loss, shape (K, n); None for 1.
        penalty: The network to what is added to each member's loss, shape (K,).
        report: Called with (step, steps, loss) now and then.

    Returns:
        The fitted network and the course of its training.
    """
    if network is None:
        network = PriorIQN(settings.shape, generators, settings.prior_scale).to(rows.Z.device)
        if input_scale is not None:
            network.scale_inputs(input_scale)
        network.rescale_prior(rows.Z)
    draws = _Draws(generators, settings, rows.Z.device)
    objective = _paper_objective if settings.n_tau is None else _fast_objective
    loss = objective(network, rows, settings, draws, row_weight)
    score = None if aside is None or aside.shape[1] == 0 else (lambda: held_out_crps(network, rows, aside))
    history = minimise(
        loss if penalty is None else (lambda batch: loss(batch) + penalty(network)),
        [p for p in network.parameters() if p.requires_grad],
        _rows_to_learn(len(rows), settings.shape.n_members, aside),
        settings.training,
        generators,
        held_out=score,
        report=report,
    )
    return network, history


def _rows_to_learn(n: int, n_members: int, aside: Tensor | None) -> list[Tensor]:
    """Row numbers of each member: all, or those that it does not keep aside."""
    if aside is None:
        return [torch.arange(n)] * n_members
    learn = []
    for held in aside.cpu():
        is_learnt = torch.ones(n, dtype=torch.bool)
        is_learnt[held] = False
        learn.append(is_learnt.nonzero()[:, 0])
    return learn


def _paper_objective(
    network: PriorIQN, rows: Rows, settings: IQNSettings, draws: _Draws, row_weight: Tensor | None
) -> Callable[[Tensor], Tensor]:
    """Mean three-term loss of the whole batch at one level a step, (K,)."""
    Z = rows.Z.expand(settings.shape.n_members, -1, -1)
    y, weight = rows.y.unsqueeze(-1), rows.weight.unsqueeze(-1)
    if row_weight is not None:
        weight = weight * row_weight.unsqueeze(-1)

    def loss(batch: Tensor) -> Tensor:
        assert batch.shape[1] == len(rows), "the paper trains on the full batch"
        tau = draws.one_level()
        phi = cosine_embedding(tau, settings.shape.n_cosines)
        mu, q = network.predict_heads(Z, phi, draws.masks(len(rows)))
        return (weight * three_term_loss(y, mu, q, tau, settings.weights)).mean(dim=(1, 2))

    return loss


def _fast_objective(
    network: PriorIQN, rows: Rows, settings: IQNSettings, draws: _Draws, row_weight: Tensor | None
) -> Callable[[Tensor], Tensor]:
    """Mean unbiased loss of a mini-batch, several stratified levels a row, (K,)."""
    table = level_table(settings.shape.n_cosines, rows.Z.device)
    of_level = level_weight(levels_of(torch.arange(N_LEVELS, device=rows.Z.device)), settings.weights)

    def loss(batch: Tensor) -> Tensor:
        index = draws.levels(batch.shape[1])
        Z, y, weight = rows.Z[batch], rows.y[batch].unsqueeze(-1), rows.weight[batch].unsqueeze(-1)
        if row_weight is not None:
            weight = weight * row_weight.gather(1, batch).unsqueeze(-1)
        mu, q = network.predict_heads(Z, table[index], draws.masks(batch.shape[1]))
        losses = unbiased_loss(y, mu, q, levels_of(index), settings.weights, of_level[index])
        return (weight * losses).mean(dim=(1, 2))

    return loss


@torch.no_grad()
def held_out_quantiles(network: PriorIQN, rows: Rows, aside: Tensor) -> tuple[Tensor, Tensor]:
    """Quantiles of each member at the rows it kept aside, without crossings, and their levels.

    Args:
        network: The fitted or half-fitted network.
        rows: All scaled runs.
        aside: Row numbers, shape (K, a).

    Returns:
        q, shape (K, a, m), and tau, shape (m,), equally spaced midpoints with 1/2 in the middle.
    """
    tau = (torch.arange(N_SCORE_LEVELS, device=rows.Z.device) + 0.5) / N_SCORE_LEVELS
    phi = cosine_embedding(tau, network.shape.n_cosines).expand(network.shape.n_members, 1, -1, -1)
    parts = [network.predict_heads(rows.Z[some], phi)[1] for some in aside.split(SCORED_AT_ONCE, dim=1)]
    return torch.cat(parts, dim=1).sort(dim=-1).values, tau


@torch.no_grad()
def held_out_crps(network: PriorIQN, rows: Rows, aside: Tensor) -> Tensor:
    """Mean CRPS of each member on the rows it kept aside, (K,)."""
    weight = rows.weight[aside]
    return (weight * held_out_scores(network, rows, aside)).sum(dim=1) / weight.sum(dim=1)


@torch.no_grad()
def held_out_scores(network: PriorIQN, rows: Rows, aside: Tensor) -> Tensor:
    """CRPS of each member at each row it kept aside, as twice the mean check loss over levels, (K, a) -> (K, a)."""
    q, tau = held_out_quantiles(network, rows, aside)
    e = rows.y[aside].unsqueeze(-1) - q
    return 2 * check_loss(e, tau).mean(dim=-1)


FACTORS = np.geomspace(1.0, 3.0, 56)  # steps of 2%, finer than the rows can tell; never narrower than was learnt


@torch.no_grad()
def choose_spread(network: PriorIQN, rows: Rows, aside: Tensor) -> float:
    """The factor with the lowest mean CRPS over all members' rows kept aside, shape (K, a)."""
    q, tau = held_out_quantiles(network, rows, aside)
    middle = q[..., q.shape[-1] // 2].unsqueeze(-1)
    y, weight = rows.y[aside].unsqueeze(-1), rows.weight[aside]
    risk = []
    for factor in FACTORS.tolist():
        e = y - (middle + factor * (q - middle))
        risk.append(float((weight * check_loss(e, tau).mean(dim=-1)).sum()))
    return float(FACTORS[int(np.argmin(risk))])


def stretch(q: Tensor, factor: float) -> Tensor:
    """Ordered quantiles at levels symmetric about 1/2, moved away from their median, (..., m) -> (..., m).

    Example:
        >>> stretch(torch.tensor([1.0, 2.0, 3.0]), 2.0)
        tensor([0., 2., 4.])
    """
    if factor == 1:
        return q
    middle = q[..., q.shape[-1] // 2].unsqueeze(-1)
    return middle + factor * (q - middle)
