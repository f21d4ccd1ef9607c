"""The recipe "fast": members that check each other, stopped in time, and as wide as unseen rows ask for.

1. A short pilot finds inputs that hardly matter; they are dimmed (`measure_relevance`).
2. Members learn together in one stacked network. Each holds out a fifth of the rows, member j the fold j mod 5, so
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
6. The same folds tell how far the quantiles should lie apart (`choose_spread`).

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
from genbayes.data.folds import draw_member_folds
from genbayes.metrics import is_clearly_better
from genbayes.models.base import ScaledRuns
from genbayes.models.network.fit import IQNSettings, Rows, choose_spread, fit_iqn, held_out_scores
from genbayes.models.network.iqn import NetworkShape, PriorIQN, join_members
from genbayes.models.network.loss import LossWeights
from genbayes.models.network.recipes import DEEP, Trained, as_tensors, fast_settings
from genbayes.progress import Report, show_progress
from genbayes.seeding import torch_generator
from genbayes.training import History, TrainingSettings

if TYPE_CHECKING:
    from genbayes.models.network.surrogate import QuantileSurrogate

N_TRIAL = 2  # members that try each plan
TRIAL_VISITS = 800_000  # rows seen by a plan that is only tried: of very many runs a share of the epochs tells enough
MANY_RUNS = 4_000  # from which on fine detail is looked for in any case
N_FOURIER = 64  # of the network for fine detail; 32 and 128 did slightly worse
FULL = 0.2  # an input of at least this relevance keeps its scale; below, it fades with the square
ALL_ALIKE = 0.7  # where every input has at least this relevance, scaling by it changes nothing


def train_fast(model: QuantileSurrogate, runs: ScaledRuns, rng: np.random.Generator) -> Trained:
    """Train by the recipe "fast"; what the user has set is not chosen."""
    started = time.perf_counter()
    rows, settings = as_tensors(runs, model.device), fast_settings(model, runs)
    n, n_members, device = len(rows.y), settings.shape.n_members, rows.Z.device
    # one stream for each purpose, so that member j does not depend on the number of members
    rng_pilot, rng_folds, rng_members = rng.spawn(3)
    aside = torch.as_tensor(draw_member_folds(n, max(n_members, N_TRIAL), rng_folds), device=device)
    seeds = [int(child.integers(2**63 - 1)) for child in rng_members.spawn(len(aside))]
    team = Team(rows, aside, seeds, bool(model.verbose))
    relevance = np.ones(settings.shape.n_inputs)
    if not settings.shape.n_fourier:  # a pilot does not see what they do
        with show_progress("finding the inputs that matter", team.verbose) as report:
            relevance = measure_relevance(rows, rng_pilot, settings.training.n_epochs, report)
    plans = possible_plans(settings, relevance, model.n_layers, device)
    if len(plans) == 1:
        chosen = team.train(plans[0], 0, n_members)
    else:
        trial = settings.training
        if model.n_epochs is None and TRIAL_VISITS // n < trial.n_epochs:
            trial = replace(trial, n_epochs=max(1, TRIAL_VISITS // n), n_rounds=1)
        tried = [replace(plan, settings=replace(plan.settings, training=trial)) for plan in plans]
        is_open = model.n_epochs is None and model.n_fourier is None
        chosen = team.choose(tried, fourier_plan(tried, model.dropout) if is_open else None)
        if trial != settings.training:
            plan = replace(chosen.plan, settings=replace(chosen.plan.settings, training=settings.training))
            chosen = team.train(plan, 0, n_members)
    networks = [chosen.network]
    if chosen.network.shape.n_members < n_members:
        networks.append(team.train(chosen.plan, N_TRIAL, n_members).network)
    network = join_members(networks, n_members)
    history = replace(chosen.history, seconds=time.perf_counter() - started)
    spread = choose_spread(network, rows, aside[:n_members])
    return network, replace(chosen.plan.settings, shape=network.shape), history, spread, relevance


def measure_relevance(
    rows: Rows, rng: np.random.Generator, most_epochs: int | None = None, report: Report | None = None
) -> FloatArray:
    """How much each input matters, by a short pilot network whose penalty lets whole inputs go (group lasso).

    The neural cousin of a Gaussian process's length scales: the norm of an input's first-layer weights, relative to the
    largest. Only scales of inputs are taken from the pilot, so no penalty distorts the final fit.

    Args:
        rows: Scaled runs.
        rng: Seeds the pilot.
        most_epochs: Length of the run that the pilot serves, which is no longer itself.
        report: Called with (step, steps, loss) now and then.

    Returns:
        Relevance, the largest 1, shape (p,); ones where there are two inputs or one: so few are there because they
        matter.
    """
    n_inputs, batch_size, n_steps = rows.Z.shape[1], 128, 400
    if n_inputs <= 2:
        return np.ones(n_inputs)
    n_epochs = min(max(1, n_steps // -(-len(rows.y) // batch_size)), most_epochs or n_steps)
    settings = IQNSettings(
        NetworkShape(n_inputs, n_hidden=64, n_layers=2, n_merge=32),
        LossWeights(0.0, 0.0, 1.0),
        TrainingSettings(n_epochs, batch_size, learning_rate=4e-3, warmup=0.05),
        n_tau=4,
    )
    network, _ = fit_iqn(
        rows,
        settings,
        [torch_generator(rng)],
        penalty=lambda network: 0.01 * network.trained.input_norms().sum(dim=1),
        report=report,
    )
    norms = network.trained.input_norms()[0].detach().cpu().double().numpy()
    return np.asarray(norms / norms.max())


def dim_inert_inputs(relevance: FloatArray) -> Tensor:
    """Factor for each input: 1 for those that matter, (r / FULL)^2 for those that hardly do, shape (p,).

    Example:
        >>> dim_inert_inputs(np.array([1.0, 0.2, 0.02]))
        tensor([1.0000, 1.0000, 0.0100])
    """
    return torch.as_tensor(np.minimum(relevance / FULL, 1.0) ** 2, dtype=torch.float32)


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


def possible_plans(
    settings: IQNSettings, relevance: FloatArray, n_layers: int | None, device: torch.device
) -> list[Plan]:
    """Shallow or deep, and inputs only dimmed where they are inert or scaled by their relevance throughout."""
    dimmed = dim_inert_inputs(relevance).to(device)
    if n_layers is not None:
        return [Plan(f"{n_layers}-layer", settings, dimmed)]
    shallow, deep = (replace(settings, shape=replace(settings.shape, n_layers=n)) for n in (1, DEEP))
    plans = [Plan("shallow", shallow, dimmed), Plan("deep", deep, dimmed, is_deep=True)]
    if relevance.min() < ALL_ALIKE:
        plans.append(Plan("smooth", shallow, torch.as_tensor(relevance, dtype=torch.float32, device=device)))
    return plans


def fourier_plan(plans: Sequence[Plan], dropout: float | None) -> Plan:
    """The deep plan with Fourier features, no input dimmed, and, unless the user has set it, without dropout.

    The pilot takes an input for inert along which the response only changes quickly. Dropout is noise that a response
    of little noise has to be seen through.
    """
    deep = next(plan for plan in plans if plan.is_deep)
    shape = deep.settings.shape
    shape = replace(shape, n_fourier=max(N_FOURIER, shape.n_inputs))  # one an input at least
    settings = replace(deep.settings, shape=shape, dropout=float(dropout or 0.0))
    return replace(deep, name="Fourier", settings=settings, input_scale=torch.ones_like(deep.input_scale))


@dataclass(frozen=True)
class Attempt:
    """Some members trained by a plan.

    Attributes:
        plan: How.
        network: The members.
        history: The course of the training.
        scores: CRPS at every row that each held out, shape (K a,).
        weight: Weights of these rows, shape (K a,).
    """

    plan: Plan
    network: PriorIQN
    history: History
    scores: FloatArray
    weight: FloatArray

    def clearly_beats(self, other: Attempt) -> bool:
        """Whether this is better by more than a standard error of the paired difference."""
        return is_clearly_better(self.scores, other.scores, self.weight)


def best_of(attempts: Sequence[Attempt]) -> Attempt:
    """The attempt with the best mean score, a deep one only where it clearly beats the best of the others."""
    in_order = sorted(attempts, key=lambda attempt: np.average(attempt.scores, weights=attempt.weight))
    best, simple = in_order[0], next(each for each in in_order if not each.plan.is_deep)
    return best if best.clearly_beats(simple) else simple


@dataclass(frozen=True)
class Team:
    """All members' rows and seeds; any of them can be trained, together, by any plan.

    Attributes:
        rows: Scaled runs.
        aside: Row numbers that each member holds out, shape (K, a).
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
        found = held_out_scores(network, self.rows, aside), self.rows.weight[aside]
        scores, weight = (part.double().cpu().numpy().ravel() for part in found)
        return Attempt(plan, network, history, scores, weight)

    def choose(self, plans: Sequence[Plan], fourier: Plan | None = None) -> Attempt:
        """The first two members trained by the plan that serves them best on the rows they held out.

        Plans are compared after one round. Those that are unfinished then, and not clearly beaten, go on for all their
        rounds; if there are any, or runs are many, or inputs were dimmed, the plan with Fourier features is tried too.
        """
        attempts = [self.train(plan, 0, N_TRIAL, n_rounds=1) for plan in plans]
        best = best_of(attempts)
        goes_on = [each.history.is_unfinished and not best.clearly_beats(each) for each in attempts]
        for i, plan in enumerate(plans):
            if goes_on[i] and plan.settings.training.n_rounds > 1:
                attempts[i] = self.train(plan, 0, N_TRIAL)
        best = best_of(attempts)
        is_dimmed = bool((plans[0].input_scale < 1).any())
        if fourier is None or not (any(goes_on) or len(self.rows.y) >= MANY_RUNS or is_dimmed):
            return best
        fine = self.train(fourier, 0, N_TRIAL)
        return fine if fine.clearly_beats(best) else best
