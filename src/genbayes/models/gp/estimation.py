"""Estimate the parameters of a stationary GP: where to start, which rows, which likelihood, which kernel.

Few rows are enough to find the neighbourhood of the maximum, so the many climbs use few. Detail finer than the spacing
of those few shows only between neighbours among all rows: one more climb looks there, through Vecchia's likelihood.
Kernels have the same parameters under the same prior, so that the highest posterior chooses among them without a
penalty. Only the first is searched for widely; the others start from its length scales. A linear mean is tried with
the kernel that was chosen.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.linalg import qr

from genbayes.arrays import FloatArray, IntArray
from genbayes.errors import InvalidInput
from genbayes.models.gp.kernels import CORRELATIONS, slices, squared_distances
from genbayes.models.gp.likelihood import GPParameters, Replicates
from genbayes.models.gp.quasi_newton import Minimum
from genbayes.models.gp.search import (
    START_NUGGETS,
    Notice,
    Posterior,
    climb,
    climb_from,
    exact_posterior,
    search_widely,
    shake,
    starting_point,
)
from genbayes.progress import Report
from genbayes.threads import share_out

EXACT_LIMIT = 3000  # distinct inputs; one step of the exact search then takes about a second and 200 MB
SUBSETS = (200, 1000)  # rows of the first, cheap searches
N_SPACING = 400  # rows that show how fine a detail the first searches can see
START_LENGTHS = (0.3, 3.0)  # of those, in units of sqrt(p), since distances grow with it
N_TERMS_NEARBY, N_NEAREST_NEARBY = 500, 15  # of the likelihood that looks for detail between neighbours
MUCH_CLOSER = 0.7  # it is asked if neighbours among all rows are this much closer than among the first subset
N_TERMS = 5000  # of Vecchia's likelihood, beyond which the parameters are known well enough
N_NEAREST, N_RANDOM = 20, 20  # earlier rows that a term conditions on: near ones for detail, others for long scales
N_ROUNDS = 2  # of finding neighbours and climbing: the length scales decide who is a neighbour
NTH_NEIGHBOUR, REACH = 8, 1.5  # the shortest scale worth a start is 1.5 times the distance of the eighth neighbour

VECCHIA_NUGGET = 1e-8  # at least: the regression on inducing points that follows divides by it
FAR_BEHIND = 30.0  # in log posterior on many rows, of a maximum that was found on few
HARDLY_ANY_NOISE = 1e-5  # nugget of responses whose posterior has maxima apart in it
# The likelihood has integrated slopes over all numbers alike; as N(0, 1) in units of sd(y) per sd(x), which is about
# what they can be, they have a density of at most this, in logarithms, by which means with and without are compared.
SLOPE_PRICE = 0.5 * math.log(2 * math.pi)
DEPENDENT = 1e-6  # of the largest, what is left of an input that others make up
FIRST_KERNEL = "matern52"  # searched for widely before any other, and the only one of Vecchia's likelihood
MULTIPLES, NUGGETS = (0.5, 1.0, 2.0), (1e-11, 1e-8)  # of its length scales, and nuggets, that others may start from

# Replicates are taken to differ by a standard deviation of at least 3e-6. Those that agree to the last digit would ask
# for no noise at all, and since the nugget has a lower bound, for a process variance near zero as well.
RESOLUTION = 1e-11


@dataclass(frozen=True)
class Estimate:
    """The kernel that was chosen, by name, its parameters, and the log posterior of every kernel that was tried."""

    kernel: str
    parameters: GPParameters
    tried: dict[str, float]


def estimate_parameters(
    runs: Replicates,
    rng: np.random.Generator,
    *,
    n_starts: int,
    exact_limit: int,
    kernels: Sequence[str] = (FIRST_KERNEL,),
    start: GPParameters | None = None,
    trend: str = "constant",
    report: Report | None = None,
) -> Estimate:
    """Kernel and parameters of largest posterior among `kernels`, of which the first is searched for widely.

    See `fit_gp` for the other arguments.
    """
    ordered = runs.take(rng.permutation(len(runs)))  # the order of Vecchia's likelihood; any beginning is a subset
    ordered = replace(ordered, scatter=ordered.scatter + RESOLUTION * np.maximum(ordered.count - 1, 0.0))
    sizes = sorted({min(size, len(runs)) for size in SUBSETS})
    subsets = [ordered.take(np.arange(size)) for size in sizes]
    closest, shortest = _shortest_length(ordered), _shortest_length(ordered.take(np.arange(min(N_SPACING, len(runs)))))
    is_detail_possible = closest < MUCH_CLOSER * shortest and kernels[0] == FIRST_KERNEL and start is None
    stage = itertools.count(1)
    n_first = n_starts + 1 if start is None else 1  # maxima of the first kernel that are noticed

    def notice(minimum: Minimum) -> Minimum:
        if report is not None:
            report(next(stage), n_first + is_detail_possible + len(kernels), minimum.value)
        return minimum

    levels = [exact_posterior(subset, CORRELATIONS[kernels[0]]) for subset in subsets]
    if start is None:
        lengths = _start_lengths(shortest, runs.Z.shape[1], n_starts)
        found = [search_widely(levels, [starting_point(levels[0], length) for length in lengths], notice)]
    else:
        found = [notice(climb(levels[-1], _warm_point(levels[-1], start)))]
    if is_detail_possible:
        found.append(notice(_search_nearby(ordered, closest)))
    if len(runs) > exact_limit:
        assert tuple(kernels) == (FIRST_KERNEL,), "Vecchia's likelihood knows no other correlation"
        return Estimate(FIRST_KERNEL, _finish_by_vecchia(ordered, found, notice, rng), {})
    first = exact_posterior(ordered, CORRELATIONS[kernels[0]])
    best = found[0] if len(found) == 1 else min(found, key=lambda minimum: first.value(minimum.point))
    best = replace(best, value=levels[-1].value(best.point))  # what was found nearby has another value
    minima = {kernels[0]: best}
    for kernel, minimum in _search_others(best, subsets, kernels[1:]).items():
        minima[kernel] = notice(minimum)
    return _finish_exactly(ordered, minima, notice, trend)


def _search_others(first: Minimum, subsets: Sequence[Replicates], kernels: Sequence[str]) -> dict[str, Minimum]:
    """The maxima of further kernels; those that fewer rows show to be far behind are not climbed on all of them."""
    levels = {kernel: [exact_posterior(subset, CORRELATIONS[kernel]) for subset in subsets] for kernel in kernels}
    minima = share_out(lambda kernel: _search_from(first, levels[kernel][0], levels[kernel][-1]), kernels)
    found = dict(zip(kernels, minima, strict=True))
    best = min([first.value, *(minimum.value for minimum in minima)])
    promising = [kernel for kernel, minimum in found.items() if len(subsets) > 1 and minimum.value < best + FAR_BEHIND]
    climbed = share_out(lambda kernel: climb_from(levels[kernel][-1], found[kernel]), promising)
    return {**found, **dict(zip(promising, climbed, strict=True))}


def _search_from(other: Minimum, few: Posterior, many: Posterior) -> Minimum:
    """The maximum of one kernel's posterior of few rows that is reached from another kernel's, with its value on many.

    Kernels differ in what they mean by a length scale and in how much they leave to noise. The smoother the kernel,
    the more maxima a response without noise has, apart in the nugget: each of several is climbed from.
    """
    found = []
    for nugget in [other.point[-1], *_other_nuggets(other)]:
        points = [np.append(other.point[:-1] + shift, nugget) for shift in np.log(MULTIPLES)]
        minimum = climb(few, min(points, key=few.value), other.curvature)
        found.append(replace(minimum, value=many.value(minimum.point)))
    return min(found, key=lambda minimum: minimum.value)


def _other_nuggets(minimum: Minimum) -> list[float]:
    """Logarithms of small nuggets that are not the one of a maximum."""
    return [nugget for nugget in np.log(NUGGETS) if abs(nugget - minimum.point[-1]) > math.log(30)]


def _finish_exactly(runs: Replicates, minima: dict[str, Minimum], notice: Notice, trend: str) -> Estimate:
    """The best kernel's maximum with all runs."""
    kernel = min(minima, key=lambda name: minima[name].value)
    posterior, best = exact_posterior(runs, CORRELATIONS[kernel]), minima[kernel]
    if kernel != next(iter(minima)) and len(runs) <= SUBSETS[-1]:  # the first has been shaken before
        best = shake(posterior, best)
        if best.point[-1] < math.log(HARDLY_ANY_NOISE):
            other = climb(posterior, np.append(best.point[:-1], _other_nuggets(best)[0]))
            best = min(best, other, key=lambda minimum: minimum.value)
    best = notice(climb(posterior, best.point, best.curvature))
    if trend != "constant" and len(sloped := independent_inputs(runs)):
        steep = exact_posterior(runs, CORRELATIONS[kernel], sloped)
        other = _search_from(best, steep, steep)
        if trend == "linear" or other.value + SLOPE_PRICE * len(sloped) < best.value:
            posterior, best = steep, other
    tried = {name: -minimum.value for name, minimum in minima.items()}
    return Estimate(kernel, posterior.parameters(best.point), tried)


