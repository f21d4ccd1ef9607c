"""Estimate the parameters of a stationary GP: where to start, which rows to use, which likelihood.

Few rows are enough to find the neighbourhood of the maximum, so the many climbs use few. Detail finer than the spacing
of those few shows only between neighbours among all rows: one more climb looks there, through Vecchia's likelihood.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import partial

import numpy as np

from genbayes.arrays import FloatArray, IntArray
from genbayes.models.gp.kernels import Correlation, matern52_with_slope
from genbayes.models.gp.likelihood import GPParameters, Replicates
from genbayes.models.gp.quasi_newton import Minimum
from genbayes.models.gp.search import Notice, Posterior, climb, exact_posterior, search_widely, starting_point
from genbayes.models.gp.vecchia import NearestRows, nearest_previous, vecchia_profile, with_random_previous
from genbayes.progress import Report

SUBSETS = (400, 1000)  # rows of the first, cheap searches
START_LENGTHS = (0.3, 3.0)  # of those, in units of sqrt(p), since distances grow with it
N_TERMS_NEARBY, N_NEAREST_NEARBY = 500, 15  # of the likelihood that looks for detail between neighbours
MUCH_CLOSER = 0.7  # it is asked if neighbours among all rows are this much closer than among the first subset
N_TERMS = 5000  # of Vecchia's likelihood, beyond which the parameters are known well enough
N_NEAREST, N_RANDOM = 20, 20  # earlier rows that a term conditions on: near ones for detail, others for long scales
N_ROUNDS = 2  # of finding neighbours and climbing: the length scales decide who is a neighbour
NTH_NEIGHBOUR, REACH = 8, 1.5  # the shortest scale worth a start is 1.5 times the distance of the eighth neighbour

# Replicates are taken to differ by a standard deviation of at least 0.0003. Those that agree to the last digit would
# ask for no noise at all, and since the nugget has a lower bound, for a process variance near zero as well.
RESOLUTION = 1e-7


def estimate_parameters(
    runs: Replicates,
    rng: np.random.Generator,
    *,
    n_starts: int,
    exact_limit: int,
    correlation: Correlation = matern52_with_slope,
    report: Report | None = None,
) -> GPParameters:
    """Parameters of largest posterior; see `fit_gp` for the arguments."""
    ordered = runs.take(rng.permutation(len(runs)))  # the order of Vecchia's likelihood; any beginning is a subset
    ordered = replace(ordered, scatter=ordered.scatter + RESOLUTION * np.maximum(ordered.count - 1, 0.0))
    sizes = [min(size, len(runs)) for size in SUBSETS]
    levels = [exact_posterior(ordered.take(np.arange(size)), correlation) for size in sorted(set(sizes))]
    closest, shortest = _shortest_length(ordered), _shortest_length(ordered.take(np.arange(sizes[0])))
    is_detail_possible = closest < MUCH_CLOSER * shortest and correlation is matern52_with_slope  # Vecchia's only one
    stage = itertools.count(1)

    def notice(minimum: Minimum) -> Minimum:
        if report is not None:
            report(next(stage), n_starts + 2 + is_detail_possible, minimum.value)
        return minimum

    starts = [starting_point(levels[0], length) for length in _start_lengths(shortest, runs.Z.shape[1], n_starts)]
    found = [search_widely(levels, starts, notice)]
    if is_detail_possible:
        found.append(notice(_search_nearby(ordered, closest)))
    if len(runs) <= exact_limit:
        return _finish_exactly(ordered, found, notice, correlation)
    assert correlation is matern52_with_slope, "Vecchia's likelihood knows no other correlation"
    return _finish_by_vecchia(ordered, found, notice, rng)


def _finish_exactly(runs: Replicates, found: list[Minimum], notice: Notice, correlation: Correlation) -> GPParameters:
    posterior = exact_posterior(runs, correlation)
    best = min(found, key=lambda minimum: posterior.value(minimum.point))
    return posterior.parameters(notice(climb(posterior, best.point, best.curvature)).point)


def _finish_by_vecchia(
    runs: Replicates, found: list[Minimum], notice: Notice, rng: np.random.Generator
) -> GPParameters:
    rows = _spread_rows(len(runs), N_TERMS)

    def posterior_near(minimum: Minimum) -> Posterior:
        nearest = nearest_previous(runs.Z / np.exp(minimum.point[:-1]), rows, N_NEAREST)
        return _vecchia_posterior(runs, rows, with_random_previous(rows, nearest, N_RANDOM, rng))

    pairs = [(posterior_near(minimum), minimum) for minimum in found]
    posterior, best = min(pairs, key=lambda pair: pair[0].value(pair[1].point))
    for _ in range(N_ROUNDS - 1):
        best = climb(posterior, best.point, best.curvature)
        posterior = posterior_near(best)
    return posterior.parameters(notice(climb(posterior, best.point, best.curvature)).point)


def _search_nearby(runs: Replicates, closest: float) -> Minimum:
    """The maximum reached from the shortest scale worth a start, with all rows as possible neighbours."""
    rows = _spread_rows(len(runs), N_TERMS_NEARBY)
    posterior = _vecchia_posterior(runs, rows, nearest_previous(runs.Z, rows, N_NEAREST_NEARBY))
    return climb(posterior, starting_point(posterior, closest))


def _start_lengths(shortest: float, p: int, n_starts: int) -> FloatArray:
    """Length scales to start from, short to long, shape (n_starts,)."""
    short, long = (length * math.sqrt(p) for length in START_LENGTHS)
    short = min(short, shortest)
    return np.geomspace(short, long, n_starts) if n_starts > 1 else np.array([math.sqrt(short * long)])


def _shortest_length(runs: Replicates) -> float:
    """Below this length scale neighbouring rows would not know of each other."""
    sample = runs.Z[_spread_rows(len(runs), SUBSETS[0])]
    near = NearestRows(runs.Z).find(sample, NTH_NEIGHBOUR + 1)[:, -1]
    distance = np.sqrt(((runs.Z[near] - sample) ** 2).sum(axis=1))
    return REACH * float(np.median(distance)) or 1.0


def _spread_rows(n: int, at_most: int) -> IntArray:
    """Evenly spaced rows, at most so many of n."""
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).astype(np.int64))


def _vecchia_posterior(runs: Replicates, rows: IntArray, neighbours: IntArray) -> Posterior:
    likelihood = partial(vecchia_profile, runs, rows, neighbours)
    return Posterior(likelihood, runs.take(rows).n_runs, runs.Z.shape[1])
