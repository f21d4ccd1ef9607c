"""Search for the length scales and the nugget: a weak prior, a spread of starting points, ever more rows.

Works on any likelihood, handed in as a function from (length, nugget) to a `Profile`. Inputs are taken to be of order
one and responses to be standardised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import numpy as np

from genbayes.arrays import FloatArray, IntArray
from genbayes.deadline import require_time
from genbayes.models.gp.kernels import Correlation
from genbayes.models.gp.likelihood import NO_SLOPES, GPParameters, Profile, Replicates, exact_profile
from genbayes.models.gp.quasi_newton import Minimum, minimise_within
from genbayes.threads import share_out

# A smooth function of large variance may need 10,000 standard deviations for an input to do nothing; 0.001 tells 1,000
# points apart.
LENGTH_BOUNDS = (1e-3, 1e6)
# The nugget is relative to the process variance, which for a smooth response is up to 10,000 times that of the runs: a
# floor of 1e-8 would be the whole error of a simulator without noise. Below 1e-13 rounding makes a nugget of its own.
NUGGET_BOUNDS = (1e-13, 1e3)
# Centres of the prior: a smooth function of all inputs, one per cent of noise. Its tails are those of 1 / |log|, so
# that a handful of runs cannot declare an input inert or the simulator free of noise, while a few dozen can.
LENGTH_CENTRE, NUGGET_CENTRE = math.exp(0.5), 0.01
PULL = 0.5
START_NUGGETS = (1e-10, 1e-6, 1e-3, 0.1, 1.0)
FIRST_CURVATURE = 0.1  # of the loss in log parameters, per run; a first guess that BFGS soon replaces
TOLERANCE = 0.05  # gain in log posterior not worth another step: parameters move by a third of their standard error
SAME = 0.5  # climbs that end this close in log posterior have found the same maximum
N_CLIMBED_ON = 2  # maxima on few rows from which more rows are climbed
# Tried one input at a time, to leave maxima in which an input is stuck: in units of the median length scale of inputs
# that are not inert, since the smoother a function the longer they are.
OTHER_LENGTHS, INERT = (0.3, 1.0, 10.0), 30.0  # times the shortest
WORTHWHILE = 1.0  # gain in log posterior at which such a move is followed
N_SHAKES = 2  # rounds of such moves, at most

Notice = Callable[[Minimum], Minimum]  # is shown a maximum and hands it on


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
        least_nugget: Lower bound of the nugget.
        sloped: Numbers of the inputs in which the mean has a slope, shape (q - 1,).
    """

    likelihood: Likelihood
    n_runs: float
    p: int
    least_nugget: float = NUGGET_BOUNDS[0]
    sloped: IntArray = field(default_factory=lambda: NO_SLOPES)

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of theta."""
        pairs = zip(LENGTH_BOUNDS, (self.least_nugget, NUGGET_BOUNDS[1]), strict=True)
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
        return GPParameters(length, nugget, profile.variance, profile.mean, profile.slope, self.sloped)


def exact_posterior(runs: Replicates, correlation: Correlation, sloped: IntArray = NO_SLOPES) -> Posterior:
    """Posterior by the exact likelihood of runs; the mean has slopes in the inputs of these numbers, shape (q - 1,)."""
    likelihood = partial(exact_profile, runs, correlation=correlation, sloped=sloped)
    return Posterior(likelihood, runs.n_runs, runs.Z.shape[1], sloped=sloped)


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
    found = [notice(minimum) for minimum in share_out(partial(climb, levels[0]), starts)]
    return notice(shake(levels[-1], climb_on(levels[1:], found)))


def climb_on(levels: Sequence[Posterior], found: Iterable[Minimum]) -> Minimum:
    """The best maximum reached from those found on fewer rows: on each level the best two are climbed from."""
    found = list(found)
    for level in levels:
        best = sorted(_distinct(found), key=lambda minimum: level.value(minimum.point))[:N_CLIMBED_ON]
        found = share_out(partial(climb_from, level), best)
    return min(found, key=lambda minimum: minimum.value)


def climb_from(posterior: Posterior, minimum: Minimum) -> Minimum:
    """Climb on from a maximum of fewer rows."""
    return climb(posterior, minimum.point, minimum.curvature)


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
            active = theta[:-1][theta[:-1] < theta[:-1].min() + math.log(INERT)]
            lengths = np.median(active) + np.log(OTHER_LENGTHS)
            others = [length for length in lengths if abs(length - theta[k]) > math.log(2)]
            trials = [np.concatenate([theta[:k], [length], theta[k + 1 :]]) for length in others]
            values = share_out(posterior.value, trials)
            if trials and min(values) < value - WORTHWHILE:
                theta, value = trials[int(np.argmin(values))], min(values)
        if value == minimum.value:
            break
        minimum = min(minimum, climb(posterior, theta), key=lambda candidate: candidate.value)
    return minimum


def _distinct(found: Iterable[Minimum]) -> list[Minimum]:
    """One minimum for each value reached, best first."""
    kept: list[Minimum] = []
    for minimum in sorted(found, key=lambda candidate: candidate.value):
        if not kept or minimum.value > kept[-1].value + SAME:
            kept.append(minimum)
    return kept
