"""From scaled runs to a fitted network: draws tau, feeds the training loop, scores held-out rows.

Two objectives share the network. `recipe="paper"`: the whole batch with one level a step and the loss as printed.
`recipe="fast"`: mini-batches, several stratified levels for each row that share f_x, and the unbiased loss. Held-out
rows also tell how far quantiles should lie apart: a network that has learnt its training rows a little too well states
them too close together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack

import numpy as np
import torch
from torch import Tensor

from genbayes.metrics import best_spread
from genbayes.models.network.iqn import NetworkShape, PriorIQN, cosine_embedding
from genbayes.models.network.loss import LossWeights, check_loss, three_term_loss
from genbayes.models.network.step import FastStep, Masks
from genbayes.progress import Report
from genbayes.training import History, Training, TrainingSettings, differentiate
from genbayes.training.loop import Objective

WIDEST_SPREAD = 3.0  # factor of the quantiles' distances that is tried
N_CHECK_LEVELS = 17  # by which held-out rows are scored during training: a third of the price of 49

Penalty = Callable[[PriorIQN], Tensor]


class Further(TypedDict, total=False):
    """Arguments of `begin_iqn` that may be left out."""

    network: PriorIQN | None
    input_scale: Tensor | None
    aside: Tensor | None
    row_weight: Tensor | None
    penalty: Penalty | None
    report: Report | None


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


def begin_iqn(
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
) -> tuple[PriorIQN, Training]:
    """Members and their training, ready to run on the rows.

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
    """
    n, n_members = len(rows.y), settings.shape.n_members
    if network is None:
        network = PriorIQN(settings.shape, generators, settings.prior_scale).to(rows.Z.device)
        network.adapt_to(rows.Z, input_scale)
    weight = rows.weight.expand(n_members, n) if row_weight is None else rows.weight * row_weight
    make = paper_objective if settings.n_tau is None else FastStep
    objective: Objective = make(network, rows, weight, settings, generators)
    learn = [torch.arange(n)] * n_members
    if aside is not None:
        learn = [torch.as_tensor(np.setdiff1d(learn[0], held)) for held in aside.cpu()]
    training = Training(
        objective if penalty is None else _penalised(objective, penalty, network),
        [p for p in network.parameters() if p.requires_grad],
        learn,
        settings.training,
        generators,
        held_out=None if aside is None or aside.shape[1] == 0 else (lambda: check_held_out(network, rows, aside)),
        report=report,
    )
    return network, training


def fit_iqn(
    rows: Rows, settings: IQNSettings, generators: Sequence[torch.Generator], **more: Unpack[Further]
) -> tuple[PriorIQN, History]:
    """Train all members on the rows, from beginning to end; arguments as those of `begin_iqn`.

    Returns:
        The fitted network and the course of its training.
    """
    network, training = begin_iqn(rows, settings, generators, **more)
    for _ in training.laps():
        pass
    return network, training.finish()


def _penalised(objective: Objective, penalty: Penalty, network: PriorIQN) -> Objective:
    """An objective plus a penalty on the weights; its gradient is added to that of the objective."""

    def with_penalty(batch: Tensor) -> Tensor:
        loss, added = objective(batch), penalty(network)
        added.sum().backward()
        return loss + added.detach()

    return with_penalty


def paper_objective(
    network: PriorIQN, rows: Rows, weight: Tensor, settings: IQNSettings, generators: Sequence[torch.Generator]
) -> Objective:
    """Mean three-term loss of the whole batch at one level a step, (K,); weight has shape (K, n)."""
    Z, y = rows.Z.expand(len(weight), -1, -1), rows.y.unsqueeze(-1)
    masks = Masks(1 - settings.dropout, settings.shape.widths, generators, rows.Z.device)

    def loss(batch: Tensor) -> Tensor:
        assert batch.shape[1] == len(rows.y), "the paper trains on the full batch"
        tau = torch.stack([torch.rand(1, 1, generator=g) for g in generators]).to(rows.Z.device)
        phi = cosine_embedding(tau, settings.shape.n_cosines)
        mu, q = network.predict_heads(Z, phi, masks.draw(len(rows.y)))
        return (weight.unsqueeze(-1) * three_term_loss(y, mu, q, tau, settings.weights)).mean(dim=(1, 2))

    return differentiate(loss)


@torch.no_grad()
def held_out_quantiles(network: PriorIQN, rows: Rows, aside: Tensor, n_levels: int = 49) -> tuple[Tensor, Tensor]:
    """Quantiles of each member at the rows it held out, without crossings, and their levels.

    Args:
        network: The fitted or half-fitted network.
        rows: All scaled runs.
        aside: Row numbers, shape (K, a).
        n_levels: Number of levels m, odd.

    Returns:
        q, shape (K, a, m), and tau, shape (m,), equally spaced midpoints with 1/2 in the middle.
    """
    tau = (torch.arange(n_levels, device=rows.Z.device) + 0.5) / n_levels
    phi = cosine_embedding(tau, network.shape.n_cosines).expand(network.shape.n_members, 1, -1, -1)
    # 256 rows of each member at once: 5 members x 256 rows x 49 levels x 64 units are 16 MB
    parts = [network.predict_heads(rows.Z[some], phi)[1] for some in aside.split(256, dim=1)]
    return torch.cat(parts, dim=1).sort(dim=-1).values, tau


@torch.no_grad()
def held_out_scores(network: PriorIQN, rows: Rows, aside: Tensor, n_levels: int = 49) -> Tensor:
    """CRPS of each member at each row it held out, as twice the mean check loss over levels, (K, a) -> (K, a)."""
    q, tau = held_out_quantiles(network, rows, aside, n_levels)
    e = rows.y[aside].unsqueeze(-1) - q
    return 2 * check_loss(e, tau).mean(dim=-1)


def check_held_out(network: PriorIQN, rows: Rows, aside: Tensor) -> tuple[Tensor, Tensor]:
    """Scores of each member at the rows it held out, by few levels, and the weights of the rows, (K, a) each."""
    return held_out_scores(network, rows, aside, N_CHECK_LEVELS), rows.weight[aside]


@torch.no_grad()
def choose_spread(network: PriorIQN, rows: Rows, aside: Tensor) -> float:
    """The factor by which held-out rows, shape (K, a), ask quantiles to be moved away from their median.

    q_tau becomes m + s (q_tau - m), m the median, with the s of lowest mean CRPS (`genbayes.metrics.spread`). Levels
    keep their meaning, for s is 1 where held-out rows agree with them; it is never smaller.
    """
    q, _ = held_out_quantiles(network, rows, aside)
    table, y, weight = (part.double().cpu().numpy() for part in (q.flatten(0, 1), rows.y[aside], rows.weight[aside]))
    return best_spread(table, y.ravel(), weight.ravel(), between=(1.0, WIDEST_SPREAD))


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
