"""The recipe "fast": ask the data which inputs matter and how much to regularise, then train all members together.

1. A short pilot finds inputs that hardly matter; they are dimmed (relevance.py).
2. Networks that differ only in dropout learn side by side, as members of one stack, from most of the rows; the
   rows kept aside say which amount to use.
3. The final members learn from all rows, or, where there are many, from all but a few that tell when to stop.

Every choice uses training rows only. The measurements behind the constants are in docs/recipe.md.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from genbayes.network import IQNSettings, NetworkShape, Rows, fit_iqn, held_out_crps
from genbayes.seeding import torch_generator
from genbayes.surrogate.options import RecipeOptions, ScaledRuns, Trained, choose_device, take_rows
from genbayes.surrogate.relevance import dim_inert_inputs, measure_relevance
from genbayes.training import TrainingSettings, show_progress

__all__ = ["train_fast"]

N_MEMBERS = 4
N_HIDDEN = 128
N_LAYERS = 3
N_MERGE = 64  # where x meets tau a narrow layer is enough, and there the rows count n_tau times
N_TAU = 4
LEARNING_RATE = 4e-3
WARMUP = 0.05
ROW_VISITS = 200_000  # rows seen in a run on few rows
FEWEST_EPOCHS = 30  # and on many
MOST_EPOCHS = 1_500
SMALLEST_BATCH, LARGEST_BATCH = 128, 1024
DROPOUTS = (0.0, 0.05, 0.15)
USUAL_DROPOUT = 0.05  # where rows are too few to choose
FEWEST_TO_CHOOSE = 400  # rows below which a held-out fifth is too noisy a judge
HELD_OUT = 0.2
CHOICE_LENGTH = 0.5  # of the final run's epochs
MANY_ROWS = 5_000  # from here on a few rows are kept aside to stop in time
MOST_KEPT_ASIDE = 2_000
PATIENCE = 6
MOST_ONE_HOT = 12  # a category with more levels is embedded


def train_fast(runs: ScaledRuns, options: RecipeOptions, rng: np.random.Generator) -> Trained:
    """Train by the recipe "fast"; what the user has set is not chosen."""
    rows = runs.tensors(choose_device(options.device))
    # one stream for each purpose, so that member j depends on neither the number of members nor on what was chosen
    rng_pilot, rng_choice, rng_split, rng_members = rng.spawn(4)
    scale = dim_inert_inputs(measure_relevance(rows, rng_pilot)).to(rows.Z.device)
    settings = default_settings(runs, options)
    with show_progress("choosing", options.verbose) as report:
        if options.dropout is None and len(rows) >= FEWEST_TO_CHOOSE:
            settings = replace(settings, dropout=choose_dropout(rows, settings, scale, rng_choice, report))
    kept_aside = None
    if len(rows) >= MANY_ROWS:
        learn, aside = split_rows(len(rows), min(0.1, MOST_KEPT_ASIDE / len(rows)), rng_split)
        rows, kept_aside = take_rows(rows, learn), take_rows(rows, aside)
    generators = [torch_generator(child) for child in rng_members.spawn(settings.shape.n_members)]
    with show_progress("fitting", options.verbose) as report:
        network, history = fit_iqn(rows, settings, generators, input_scale=scale, held_out=kept_aside, report=report)
    return Trained(network, settings, history)


def default_settings(runs: ScaledRuns, options: RecipeOptions) -> IQNSettings:
    """Settings for the final run, before the data have been asked about dropout."""
    n = len(runs)
    shape = NetworkShape(
        n_inputs=runs.Z.shape[1],
        n_members=options.n_members or N_MEMBERS,
        n_hidden=options.n_hidden or N_HIDDEN,
        n_layers=options.n_layers or N_LAYERS,
        n_merge=min(options.n_hidden or N_MERGE, N_MERGE),
        n_cosines=options.n_cosines,
        blocks=embedded_blocks(runs.blocks),
    )
    training = TrainingSettings(
        n_epochs=options.n_epochs or int(np.clip(round(ROW_VISITS / n), FEWEST_EPOCHS, MOST_EPOCHS)),
        batch_size=options.batch_size or int(np.clip(2 ** round(np.log2(n / 32)), SMALLEST_BATCH, LARGEST_BATCH)),
        learning_rate=options.learning_rate or LEARNING_RATE,
        weight_decay=options.weight_decay,
        warmup=WARMUP,
        patience=PATIENCE,
    )
    dropout = USUAL_DROPOUT if options.dropout is None else options.dropout
    return IQNSettings(shape, runs.loss_weights, training, N_TAU, dropout, options.prior_scale)


def choose_dropout(
    rows: Rows, settings: IQNSettings, scale: torch.Tensor, rng: np.random.Generator, report: object
) -> float:
    """The amount of dropout with the lowest CRPS on a held-out fifth; all amounts learn in one stack.

    Members share their random streams, so that they differ in nothing but dropout.
    """
    rng_split, rng_members = rng.spawn(2)
    learn, aside = split_rows(len(rows), HELD_OUT, rng_split)
    training = settings.training
    trial = replace(
        settings,
        shape=replace(settings.shape, n_members=len(DROPOUTS)),
        training=replace(training, n_epochs=max(1, round(CHOICE_LENGTH * training.n_epochs))),
        dropout=DROPOUTS,
    )
    seed = int(rng_members.integers(2**63 - 1))
    generators = [torch.Generator().manual_seed(seed) for _ in DROPOUTS]
    network, _ = fit_iqn(take_rows(rows, learn), trial, generators, input_scale=scale, report=report)  # type: ignore[arg-type]
    return DROPOUTS[int(held_out_crps(network, take_rows(rows, aside)).argmin())]


def split_rows(n: int, share: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers to learn from and to keep aside, each sorted."""
    order = rng.permutation(n)
    n_aside = max(1, round(share * n))
    return np.sort(order[n_aside:]), np.sort(order[:n_aside])


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
