"""Recipes: from scaled runs and a user's settings to a trained network.

`paper` follows sections 3.3 and 5.1 to the letter and is the yardstick: one hidden layer of 256 units, the full
batch, one level a step, Adam at 1e-3, cosine annealing, 3,000 epochs. `fast` is our own and lives in fast.py.
"""

from __future__ import annotations

import numpy as np

from genbayes.errors import InvalidInput
from genbayes.network import IQNSettings, LossWeights, NetworkShape, fit_iqn
from genbayes.seeding import torch_generator
from genbayes.surrogate.fast import train_fast
from genbayes.surrogate.options import RecipeOptions, Trained, as_tensors, choose_device
from genbayes.tabular import ScaledRuns
from genbayes.training import TrainingSettings, show_progress

__all__ = ["train"]


def train(runs: ScaledRuns, weights: LossWeights, options: RecipeOptions, rng: np.random.Generator) -> Trained:
    """Train with these loss weights by the recipe that the options name."""
    recipe = train_paper if options.recipe == "paper" else train_fast
    return recipe(runs, weights, options, rng)


def train_paper(runs: ScaledRuns, weights: LossWeights, options: RecipeOptions, rng: np.random.Generator) -> Trained:
    """The paper to the letter, unless the user says otherwise; the bias of its loss is left as it is."""
    if options.batch_size is not None:
        raise InvalidInput(f"batch_size must be None with recipe='paper', got {options.batch_size}; use recipe='fast'")
    n_hidden, n_members = options.n_hidden or 256, options.n_members or 1
    shape = NetworkShape(
        n_inputs=runs.Z.shape[1],
        n_members=n_members,
        n_hidden=n_hidden,
        n_layers=options.n_layers or 1,
        n_merge=n_hidden,
        n_cosines=options.n_cosines,
        n_waves=options.n_waves or 0,
    )
    training = TrainingSettings(
        n_epochs=options.n_epochs or 3000,
        learning_rate=options.learning_rate or 1e-3,
        weight_decay=options.weight_decay,
    )
    settings = IQNSettings(shape, weights, training, dropout=options.dropout or 0.0, prior_scale=options.prior_scale)
    generators = [torch_generator(child) for child in rng.spawn(n_members)]
    with show_progress("fitting", options.verbose) as report:
        network, history = fit_iqn(as_tensors(runs, choose_device(options.device)), settings, generators, report=report)
    return Trained(network, settings, history, spread=1.0, relevance=np.ones(runs.Z.shape[1]))
