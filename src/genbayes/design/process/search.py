"""Find the parameters of a GP and how smooth it is: a wide search on few runs, short climbs as runs come in.

For each correlation the search of `genbayes.gp.search` is used: the same weak prior, starting points and climbs. The
smoothness whose posterior is highest is taken: all have the same parameters, so that no penalty is called for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.gp.correlation import CORRELATIONS
from genbayes.gp.likelihood import exact_profile
from genbayes.gp.profile import GPParameters
from genbayes.gp.quasi_newton import Minimum
from genbayes.gp.replicates import Replicates
from genbayes.gp.search import Posterior, climb, search_widely, starting_point

__all__ = ["Found", "parameters_of", "posterior_of", "search_again", "search_all"]

N_FIRST = 150  # runs of the wide search; the climbs on all runs start from its end
START_LENGTHS = (0.3, 1.0, 3.0)  # in units of sqrt(p), since distances grow with it
HARDLY_ANY_NOISE = 1e-6  # nugget of a simulator that may be deterministic
RIVALS = 2  # correlations that climb on all runs after the wide search


@dataclass(frozen=True)
class Found:
    """The best parameters of one correlation.

    Attributes:
        correlation: Its name.
        minimum: Log length scales and log nugget, the negative log posterior and its curvature per run.
    """

    correlation: str
    minimum: Minimum


def posterior_of(runs: Replicates, correlation: str) -> Posterior:
    """Posterior of log length scales and log nugget for one correlation."""
    likelihood = partial(exact_profile, runs, correlation=CORRELATIONS[correlation])
    return Posterior(likelihood, runs.n_runs, runs.Z.shape[1])


def search_all(runs: Replicates, correlations: Sequence[str], rng: np.random.Generator) -> list[Found]:
    """The best parameters of each correlation that is worth a climb on all runs, best first."""
    few = runs.take(rng.permutation(len(runs))[:N_FIRST])
    found = []
    for name in correlations:
        posterior = posterior_of(few, name)
        found.append(Found(name, search_widely([posterior], _starts(posterior), lambda minimum: minimum)))
    found.sort(key=lambda each: each.minimum.value)
    return search_again(runs, found[:RIVALS])


def _starts(posterior: Posterior) -> list[FloatArray]:
    """Short to long scales, each with the nugget that suits it and with hardly any.

    What scales that are wrong for some inputs cannot explain looks like noise, and a climb from much noise may never
    find that an input which seemed inert matters.
    """
    points: list[FloatArray] = []
    for length in START_LENGTHS:
        suited = starting_point(posterior, length * math.sqrt(posterior.p))
        certain = np.append(suited[:-1], math.log(HARDLY_ANY_NOISE))
        points += [suited] if np.array_equal(suited, certain) else [suited, certain]
    return points


def search_again(runs: Replicates, known: Sequence[Found]) -> list[Found]:
    """Climbs on these runs from what fewer runs have found, best first."""
    found = []
    for each in known:
        start = each.minimum
        found.append(Found(each.correlation, climb(posterior_of(runs, each.correlation), start.point, start.curvature)))
    return sorted(found, key=lambda each: each.minimum.value)


def parameters_of(runs: Replicates, found: Found) -> GPParameters:
    """The GP for these runs, mean and variance filled in."""
    return posterior_of(runs, found.correlation).parameters(found.minimum.point)