def independent_inputs(runs: Replicates) -> IntArray:
    """Numbers of inputs in which the mean may have a slope: a constant and the others do not make them up.

    None where there are fewer than two distinct inputs for each coefficient, which would leave the variance unknown.

    Example:
        >>> Z = np.array([[0.0, 5.0, 1.0], [1.0, 5.0, 0.0], [0.5, 5.0, 0.5], [0.2, 5.0, 0.8]])  # the last is 1 - first
        >>> independent_inputs(Replicates.collect(Z, np.arange(4.0), np.ones(4))).tolist()
        [0]
    """
    _, R, order = qr(runs.Z - runs.Z.mean(axis=0), mode="economic", pivoting=True)
    size = np.abs(R.diagonal())
    found = np.sort(order[: int(np.sum(size > DEPENDENT * max(1.0, float(size.max(initial=0.0)))))])
    return np.asarray(found if 2 * (len(found) + 1) <= len(runs) else found[:0])


def _warm_point(posterior: Posterior, start: GPParameters) -> FloatArray:
    """Log of the length scales of a neighbouring fit and of its nugget, or of a better one, shape (p + 1,)."""
    scales = np.log(start.length)
    points = [np.append(scales, math.log(nugget)) for nugget in (start.nugget, *START_NUGGETS)]
    return min(points, key=posterior.value)


