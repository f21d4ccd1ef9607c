"""Training of a summary network: together with a chain of its own, by the likelihood of theta.

What raises the likelihood is what the posterior needs to know of y. Of sets, a second chain sees the known summaries
alone: if it does as well on held-out pairs, the learnt ones are left out. Afterwards the network is frozen, the chains
that were its judges are dropped, and the estimator trains its own on the summaries.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from genbayes.arrays import FloatArray
from genbayes.deadline import require_time
from genbayes.inference.chain import Chain, ChainShape
from genbayes.inference.chain_training import ChainSettings, chain_loss, limit_gradient, n_held_out, rate_at
from genbayes.inference.summaries import SHARE_WHOLE, LearntSummary
from genbayes.inference.summary_networks import Array, SummaryNetwork, draw_parts
from genbayes.progress import Report
from genbayes.seeding import torch_generator
from genbayes.training.loop import AveragedAdam, FlatWeights, draw_batches

SETTINGS = ChainSettings(n_steps=2_000, batch_size=128, learning_rate=3e-3, dropout=(0.0,), patience=10)
N_ERRORS = 2.0  # standard errors by which learnt summaries must gain over known ones alone to be kept
N_JUDGES = 1_000  # held-out pairs that say when to stop, at most


def train_summary(
    summary: LearntSummary,
    y: Array,
    t: FloatArray,
    edges: tuple[FloatArray, FloatArray],
    rng: np.random.Generator,
    report: Report | None = None,
) -> None:
    """Learn a summary network in place.

    Args:
        summary: Whose network is learnt.
        y: Observations in random order, the first of them held out here and by the chain, shape (n, ...).
        t: Scaled parameters, shape (n, k).
        edges: Ends of the support on that scale, each (k,).
        rng: Source of weights, batches and dropout.
        report: Called with (step, steps, loss) now and then.
    """
    k, generator = t.shape[1], torch_generator(rng)
    network = summary.begin(y, k, generator)
    n_stop = n_held_out(len(t))
    n_judges = min(N_JUDGES, n_stop)
    rows, theta = network.prepare(y), torch.as_tensor(t, dtype=torch.float32)
    judges, learn = torch.arange(n_judges), torch.arange(n_stop, len(t))
    smallest = summary.smallest_part_ = summary.find_smallest_part(y, t)
    with torch.no_grad():
        first = network(rows[learn[:N_JUDGES]])
        center, scale = first.mean(dim=0), first.std(dim=0).clamp_min(1e-3)
        standing = (first - center) / scale
        seen, chains = _begin_judges(network, standing, theta[learn[:N_JUDGES]], edges, generator)

    def losses(which: Tensor, dropout: float = 0.0, *, in_training: bool = False) -> Tensor:
        y = rows[which]
        if in_training and smallest is not None:
            y = draw_parts(y, smallest, SHARE_WHOLE, generator)
        s = (network(y) - center) / scale
        found = []
        for chain, at in zip(chains, seen, strict=True):
            x = torch.cat([theta[which], s[:, at]], dim=1).expand(k, -1, -1)
            found.append(chain_loss(chain, x, dropout, generator).sum(dim=0))
        return torch.stack(found)

    weights = FlatWeights([*network.parameters(), *(p for chain in chains for p in chain.parameters())])
    adam = AveragedAdam(weights, SETTINGS.weight_decay, SETTINGS.averaging, betas=(0.9, 0.99))
    batches = draw_batches([learn], SETTINGS.batch_size, [torch_generator(rng)], theta.device)
    best, kept, stale = float("inf"), weights.flat.detach().clone(), 0
    rows_at_best, best_known = torch.zeros(0), torch.full((n_judges,), torch.inf)
    for step in range(SETTINGS.n_steps + 1):
        require_time()
        if step % SETTINGS.steps_between_checks == 0:
            adam.swap()
            with torch.no_grad():
                by_row = torch.cat([losses(part) for part in judges.split(256)], dim=1)
                score = float(by_row[0].mean())
                if by_row[-1].mean() < best_known.mean():
                    best_known = by_row[-1]
                if score < best - 1e-4:
                    best, kept, stale, rows_at_best = score, weights.flat.detach().clone(), 0, by_row[0]
                else:
                    stale += 1
            adam.swap()
            if report is not None:
                report(step, SETTINGS.n_steps, score)
            if stale >= SETTINGS.patience or step == SETTINGS.n_steps:
                break
        weights.grad.zero_()
        loss = losses(next(batches)[0], SETTINGS.dropout[0], in_training=True).mean(dim=1).sum()
        loss.backward()
        limit_gradient(weights.grad, k * len(chains), float(loss.detach()), step)
        adam.step(rate_at(step, SETTINGS))
    with torch.no_grad():
        weights.flat.copy_(kept)
        if network.may_leave_out:
            gain = best_known - rows_at_best
            network.learns.fill_(float(gain.mean() > N_ERRORS * gain.std() / math.sqrt(n_judges)))
    weights.release()


def _begin_judges(
    network: SummaryNetwork, s: Tensor, theta: Tensor, edges: tuple[FloatArray, FloatArray], generator: torch.Generator
) -> tuple[list[slice], list[Chain]]:
    """Which summaries each chain sees, all or the known ones, and the chains, begun from first pairs (theta, s)."""
    seen = [slice(None)]
    if network.may_leave_out:
        seen.append(slice(network.n_learnt, None))
    k, chains = theta.shape[1], []
    for at in seen:
        chain = Chain(ChainShape(k, s[:, at].shape[1], n_layers=1), *edges, np.arange(k)[None], generator)
        chain.start_from_ridge(theta, s[:, at], framed=False)
        chains.append(chain)
    return seen, chains
