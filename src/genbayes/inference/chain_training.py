"""Training of a chain: all conditionals at once by maximum likelihood, the best checkpoint of each kept.

Each conditional has weights of its own, so the sum of their losses trains each as if it were alone; held-out pairs say
for each separately which weights were best. The rate rises, then falls along a cosine; what is scored and kept is a
running mean of the weights. Dropout on the residual branches is what small sets of simulations need most.

Last, `sharpen` sets two numbers, shared by all conditionals, by held-out pairs. A mixture of calibrated members that
err differently is too wide (Gneiting and Ranjan 2013, "Combining predictive distributions", who adjust the spread of
each for it); networks that learnt few pairs by heart are too narrow. With factors e^b and e^w every component's logit
is multiplied by e^b and its scale by e^w. Both are taken up into the weights of the networks, so the chain stays what
it was.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from genbayes.arrays import FloatArray, IntArray
from genbayes.deadline import require_time
from genbayes.errors import TrainingDiverged
from genbayes.inference.chain import Chain, ChainShape
from genbayes.inference.chain_step import ChainStep
from genbayes.progress import Report
from genbayes.seeding import torch_generator
from genbayes.training.loop import AveragedAdam, BestWeights, FlatWeights, draw_batches

SHARE_HELD_OUT, MOST_HELD_OUT = 0.1, 2_000  # pairs that say when to stop; the estimator keeps as many for checks
MANY_PARAMETERS = 6  # beyond, fewer members are mixed: time grows with their number
MANY_PAIRS, VERY_MANY_PAIRS = 5_000, 20_000  # from which on training is longer, and goes on to its end
EARLY_CHECKS = (0, 10, 20, 35)  # steps: few pairs are learnt by heart that soon
LARGEST_GRADIENT = 5.0  # norm for each conditional, root mean square over them
PRIOR_SPREAD = 0.1  # of b and w: a hundred pairs say little about them
N_ITERATIONS = 25  # of L-BFGS, enough for two numbers


@dataclass(frozen=True)
class ChainSettings:
    """How a chain is trained.

    Attributes:
        n_steps: Steps, at most.
        batch_size: Pairs of a mini-batch.
        learning_rate: Peak rate of AdamW.
        weight_decay: Its decoupled decay.
        dropout: Shares of units of a residual branch silenced in a step; members take them in turn.
        n_warmup: Steps over which the rate rises.
        averaging: Decay of the running mean of the weights.
        steps_between_checks: How often held-out pairs are scored.
        patience: Checks without a gain after which a conditional is done.
        framed: Whether centre and spread of the components of a conditional are learnt in common.
        learns_tails: Whether their flatness is learnt, too; otherwise they are logistic.
    """

    n_steps: int
    batch_size: int = 256
    learning_rate: float = 8e-3
    weight_decay: float = 1e-4
    dropout: tuple[float, ...] = (0.3,)
    n_warmup: int = 100
    averaging: float = 0.99
    steps_between_checks: int = 50
    patience: int = 8
    framed: bool = True
    learns_tails: bool = True


def fit_chain(
    theta: Tensor,
    s: Tensor,
    edges: tuple[FloatArray, FloatArray],
    n_members: int | None,
    rng: np.random.Generator,
    report: Report | None = None,
    n_stop: int | None = None,
    *,
    may_learn_tails: bool = True,
) -> tuple[Chain, list[tuple[float, float]]]:
    """A trained chain; each member has an order of the parameters and a dropout of its own.

    Args:
        theta: Scaled parameters in random order, the first of them held out, shape (n, k).
        s: Scaled summaries, shape (n, p).
        edges: Ends of the support on the scale of theta, each (k,).
        n_members: Chains that are mixed; None leaves it to the recipe.
        rng: Source of all randomness.
        report: Called with (step, steps, loss) now and then.
        n_stop: Number of pairs that are held out; None for `n_held_out` of all.
        may_learn_tails: Whether tails are learnt where pairs are many; otherwise they are logistic.

    Returns:
        The chain, and step and held-out loss of each check.
    """
    n, k = theta.shape
    n_stop = n_held_out(n) if n_stop is None else n_stop
    sizes, settings = recipe_for(n, k)
    settings = replace(settings, learns_tails=settings.learns_tails and may_learn_tails)
    n_members = sizes["n_members"] if n_members is None else n_members
    orders = np.stack([np.arange(k), *(rng.permutation(k) for _ in range(n_members - 1))])
    shape = ChainShape(**{**sizes, "k": k, "n_summaries": s.shape[1], "n_members": n_members})
    chain = Chain(shape, *edges, orders, torch_generator(rng))
    stop = np.tile(np.arange(n_stop), (n_members, 1))  # the same for all: they are weighed by them
    return chain, train_chain(chain, theta, s, stop, settings, rng, report)


def recipe_for(n: int, k: int) -> tuple[dict[str, int], ChainSettings]:
    """Sizes of the chain of n pairs of k parameters, and how it is trained.

    Few pairs want small members and much dropout; of many parameters two members are chains enough.

    Example:
        >>> recipe_for(1_000, k=2)[0]["n_members"], recipe_for(10_000, k=2)[0]["n_members"]
        (3, 4)
    """
    if n < MANY_PAIRS:
        sizes = {"n_members": 3, "n_hidden": 48, "n_layers": 2}
        return sizes, ChainSettings(
            n_steps=1_200, batch_size=128, dropout=(0.5, 0.3, 0.4), patience=6, framed=False, learns_tails=False
        )
    sizes = {"n_members": 4 if k <= MANY_PARAMETERS else 2, "n_hidden": 64, "n_layers": 2}
    # of very many pairs little is learnt by heart: training goes on until the rate has fallen, which sharpens variances
    patience = 8 if n < VERY_MANY_PAIRS else 60
    return sizes, ChainSettings(n_steps=3_000, dropout=(0.4, 0.0, 0.1, 0.4), patience=patience)


def n_held_out(n: int) -> int:
    """Pairs of n that are held out.

    Example:
        >>> n_held_out(1_000), n_held_out(100_000)
        (100, 2000)
    """
    return min(MOST_HELD_OUT, int(np.ceil(SHARE_HELD_OUT * n)))


def train_chain(
    chain: Chain,
    theta: Tensor,
    s: Tensor,
    held_out: IntArray,
    settings: ChainSettings,
    rng: np.random.Generator,
    report: Report | None = None,
) -> list[tuple[float, float]]:
    """Train in place.

    Args:
        chain: What is trained.
        theta: Scaled parameters, shape (n, k).
        s: Scaled summaries, shape (n, p).
        held_out: Row numbers that each member holds out, shape (M, a).
        settings: Length, rate and portions.
        rng: Source of batches and dropout.
        report: Called with (step, steps, loss) now and then.

    Returns:
        Step and mean held-out loss, summed over the parameters, of each check.
    """
    M, k = chain.shape.n_members, chain.shape.k
    everything = np.arange(len(theta))
    learn = [torch.as_tensor(np.setdiff1d(everything, rows)) for rows in held_out]
    chain.start_from_ridge(theta[learn[0]], s[learn[0]], framed=settings.framed, learns_tails=settings.learns_tails)
    x = torch.cat([theta, s], dim=1)
    batches = draw_batches(learn, settings.batch_size, [torch_generator(r) for r in rng.spawn(M)], theta.device)
    weights = FlatWeights(list(chain.parameters()))
    adam = AveragedAdam(weights, settings.weight_decay, settings.averaging, betas=(0.9, 0.99))
    best = BestWeights(weights, settings.patience)
    unseen = x[torch.as_tensor(held_out)].repeat_interleave(k, dim=0)  # (C, a, k + p)
    shares = torch.as_tensor([settings.dropout[m % len(settings.dropout)] for m in range(M)], dtype=torch.float32)
    advance = ChainStep(chain, shares.repeat_interleave(k), torch_generator(rng), framed=settings.framed)
    losses = []
    for step in range(settings.n_steps + 1):
        require_time()
        if step in EARLY_CHECKS or step % settings.steps_between_checks == 0 or step == settings.n_steps:
            adam.swap()
            with torch.no_grad():
                scores = chain_loss(chain, unseen)
            is_over = best.note(scores, torch.ones_like(scores), step)
            adam.swap()
            losses.append((float(step), float(scores.mean(dim=1).sum()) / M))
            if report is not None:
                report(step, settings.n_steps, losses[-1][1])
            if is_over or step == settings.n_steps:
                break
        loss = advance(x[next(batches)].repeat_interleave(k, dim=0)).sum()
        limit_gradient(weights.grad, len(chain.target), float(loss), step)
        adam.step(rate_at(step, settings))
    best.restore()
    weights.release()
    judges = torch.as_tensor(np.unique(held_out))
    chain.weigh(theta[judges], s[judges])
    sharpen(chain, theta[judges], s[judges])
    chain.weigh(theta[judges], s[judges])
    return losses


def chain_loss(chain: Chain, x: Tensor, dropout: float = 0.0, generator: torch.Generator | None = None) -> Tensor:
    """Negative log density of each conditional at its inputs and its own parameter, (C, b, k + p) -> (C, b)."""
    t = x.gather(2, chain.target[:, None, None].expand(-1, x.shape[1], 1))[..., 0]
    return -chain.as_mixtures(chain.outputs(x, dropout=dropout, generator=generator)).log_prob(t)


def limit_gradient(grad: Tensor, n_conditionals: int, loss: float, step: int) -> None:
    """Shorten a gradient that is too long, in place; one that is not finite ends the training."""
    norm = float(grad.norm())
    if not math.isfinite(norm) or not math.isfinite(loss):
        raise TrainingDiverged(
            f"the training loss must stay finite, got {loss} at step {step}; look for extreme values in theta and y"
        )
    longest = LARGEST_GRADIENT * math.sqrt(n_conditionals)
    if norm > longest:
        grad.mul_(longest / norm)


def rate_at(step: int, settings: ChainSettings) -> float:
    """Learning rate of a step: linear warm-up times a cosine to zero.

    Example:
        >>> round(rate_at(100, ChainSettings(n_steps=10**9)), 6)
        0.008
    """
    warm = min(1.0, (step + 1) / max(1, settings.n_warmup))
    return settings.learning_rate * warm * 0.5 * (1 + math.cos(math.pi * step / settings.n_steps))


def sharpen(chain: Chain, theta: Tensor, s: Tensor) -> None:
    """Adjust a chain, in place, so that pairs it was not trained on are most likely.

    Args:
        chain: A trained chain whose members have their weights.
        theta: Scaled parameters, shape (n, k).
        s: Scaled summaries, shape (n, p).
    """
    with torch.no_grad():
        out = chain.outputs(torch.cat([theta, s], dim=1).expand(len(chain.target), -1, -1))
    K, t = chain.shape.n_components, theta.T[chain.target]
    log_weight = torch.log(chain.weight).float()[:, None]
    factors = torch.zeros(2, requires_grad=True)
    search = torch.optim.LBFGS([factors], max_iter=N_ITERATIONS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        search.zero_grad()
        logit, rest = out[..., :K] * torch.exp(factors[0]), out[..., 2 * K : 3 * K] + factors[1]
        adjusted = torch.cat([logit, out[..., K : 2 * K], rest, out[..., 3 * K :]], dim=-1)
        each = chain.as_mixtures(adjusted).log_prob(t).view(chain.shape.n_members, -1, len(theta)).sum(dim=1)
        mean = torch.logsumexp(each + log_weight, dim=0).mean()
        total = -mean + 0.5 * (factors / PRIOR_SPREAD).square().sum() / len(theta)
        total.backward()
        return total

    search.step(loss)
    with torch.no_grad():
        for part in (chain.W_out, chain.b_out, chain.S):
            part[..., :K] *= torch.exp(factors[0])
        chain.b_out[..., 2 * K : 3 * K] += factors[1]