def _finish_by_vecchia(
    runs: Replicates, found: list[Minimum], notice: Notice, rng: np.random.Generator
) -> GPParameters:
    from genbayes.models.gp.vecchia import nearest_previous, with_random_previous  # loads torch

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
    from genbayes.models.gp.vecchia import nearest_previous  # loads torch

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
    sample = runs.Z[_spread_rows(len(runs), N_SPACING)]
    place = min(NTH_NEIGHBOUR, len(runs) - 1)  # the row itself is the nearest
    parts = slices(len(sample), len(runs))
    nearest = [np.partition(squared_distances(sample[part], runs.Z), place, axis=1)[:, place] for part in parts]
    return REACH * float(np.median(np.sqrt(np.concatenate(nearest)))) or 1.0


def _spread_rows(n: int, at_most: int) -> IntArray:
    """Evenly spaced rows, at most so many of n."""
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).astype(np.int64))


def _vecchia_posterior(runs: Replicates, rows: IntArray, neighbours: IntArray) -> Posterior:
    from genbayes.models.gp.vecchia import vecchia_profile  # loads torch

    likelihood = partial(vecchia_profile, runs, rows, neighbours)
    return Posterior(likelihood, runs.take(rows).n_runs, runs.Z.shape[1], VECCHIA_NUGGET)


def require_slopes(runs: Replicates, exact_limit: int) -> None:
    """Refuse a linear mean that the runs cannot tell, or that the approximation for many does not know."""
    if len(runs) > exact_limit:
        rule = f"for more than {exact_limit:,} distinct inputs"
    elif not len(independent_inputs(runs)):
        rule = "with fewer than two distinct inputs for each of its coefficients"
    else:
        return
    raise InvalidInput(f"trend must be 'constant' or 'auto' {rule}, got 'linear' for {len(runs):,}")
