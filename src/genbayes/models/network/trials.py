"""The recipe "fast": members that check each other, stopped in time, and as wide as unseen rows ask for.

1. A short pilot finds inputs that hardly matter; they are dimmed (relevance.py).
2. Members learn together in one stacked network. Each keeps a fifth of the rows aside, member j the fold j mod 5, so
   that five members together use every row and every row was unseen by one of them.
3. The running mean of each member's weights is scored on its own fold as training goes on; the best is kept, and
   all stop when none improves; a member that is still improving fast when its run ends goes on, twice as long. So the
   data choose the length, which regularises a network more than anything else.
4. The first two members try a shallow network, a deep one, and a shallow one whose inputs are scaled by their
   relevance; what does best on their folds is used for all, the deep one only if it is clearly better: it overfits
   more, and two folds are a noisy judge. Jumps want it, smooth surfaces the others.
5. Where runs are many, inputs were dimmed, or a plan that may yet win is still improving fast at the end of its run,
   there may be fine detail, which a pilot does not see: a deep network that also sees Fourier features of all inputs
   and drops nothing out is tried.
6. The same folds tell how far the quantiles should lie apart (spread.py).

Every choice uses training rows only. The measurements behind the constants are in docs/recipe.md.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from genbayes.arrays import FloatArray
from genbayes.metrics import is_clearly_better
from genbayes.models.base import ScaledRuns
from genbayes.models.network.fit import IQNSettings, Rows, choose_spread, fit_iqn, held_out_scores
from genbayes.models.network.iqn import NetworkShape, PriorIQN
from genbayes.models.network.loss import LossWeights
from genbayes.models.network.recipes import Trained, as_tensors, choose_device
from genbayes.progress import Report, show_progress
from genbayes.seeding import torch_generator
from genbayes.training import History, TrainingSettings

if TYPE_CHECKING:
    from genbayes.models.network.surrogate import QuantileSurrogate


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


N_MEMBERS = 5
N_FOLDS = 5
MOST_ASIDE = 2_000  # rows that a member keeps aside, at most: enough to see an improvement of a percent
N_HIDDEN = 128
DEPTHS = (1, 3)  # hidden layers of f_x to choose from
N_TRIAL = 2  # members that try each depth
ALL_ALIKE = 0.7  # where every input has at least this relevance, scaling by it changes nothing
N_MERGE = 64  # where x meets tau a narrow layer is enough, and there each row counts n_tau times
N_TAU = 4
DROPOUT = 0.05
N_FOURIER = 64  # of the network for fine detail; 32 and 128 did slightly worse
MANY_RUNS = 4_000  # from which on fine detail is looked for in any case
LEARNING_RATE = 5e-3
MOST_RATE_FACTOR = 2.0
WARMUP = 0.03
AVERAGING = 0.99
ROW_VISITS = 320_000  # rows seen in the longest run on few rows
TRIAL_VISITS = 800_000  # rows seen by a plan that is only tried: of very many runs a share of the epochs tells enough
MOST_VISITS = 4_000_000  # rows seen where training goes on because rows kept aside ask for it
FEWEST_EPOCHS, MOST_EPOCHS = 40, 4_000
SMALLEST_BATCH, LARGEST_BATCH = 128, 1024
BATCHES_OF_MANY = 16  # a batch is this share of the rows, within the two limits
PATIENCE = 8
MOST_ONE_HOT = 12  # a category with more levels is embedded


def train_fast(model: QuantileSurrogate, runs: ScaledRuns, rng: np.random.Generator) -> Trained:
    """Train by the recipe "fast"; what the user has set is not chosen."""
    started = time.perf_counter()
    rows = as_tensors(runs, choose_device(model.device))
    # one stream for each purpose, so that member j does not depend on the number of members
    rng_pilot, rng_folds, rng_members = rng.spawn(3)
    settings = default_settings(model, runs)
    n_members = settings.shape.n_members
    aside = folds(len(rows), max(n_members, N_TRIAL), rng_folds).to(rows.Z.device)
    seeds = [int(child.integers(2**63 - 1)) for child in rng_members.spawn(len(aside))]
    relevance = np.ones(settings.shape.n_inputs)
    if not settings.shape.n_fourier:  # a pilot does not see what they do
        with show_progress("finding the inputs that matter", bool(model.verbose)) as report:
            relevance = measure_relevance(rows, rng_pilot, settings.training.n_epochs, report)
    team = Team(rows, aside, seeds, bool(model.verbose))
    plans = possible_plans(settings, relevance, model.n_layers, rows.Z.device)
    if len(plans) > 1:
        trial = settings.training if model.n_epochs else trial_training(settings.training, len(rows))
        tried = [plan.trained(trial) for plan in plans]
        is_open = model.n_epochs is None and model.n_fourier is None
        chosen = team.choose(tried, fourier_plan(tried, model.dropout) if is_open else None)
        if trial != settings.training:
            chosen = team.train(chosen.plan.trained(settings.training), 0, n_members)
    else:
        chosen = team.train(plans[0], 0, n_members)
    network = chosen.network.first(n_members)
    if network.shape.n_members < n_members:
        network = network.joined(team.train(chosen.plan, N_TRIAL, n_members).network)
    settings = replace(chosen.plan.settings, shape=replace(chosen.plan.settings.shape, n_members=n_members))
    history = replace(chosen.history, seconds=time.perf_counter() - started)
    return network, settings, history, choose_spread(network, rows, aside[:n_members]), relevance


@dataclass(frozen=True)
class Plan:
    """One way to train the members.

    Attributes:
        name: What it is called on the progress bar.
        settings: Sizes and training settings.
        input_scale: What inputs are multiplied by, shape (p,).
        is_deep: Whether it has more freedom than the others, which it must earn.
    """

    name: str
    settings: IQNSettings
    input_scale: Tensor
    is_deep: bool = False

    @property
    def n_rounds(self) -> int:
        """Rounds of training, at most."""
        return self.settings.training.n_rounds

    def trained(self, training: TrainingSettings) -> Plan:
        """The same plan with other training settings."""
        return replace(self, settings=replace(self.settings, training=training))


@dataclass(frozen=True)
class Attempt:
    """Some members trained by a plan.

    Attributes:
        plan: How.
        network: The members.
        history: The course of the training.
        scores: CRPS at every row that each kept aside, shape (K, a).
        weight: Weights of these rows, shape (K, a).
    """

    plan: Plan
    network: PriorIQN
    history: History
    scores: Tensor
    weight: Tensor

    @property
    def score(self) -> float:
        """Mean CRPS on the rows kept aside."""
        return float((self.weight / self.weight.sum() * self.scores).sum())

    def clearly_beats(self, other: Attempt) -> bool:
        """Whether this is better by more than a standard error of the paired difference."""
        ours, theirs, weight = (part.double().cpu().ravel() for part in (self.scores, other.scores, self.weight))
        return is_clearly_better(ours, theirs, weight)


@dataclass(frozen=True)
class Team:
    """All members' rows and seeds; any of them can be trained, together, by any plan.

    Attributes:
        rows: Scaled runs.
        aside: Row numbers that each member keeps aside, shape (K, a).
        seeds: Seed of each member.
        verbose: Whether to show progress.
    """

    rows: Rows
    aside: Tensor
    seeds: list[int]
    verbose: bool

    def train(self, plan: Plan, first: int, last: int, n_rounds: int | None = None) -> Attempt:
        """Train members first, ..., last - 1 in one stack; for fewer rounds than planned, if given."""
        training = replace(plan.settings.training, n_rounds=n_rounds or plan.settings.training.n_rounds)
        shape = replace(plan.settings.shape, n_members=last - first)
        settings = replace(plan.settings, shape=shape, training=training)
        generators = [torch.Generator().manual_seed(seed) for seed in self.seeds[first:last]]
        aside = self.aside[first:last]
        with show_progress(f"{plan.name} network, members {first + 1} to {last}", self.verbose) as report:
            network, history = fit_iqn(
                self.rows, settings, generators, input_scale=plan.input_scale, aside=aside, report=report
            )
        return Attempt(plan, network, history, held_out_scores(network, self.rows, aside), self.rows.weight[aside])

    def choose(self, plans: Sequence[Plan], fourier: Plan | None = None) -> Attempt:
        """The first two members trained by the plan that serves them best on the rows they kept aside.

        Plans are compared after one round. Those that are unfinished then, and not clearly beaten, go on; if there
        are any, or runs are many, or inputs were dimmed, the plan with Fourier features is tried as well.
        """
        attempts = [self.train(plan, 0, N_TRIAL, n_rounds=1) for plan in plans]
        best = best_of(attempts)
        goes_on = [each.history.is_unfinished and not best.clearly_beats(each) for each in attempts]
        best = best_of([self._gone_on(each) if on else each for each, on in zip(attempts, goes_on, strict=True)])
        is_dimmed = bool((plans[0].input_scale < 1).any())
        if fourier is None or not (any(goes_on) or len(self.rows) >= MANY_RUNS or is_dimmed):
            return best
        fine = self.train(fourier, 0, N_TRIAL)
        return fine if fine.clearly_beats(best) else best

    def _gone_on(self, attempt: Attempt) -> Attempt:
        """The same plan for all its rounds."""
        return attempt if attempt.plan.n_rounds == 1 else self.train(attempt.plan, 0, N_TRIAL)


def best_of(attempts: Sequence[Attempt]) -> Attempt:
    """The attempt with the best score, a deep one only where it clearly beats the best of the others."""
    simple = min((each for each in attempts if not each.plan.is_deep), key=lambda attempt: attempt.score)
    best = min(attempts, key=lambda attempt: attempt.score)
    return best if best.clearly_beats(simple) else simple


def possible_plans(
    settings: IQNSettings, relevance: FloatArray, n_layers: int | None, device: torch.device
) -> list[Plan]:
    """Shallow or deep, and inputs only dimmed where they are inert or scaled by their relevance throughout."""
    shallow, deep = (replace(settings, shape=replace(settings.shape, n_layers=n)) for n in DEPTHS)
    dimmed = dim_inert_inputs(relevance).to(device)
    scaled = torch.as_tensor(relevance, dtype=torch.float32, device=device)
    if n_layers is not None:
        return [Plan(f"{n_layers}-layer", settings, dimmed)]
    plans = [Plan("shallow", shallow, dimmed), Plan("deep", deep, dimmed, is_deep=True)]
    if relevance.min() < ALL_ALIKE:
        plans.append(Plan("smooth", shallow, scaled))
    return plans


def fourier_plan(plans: Sequence[Plan], dropout: float | None) -> Plan:
    """The deep plan with Fourier features, no input dimmed, and, unless the user has set it, without dropout.

    The pilot takes an input for inert along which the response only changes quickly. Dropout is noise that a response
    of little noise has to be seen through.
    """
    deep = next(plan for plan in plans if plan.is_deep)
    shape = replace(
        deep.settings.shape, n_fourier=max(N_FOURIER, deep.settings.shape.n_inputs)
    )  # one an input at least
    settings = replace(deep.settings, shape=shape, dropout=dropout or 0.0)
    return replace(deep, name="Fourier", settings=settings, input_scale=torch.ones_like(deep.input_scale))


def default_settings(model: QuantileSurrogate, runs: ScaledRuns) -> IQNSettings:
    """Sizes and training settings for these runs."""
    n = len(runs)
    n_hidden = None if model.n_hidden is None else int(model.n_hidden)
    shape = NetworkShape(
        n_inputs=runs.Z.shape[1],
        n_members=int(model.n_members or N_MEMBERS),
        n_hidden=n_hidden or N_HIDDEN,
        n_layers=int(model.n_layers or DEPTHS[-1]),
        n_merge=min(n_hidden or N_MERGE, N_MERGE),
        n_cosines=int(model.n_cosines),
        n_fourier=int(model.n_fourier or 0),
        blocks=embedded_blocks(runs.blocks),
    )
    longest = int(np.clip(ROW_VISITS // n, FEWEST_EPOCHS, MOST_EPOCHS))
    n_epochs = int(model.n_epochs or longest)
    rate_factor = float(np.clip(longest / n_epochs, 1.0, MOST_RATE_FACTOR))  # a shorter run takes longer steps
    training = TrainingSettings(
        n_epochs=n_epochs,
        batch_size=int(model.batch_size or default_batch(n)),
        learning_rate=float(model.learning_rate or rate_factor * LEARNING_RATE),
        weight_decay=float(model.weight_decay),
        warmup=WARMUP,
        averaging=AVERAGING,
        patience=PATIENCE,
        n_rounds=1 if model.n_epochs else most_rounds(n, n_epochs),
    )
    dropout = DROPOUT if model.dropout is None else float(model.dropout)
    return IQNSettings(shape, model.weights_, training, N_TAU, dropout, float(model.prior_scale))


def default_batch(n: int) -> int:
    """Rows of a mini-batch: a power of two near n / 16, within limits.

    Example:
        >>> [default_batch(n) for n in (100, 2_000, 9_000, 90_000)]
        [128, 128, 512, 1024]
    """
    return int(np.clip(2 ** round(np.log2(n / BATCHES_OF_MANY)), SMALLEST_BATCH, LARGEST_BATCH))


def trial_training(training: TrainingSettings, n: int) -> TrainingSettings:
    """Training of plans that are only tried on n rows: one round of fewer epochs where rows are very many.

    Example:
        >>> training = TrainingSettings(n_epochs=40, learning_rate=0.005)
        >>> [trial_training(training, n).n_epochs for n in (2_000, 20_000, 90_000)]
        [40, 40, 8]
    """
    n_epochs = max(1, TRIAL_VISITS // n)
    return training if n_epochs >= training.n_epochs else replace(training, n_epochs=n_epochs, n_rounds=1)


def most_rounds(n: int, n_epochs: int) -> int:
    """How many rounds of n_epochs, 2 n_epochs, 4 n_epochs, ... on n rows stay below `MOST_VISITS`; at least one.

    Example:
        >>> [most_rounds(n, 40) for n in (8_000, 20_000, 90_000)]
        [3, 2, 1]
    """
    return max(1, int(np.log2(MOST_VISITS / (n * n_epochs) + 1)))  # 1 + 2 + ... + 2^(R-1) = 2^R - 1


def folds(n: int, n_members: int, rng: np.random.Generator) -> Tensor:
    """Row numbers that each member keeps aside, shape (K, a): member j the fold j mod 5.

    Example:
        >>> aside = folds(10, 6, np.random.default_rng(0))
        >>> aside.shape, sorted(aside[:5].ravel().tolist()) == list(range(10)), torch.equal(aside[0], aside[5])
        (torch.Size([6, 2]), True, True)
    """
    size = max(1, min(n // N_FOLDS, MOST_ASIDE))
    order = rng.permutation(n)
    starts = [(j % min(N_FOLDS, n)) * size for j in range(n_members)]  # a handful of distinct rows has fewer folds
    return torch.as_tensor(np.stack([np.sort(order[start : start + size]) for start in starts]))


def embedded_blocks(blocks: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int, int], ...]:
    """Blocks of categories with many levels, and the number of columns each is embedded into.

    Example:
        >>> embedded_blocks(((2, 5), (5, 105)))
        ((5, 105, 21),)
    """
    # the rule of thumb of tabular networks, 1.6 levels^0.56
    return tuple(
        (start, stop, round(1.6 * (stop - start) ** 0.56)) for start, stop in blocks if stop - start > MOST_ONE_HOT
    )
