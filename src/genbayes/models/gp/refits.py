"""Runs foretold by GPs that were fitted without them: honest where few runs have set many length scales.

Leaving a run out in closed form keeps the length scales, which have seen it; with few runs for each input that is most
of what an error is made of. A small GP is fitted so quickly that it can be fitted anew without each tenth of the runs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.data.folds import deal_folds
from genbayes.models.gp.likelihood import Replicates

N_FOLDS = 10
FEW_AN_INPUT = 20  # runs for each input, from which on closed form and refits say the same
FEWEST, MOST = 10, 150  # distinct inputs: a GP of 150 inputs of which 50 matter is refitted in about a second
MANY_RUNS = 500  # replicates included

Predict = Callable[[FloatArray], tuple[FloatArray, ...]]


def are_few(runs: Replicates) -> bool:
    """Whether runs are so few for their inputs that parameters must not have seen those which judge them.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> draw = lambda n, p: Replicates.collect(rng.uniform(size=(n, p)), np.arange(float(n)), np.ones(n))
        >>> are_few(draw(40, 10)), are_few(draw(40, 2))
        (True, False)
    """
    u, p = runs.Z.shape
    return FEWEST <= u <= MOST and u < FEW_AN_INPUT * p and runs.n_runs < MANY_RUNS


def foretell(runs: Replicates, fit: Callable[[Replicates], Predict], rng: np.random.Generator) -> FloatArray:
    """Moments of a run at each distinct input by fits without its fold.

    Args:
        runs: Training runs of u distinct inputs.
        fit: Runs to what their GP predicts.
        rng: Draws the folds.

    Returns:
        Mean, variance of the latent function and variance of the noise, shape (3, u).
    """
    fold, moments = deal_folds(rng.permutation(len(runs)), N_FOLDS), np.empty((3, len(runs)))
    for number in range(N_FOLDS):
        held_out = np.flatnonzero(fold == number)
        moments[:, held_out] = fit(runs.take(np.flatnonzero(fold != number)))(runs.Z[held_out])
    return moments
