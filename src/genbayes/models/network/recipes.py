"""The two recipes: what each makes of the surrogate's arguments; and training by the recipe "paper".

`paper` follows sections 3.3 and 5.1 to the letter and is the yardstick: one hidden layer of 256 units, the full
batch, one level a step, Adam at 1e-3, cosine annealing, 3,000 epochs. `fast` is our own: its settings are here, what it
tries is in `plans`. Arguments of the surrogate have been checked by `fit`; None leaves a choice to the recipe. The
measurements behind the constants are in docs/recipe.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from genbayes.arrays import FloatArray, IntArray
from genbayes.errors import InvalidInput
from genbayes.models.base import ScaledRuns
from genbayes.models.network.fit import IQNSettings, Rows, fit_iqn
from genbayes.models.network.iqn import NetworkShape, PriorIQN
from genbayes.progress import show_progress
from genbayes.seeding import torch_generator
from genbayes.training import History, TrainingSettings, choose_batch_size

if TYPE_CHECKING:
    from genbayes.models.network.surrogate import QuantileSurrogate


@dataclass(frozen=True)
class Trained:
    """What a recipe comes to.

    Attributes:
        network: The members.
        settings: What they were trained with.
        history: How that went.
        spread: Factor by which quantiles are moved away from their median.
        relevance: How much each network input matters, the largest 1, shape (p,).
        aside: Row numbers that each member held out, shape (K, a); a = 0 for none.
    """

    network: PriorIQN
    settings: IQNSettings
    history: History
    spread: float
    relevance: FloatArray
    aside: IntArray


N_MERGE = 64  # where x meets tau a narrow layer is enough, and there each row counts n_tau times
DEEP = 3  # hidden layers of f_x
LEARNING_RATE = 5e-3
AVERAGING = 0.99
ROW_VISITS = 320_000  # rows seen in the longest run on few rows
MOST_VISITS = 4_000_000  # rows seen where training goes on because held-out rows ask for it
FEWEST_EPOCHS, MOST_EPOCHS = 40, 4_000
VISITS_OF_MANY = 6_000_000  # rows seen where runs are so many that 40 epochs would end long before they are annealed
PATIENCE = 6
MEMBERS_TO_A_LATE_ONE = 5  # the last of five to improve may take as long as all the others, for a fifth of a share
MOST_CHECKS = 250  # of held-out rows in a run: a long one needs fewer, and more patience between them
MOST_ONE_HOT = 12  # a category with more levels is embedded


def train_paper(
    model: QuantileSurrogate, runs: ScaledRuns, rng: np.random.Generator, rival: FloatArray | None = None
) -> Trained:
    """The paper to the letter, unless the user says otherwise; the bias of its loss is left, a rival not looked at."""
    if model.batch_size is not None:
        raise InvalidInput(f"batch_size must be None with recipe='paper', got {model.batch_size}; use recipe='fast'")
    n_hidden, n_inputs = int(model.n_hidden or 256), runs.Z.shape[1]
    shape = NetworkShape(
        n_inputs=n_inputs,
        n_members=int(model.n_members or 1),
        n_hidden=n_hidden,
        n_layers=int(model.n_layers or 1),
        n_merge=n_hidden,
        n_cosines=int(model.n_cosines),
        n_fourier=int(model.n_fourier or 0),
    )
    training = TrainingSettings(
        n_epochs=int(model.n_epochs or 3000),
        learning_rate=float(model.learning_rate or 1e-3),
        weight_decay=float(model.weight_decay),
    )
    dropout, prior_scale = float(model.dropout or 0.0), float(model.prior_scale)
    settings = IQNSettings(shape, model.weights_, training, dropout=dropout, prior_scale=prior_scale)
    generators = [torch_generator(child) for child in rng.spawn(shape.n_members)]
    with show_progress("fitting", bool(model.verbose)) as report:
        network, history = fit_iqn(as_tensors(runs, model.device), settings, generators, report=report)
    nothing = np.empty((shape.n_members, 0), dtype=np.int64)
    return Trained(network, settings, history, 1.0, np.ones(n_inputs), nothing)


def fast_settings(model: QuantileSurrogate, runs: ScaledRuns) -> IQNSettings:
    """Sizes and training settings of the recipe "fast" for these runs; a shorter run takes longer steps."""
    n = len(runs.y)
    n_hidden = int(model.n_hidden or 0)
    # columns that a category is embedded into, by the rule of thumb of tabular networks: 1.6 levels^0.56
    sizes = [(start, stop, round(1.6 * (stop - start) ** 0.56)) for start, stop in runs.blocks]
    shape = NetworkShape(
        n_inputs=runs.Z.shape[1],
        n_members=int(model.n_members or 5),
        n_hidden=n_hidden or 128,
        n_layers=int(model.n_layers or DEEP),
        n_merge=min(n_hidden or N_MERGE, N_MERGE),
        n_cosines=int(model.n_cosines),
        n_fourier=int(model.n_fourier or 0),
        blocks=tuple(block for block in sizes if block[1] - block[0] > MOST_ONE_HOT),
    )
    fewest = int(np.clip(VISITS_OF_MANY // n, 1, FEWEST_EPOCHS))
    longest = int(np.clip(ROW_VISITS // n, fewest, MOST_EPOCHS))
    n_epochs = int(model.n_epochs or longest)
    batch_size = int(model.batch_size or choose_batch_size(n, 128, 1024))
    training = TrainingSettings(
        n_epochs=n_epochs,
        batch_size=batch_size,
        learning_rate=float(model.learning_rate or LEARNING_RATE * np.clip(longest / n_epochs, 1.0, 2.0)),
        weight_decay=float(model.weight_decay),
        warmup=0.03,
        averaging=AVERAGING,
        steps_between_checks=max(50, n * n_epochs // batch_size // MOST_CHECKS),
        patience=PATIENCE,
        n_late=shape.n_members // MEMBERS_TO_A_LATE_ONE,
        # R rounds of n_epochs, 2 n_epochs, 4 n_epochs, ... are (2^R - 1) n_epochs in all
        n_rounds=1 if model.n_epochs else max(1, int(np.log2(MOST_VISITS / (n * n_epochs) + 1))),
    )
    dropout = 0.05 if model.dropout is None else float(model.dropout)
    return IQNSettings(shape, model.weights_, training, n_tau=4, dropout=dropout, prior_scale=float(model.prior_scale))


def as_tensors(runs: ScaledRuns, device: str) -> Rows:
    """The runs as single-precision tensors, weights scaled to mean 1; device "auto" is the GPU where there is one."""
    if device == "cuda" and not torch.cuda.is_available():
        raise InvalidInput("device must be available, got 'cuda' on a machine without it; use device='auto'")
    place = torch.device("cuda" if device != "cpu" and torch.cuda.is_available() else "cpu")
    weight = runs.weight / runs.weight.mean()
    Z, y, w = (torch.as_tensor(part, dtype=torch.float32, device=place) for part in (runs.Z, runs.y, weight))
    if not bool(torch.isfinite(y).all() and torch.isfinite(Z).all()):
        raise InvalidInput("X and y must fit single precision after scaling, got larger values; look for outliers")
    return Rows(Z, y, w)
