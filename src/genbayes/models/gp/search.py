"""Search for the length scales and the nugget: a weak prior, a spread of starting points, ever more rows.

Knows no likelihood: whoever computes one hands it in as a function from (length, nugget) to a `Profile`. Inputs are
taken to be of order one and responses to be standardised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from genbayes.arrays import FloatArray, IntArray
from genbayes.deadline import require_time
from genbayes.models.gp.kernels import Correlation, matern52_with_slope
from genbayes.models.gp.likelihood import GPParameters, Profile, Replicates, exact_profile
from genbayes.models.gp.quasi_newton import Minimum, minimise_within
from genbayes.models.gp.vecchia import NearestRows, nearest_previous, vecchia_profile, with_random_previous
from genbayes.progress import Report

# A smooth function of large variance may need 10,000 standard deviations for an input to do nothing; 0.001 tells 1,000
# points apart.
LENGTH_BOUNDS = (1e-3, 1e6)
# A simulator without noise interpolates to four digits at a nugget of 1e-8; smaller ones only lose digits to rounding.
NUGGET_BOUNDS = (1e-8, 1e3)
# Centres of the prior: a smooth function of all inputs, one per cent of noise. Its tails are those of 1 / |log|, so
# that a handful of runs cannot declare an input inert or the simulator free of noise, while a few dozen can.
LENGTH_CENTRE, NUGGET_CENTRE = math.exp(0.5), 0.01
PULL = 0.5
START_NUGGETS = (1e-6, 1e-3, 0.1, 1.0)
FIRST_CURVATURE = 0.1  # of the loss in log parameters, per run; a first guess that BFGS soon replaces
TOLERANCE = 0.05  # gain in log posterior not worth another step: parameters move by a third of their standard error
SAME = 0.5  # climbs that end this close in log posterior have found the same maximum
OTHER_LENGTHS = (0.4, 2.0, 20.0)  # tried one input at a time, to leave maxima in which an input is stuck
WORTHWHILE = 1.0  # gain in log posterior at which such a move is followed
N_SHAKES = 2  # rounds of such moves, at most

Notice = Callable[[Minimum], Minimum]  # hears of a maximum and hands it on


class Likelihood(Protocol):
    """Profile of a likelihood at length scales, shape (p,), and a nugget; the gradient may be asked away."""

    def __call__(self, length: FloatArray, noise: float, /, *, with_gradient: bool) -> Profile:
        """The profile at given length scales and nugget."""


@dataclass(frozen=True)
class Posterior:
    """A likelihood times the weak prior, as a loss of theta: log length scales and log nugget, shape (p + 1,).

    Attributes:
        likelihood: Profile at given length scales and nugget.
        n_runs: Number of runs behind it.
        p: Number of inputs.
    """

    likelihood: Likelihood
    n_runs: float
    p: int

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of theta."""
        pairs = zip(LENGTH_BOUNDS, NUGGET_BOUNDS, strict=True)
        lower, upper = (np.log(np.append(np.full(self.p, length), nugget)) for length, nugget in pairs)
        return lower, upper

    def loss(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Negative log posterior and its gradient, shape (p + 1,)."""
        require_time()
        profile = self.likelihood(np.exp(theta[:-1]), math.exp(theta[-1]), with_gradient=True)
        prior, slope = log_prior(theta)
        return -(profile.value + prior), -(profile.gradient + slope)

    def value(self, theta: FloatArray) -> float:
        """Negative log posterior alone, at a third of the price."""
        require_time()
        profile = self.likelihood(np.exp(theta[:-1]), math.exp(theta[-1]), with_gradient=False)
        return -(profile.value + log_prior(theta)[0])

    def parameters(self, theta: FloatArray) -> GPParameters:
        """The GP at theta, mean and variance filled in."""
        length, nugget = np.exp(theta[:-1]), math.exp(theta[-1])
        profile = self.likelihood(length, nugget, with_gradient=False)
        return GPParameters(length, nugget, profile.variance, profile.mean)


def log_prior(theta: FloatArray) -> tuple[float, FloatArray]:
    """Weak log-prior of log length and log nugget, and its gradient.

    -1/2 sum_k log(1 + log^2(length_k / (c sqrt(p)))) - 1/2 log(1 + log^2(nugget / 0.01)), up to a constant.

    Args:
        theta: Log length scales and log nugget, shape (p + 1,).

    Returns:
        Value and gradient, shape (p + 1,).

    Example:
        >>> value, gradient = log_prior(np.log([LENGTH_CENTRE * math.e, NUGGET_CENTRE]))
        >>> round(value, 4), gradient
        (-0.3466, array([-0.5, -0. ]))
    """
    p = len(theta) - 1
    centre = np.append(np.full(p, math.log(LENGTH_CENTRE * math.sqrt(p))), math.log(NUGGET_CENTRE))
    away = theta - centre
    height = 1 + away * away
    return -PULL * float(np.log(height).sum()), -2 * PULL * away / height


def search_widely(levels: Sequence[Posterior], starts: Iterable[FloatArray], notice: Notice) -> Minimum:
    """The best maximum of the posterior that climbs from several starting points find, most of them on few rows.

    Args:
        levels: Posteriors of one or more subsets of the rows, the smallest first.
        starts: Starting points on the first, each of shape (p + 1,).
        notice: Called with every maximum found on the first, and with the last.

    Returns:
        The maximum on the last level.
    """
    found = [notice(climb(levels[0], start)) for start in starts]
    for level in levels[1:]:
        found = [climb(level, minimum.point, minimum.curvature) for minimum in _distinct(found)]
    return notice(shake(levels[-1], min(found, key=lambda minimum: minimum.value)))


def starting_point(posterior: Posterior, length: float) -> FloatArray:
    """Log of one length scale for all inputs and of the best of a few nuggets for it, shape (p + 1,)."""
    scales = np.full(posterior.p, math.log(length))
    points = [np.append(scales, math.log(nugget)) for nugget in START_NUGGETS]
    return min(points, key=posterior.value)


def climb(posterior: Posterior, start: FloatArray, curvature: FloatArray | None = None) -> Minimum:
    """Maximise the posterior from one starting point.

    Args:
        posterior: What to climb.
        start: Log length scales and log nugget, shape (p + 1,).
        curvature: First guess of the Hessian of the loss divided by the number of runs, shape (p + 1, p + 1).

    Returns:
        The maximum, with its curvature per run: the guess for a climb on more rows.
    """
    if curvature is None:
        curvature = FIRST_CURVATURE * np.eye(len(start))
    n = posterior.n_runs
    minimum = minimise_within(posterior.loss, start, posterior.bounds, curvature * n, tolerance=TOLERANCE)
    return Minimum(minimum.point, minimum.value, minimum.curvature / n)


def shake(posterior: Posterior, minimum: Minimum) -> Minimum:
    """Try other length scales one input at a time and climb again from wherever that helps.

    The likelihood of noisy data has many maxima that differ in which inputs they call inert; a climb cannot leave one,
    since an inert input has no gradient.
    """
    for _ in range(N_SHAKES):
        theta, value = minimum.point.copy(), minimum.value
        for k in range(posterior.p):
            trials = _moved(theta, k)
            values = [posterior.value(trial) for trial in trials]
            if trials and min(values) < value - WORTHWHILE:
                theta, value = trials[int(np.argmin(values))], min(values)
        if value == minimum.value:
            break
        minimum = min(minimum, climb(posterior, theta), key=lambda candidate: candidate.value)
    return minimum


def _moved(theta: FloatArray, k: int) -> list[FloatArray]:
    """Copies of theta, shape (p + 1,), in which input k has another length scale, at least a factor of two away."""
    others = [length for length in np.log(OTHER_LENGTHS) if abs(length - theta[k]) > math.log(2)]
    return [np.concatenate([theta[:k], [length], theta[k + 1 :]]) for length in others]


def _distinct(found: Iterable[Minimum]) -> list[Minimum]:
    """One minimum for each value reached, best first."""
    kept: list[Minimum] = []
    for minimum in sorted(found, key=lambda candidate: candidate.value):
        if not kept or minimum.value > kept[-1].value + SAME:
            kept.append(minimum)
    return kept


SUBSETS = (400, 1000)  # rows of the first, cheap searches
START_LENGTHS = (0.3, 3.0)  # of those, in units of sqrt(p), since distances grow with it
N_TERMS_NEARBY, N_NEAREST_NEARBY = 500, 15  # of the likelihood that looks for detail between neighbours
MUCH_CLOSER = 0.7  # it is asked if neighbours among all rows are this much closer than among the first subset
N_TERMS = 5000  # of Vecchia's likelihood, beyond which the parameters are known well enough
N_NEAREST, N_RANDOM = 20, 20  # earlier rows that a term conditions on: near ones for detail, others for long scales
N_ROUNDS = 2  # of finding neighbours and climbing: the length scales decide who is a neighbour
NTH_NEIGHBOUR, TIMES = 8, 1.5  # the shortest scale worth a start reaches a bit beyond the eighth neighbour

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
    ordered = _blurred(
        runs.take(rng.permutation(len(runs)))
    )  # the order of Vecchia's likelihood; any beginning is a subset
    sizes = [min(size, len(runs)) for size in SUBSETS]
    levels = [_exact_posterior(ordered.take(np.arange(size)), correlation) for size in sorted(set(sizes))]
    closest, shortest = _shortest_length(ordered), _shortest_length(ordered.take(np.arange(sizes[0])))
    is_detail_possible = closest < MUCH_CLOSER * shortest and correlation is matern52_with_slope  # Vecchia's only one
    tell = _Teller(report, n_starts + 2 + is_detail_possible)
    starts = [starting_point(levels[0], length) for length in _start_lengths(shortest, runs.Z.shape[1], n_starts)]
    found = [search_widely(levels, starts, tell)]
    if is_detail_possible:
        found.append(tell(_search_nearby(ordered, closest)))
    if len(runs) <= exact_limit:
        return _finish_exactly(ordered, found, tell, correlation)
    assert correlation is matern52_with_slope, "Vecchia's likelihood knows no other correlation"
    return _finish_by_vecchia(ordered, found, tell, rng)


def _finish_exactly(runs: Replicates, found: list[Minimum], tell: _Teller, correlation: Correlation) -> GPParameters:
    posterior = _exact_posterior(runs, correlation)
    best = min(found, key=lambda minimum: posterior.value(minimum.point))
    return posterior.parameters(tell(climb(posterior, best.point, best.curvature)).point)


def _finish_by_vecchia(runs: Replicates, found: list[Minimum], tell: _Teller, rng: np.random.Generator) -> GPParameters:
    rows = _spread_rows(len(runs), N_TERMS)

    def posterior_near(minimum: Minimum) -> Posterior:
        nearest = nearest_previous(runs.Z / np.exp(minimum.point[:-1]), rows, N_NEAREST)
        return _vecchia_posterior(runs, rows, with_random_previous(rows, nearest, N_RANDOM, rng))

    pairs = [(posterior_near(minimum), minimum) for minimum in found]
    posterior, best = min(pairs, key=lambda pair: pair[0].value(pair[1].point))
    for _ in range(N_ROUNDS - 1):
        best = climb(posterior, best.point, best.curvature)
        posterior = posterior_near(best)
    return posterior.parameters(tell(climb(posterior, best.point, best.curvature)).point)


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
    return TIMES * float(np.median(distance)) or 1.0


def _blurred(runs: Replicates) -> Replicates:
    """The same runs with the least scatter that replicates are allowed."""
    scatter = runs.scatter + RESOLUTION * np.maximum(runs.count - 1, 0.0)
    return Replicates(runs.Z, runs.mean, runs.count, scatter)


def _spread_rows(n: int, at_most: int) -> IntArray:
    """Every so-maniest of n rows, at most so many."""
    return np.unique(np.linspace(0, n - 1, min(n, at_most)).astype(np.int64))


def _exact_posterior(runs: Replicates, correlation: Correlation) -> Posterior:
    return Posterior(partial(exact_profile, runs, correlation=correlation), runs.n_runs, runs.Z.shape[1])


def _vecchia_posterior(runs: Replicates, rows: IntArray, neighbours: IntArray) -> Posterior:
    likelihood = partial(vecchia_profile, runs, rows, neighbours)
    return Posterior(likelihood, runs.take(rows).n_runs, runs.Z.shape[1])


class _Teller:
    """Passes a maximum through and reports it."""

    def __init__(self, report: Report | None, n_stages: int) -> None:
        self.report, self.n_stages, self.stage = report, n_stages, 0

    def __call__(self, minimum: Minimum) -> Minimum:
        self.stage += 1
        if self.report is not None:
            self.report(self.stage, self.n_stages, minimum.value)
        return minimum
