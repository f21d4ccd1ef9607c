"""Simultaneous bands: how far shares and counts of n uniform values may stray by chance, everywhere at once.

The values are probability integral transforms of a calibrated forecast, or |2 pit - 1|, which is uniform too. Limits
are binomial quantiles with one tail probability gamma for all places, as Saeilynoja, Buerkner and Vehtari (2022)
propose for the empirical distribution function; gamma is found from exact probabilities, not from simulation.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray, IntArray
from genbayes.errors import InvalidInput
from genbayes.validation import check_column, check_count, check_level, check_tau

LARGEST_EXACT = 10_000  # by then gamma has nearly reached its limit, that of a Brownian bridge
SETTLED = 0.93  # its limit over its value there, rounded down
BISECTIONS = 24  # halvings of log gamma, to a millionth
FARTHEST_JUMP = 9  # standard deviations beyond which a Poisson variable is taken not to go
SMALLEST_GAMMA = 1e-12
TINY = 1e-8  # below this tail probability the sum of all of them is as good as exact
JUST_ABOVE = 1 + 1e-9


def share_band(tau: ArrayLike, n: int, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Band that holds the shares of n uniform values below all m levels at once, with probability `level` or more.

    The number below tau_j is Binomial(n, tau_j). With G its distribution function the band is

        lower_j = min{k: G_j(k) >= gamma} / n,   upper_j = max{k: 1 - G_j(k - 1) >= gamma} / n,

    with the largest gamma that leaves P(inside at every tau_j) >= level (Saeilynoja, Buerkner and Vehtari 2022,
    section 2). Counts are whole numbers, so the probability is a little above `level` where n is small.

    Args:
        tau: Levels, strictly between 0 and 1, increasing, shape (m,).
        n: Number of values.
        level: Probability of staying inside everywhere.

    Returns:
        Lowest and highest share, each (m,).

    Example:
        >>> lower, upper = share_band([0.25, 0.5, 0.75], 100)
        >>> lower.tolist(), upper.tolist()
        ([0.15, 0.39, 0.65], [0.35, 0.61, 0.85])
    """
    tau, n = _check_levels(tau), check_count(n, "n")
    gamma = _share_gamma(tuple(tau.tolist()), min(n, LARGEST_EXACT), check_level(level))
    gamma *= SETTLED if n > LARGEST_EXACT else 1
    low, high = _limits(gamma, tau, n)
    return np.minimum(low / n, tau), np.maximum(high / n, tau)  # no count lies between, but a handful of rows may jump


def share_p_value(share: ArrayLike, tau: ArrayLike, n: int) -> float:
    """Probability that the shares of n uniform values stray at least as far somewhere as these do.

    The smallest of all tail probabilities G_j(k_j) and 1 - G_j(k_j - 1) plays gamma in `share_band`: the value is
    at most 1 - level exactly when some share lies outside the band of that level (nearly so beyond 10,000 values,
    where the band is rounded up). Where that tail is below 1e-8, 2 m times it is returned, an upper bound.

    Args:
        share: Shares below the levels, shape (m,).
        tau: Levels, strictly between 0 and 1, increasing, shape (m,).
        n: Number of values.

    Returns:
        A probability.

    Example:
        >>> round(share_p_value([0.25, 0.5, 0.75], [0.25, 0.5, 0.75], 100), 6)
        1.0
        >>> share_p_value([0.36, 0.5, 0.75], [0.25, 0.5, 0.75], 100) < 0.05
        True
    """
    from scipy.stats import binom  # slow to import

    tau, n = _check_levels(tau), check_count(n, "n")
    count = n * check_column(share, "share", len(tau))
    below = binom.cdf(np.floor(count + 1e-9), n, tau)  # a fraction of a row counts for what it may hide
    above = binom.sf(np.ceil(count - 1e-9) - 1, n, tau)
    gamma = float(np.minimum(below, above).min())
    if gamma < TINY:
        return min(1.0, 2 * len(tau) * gamma)
    low, high = _limits(gamma * JUST_ABOVE, tau, n)
    return float(np.clip(1 - _chance_of_path(low, high, tau, n), 0.0, 1.0))


def count_band(n: int, n_bins: int, level: float = 0.95) -> tuple[int, int]:
    """Range that holds the counts of all bins at once when n values are uniform, with probability `level` or more.

    Each count is Binomial(n, 1 / n_bins), together they are multinomial; limits and gamma are as in `share_band`.

    Args:
        n: Number of values.
        n_bins: Number of equal bins.
        level: Probability that every bin stays inside.

    Returns:
        Lowest and highest count.

    Example:
        >>> count_band(100, 10)
        (3, 19)
    """
    n, n_bins = check_count(n, "n"), check_count(n_bins, "n_bins")
    gamma = _count_gamma(min(n, LARGEST_EXACT), n_bins, check_level(level))
    gamma *= SETTLED if n > LARGEST_EXACT else 1
    low, high = _limits(gamma, np.array([1 / n_bins]), n)
    return int(low[0]), int(high[0])


def _check_levels(tau: ArrayLike) -> FloatArray:
    levels = np.atleast_1d(check_tau(tau))
    if (np.diff(levels) <= 0).any():
        raise InvalidInput("tau must increase; sort the levels and name each once")
    return levels


def _limits(gamma: float, tau: FloatArray, n: int) -> tuple[IntArray, IntArray]:
    """Smallest and largest counts (m,) with both tail probabilities at least gamma."""
    from scipy.stats import binom

    low = binom.ppf(gamma, n, tau)
    high = n - binom.ppf(gamma, n, 1 - tau)
    return low.astype(np.int64), high.astype(np.int64)


@lru_cache(maxsize=256)
def _share_gamma(tau: tuple[float, ...], n: int, level: float) -> float:
    levels = np.array(tau)
    return _largest_gamma(lambda gamma: _chance_of_path(*_limits(gamma, levels, n), levels, n), level)


@lru_cache(maxsize=256)
def _count_gamma(n: int, n_bins: int, level: float) -> float:
    share = np.array([1 / n_bins])

    def chance(gamma: float) -> float:
        (low,), (high,) = _limits(gamma, share, n)
        return _chance_of_counts(int(low), int(high), n, n_bins)

    return _largest_gamma(chance, level)


def _largest_gamma(chance: Callable[[float], float], level: float) -> float:
    """Largest gamma, up to bisection, whose limits hold everything with at least the given chance."""
    low, high = np.log(SMALLEST_GAMMA), np.log(0.5)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if chance(np.exp(middle)) >= level else (low, middle)
    return float(np.exp(low))


def _chance_of_path(low: IntArray, high: IntArray, tau: FloatArray, n: int) -> float:
    """P(low_j <= #{u <= tau_j} <= high_j for all j) for n uniform values.

    Numbers in disjoint intervals are independent Poisson variables given that they sum to n, so the distribution
    of the running count is a chain of convolutions, cut to the limits after each.
    """
    start, chance = 0, np.ones(1)  # of running counts start, start + 1, ...
    steps = np.diff(np.r_[0.0, tau, 1.0])
    for a, b, share in zip(np.r_[low, n].tolist(), np.r_[high, n].tolist(), steps.tolist(), strict=True):
        reach = FARTHEST_JUMP * (math.sqrt(n * share) + 1)
        first, last = max(0, math.floor(n * share - reach)), math.ceil(n * share + reach)
        sums = np.convolve(chance, _poisson(first, last, n * share))
        chance = np.zeros(max(b - a + 1, 0))
        begin, end = max(a, start + first), min(b + 1, start + first + len(sums))
        if begin >= end:
            return 0.0
        chance[begin - a : end - a] = sums[begin - start - first : end - start - first]
        start = a
    return float(chance[0] / _poisson(n, n, n)[0])


def _chance_of_counts(low: int, high: int, n: int, n_bins: int) -> float:
    """P(low <= count <= high in every bin) for n uniform values in equal bins, by the same chain."""
    one = _poisson(low, high, n / n_bins)
    chance = np.ones(1)
    for _ in range(n_bins):
        chance = np.convolve(chance, one)  # of sums j low, j low + 1, ...
    place = n - n_bins * low
    return float(chance[place] / _poisson(n, n, n)[0]) if 0 <= place < len(chance) else 0.0


def _poisson(first: int, last: int, mean: float) -> FloatArray:
    """P(N = k) for k = first, ..., last and N ~ Poisson(mean): exp(k log mean - mean - log k!)."""
    from scipy.special import gammaln, xlogy

    k = np.arange(first, last + 1)
    chance: FloatArray = np.exp(xlogy(k, mean) - mean - gammaln(k + 1))
    return chance
