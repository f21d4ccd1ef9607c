"""Pooling an ensemble: the mixture of quantile tables as one quantile table (paper section 5.2).

Between two neighbouring knots of all members together every F_k is a straight line, and so is their mean: the union
of the knots, each with the mean of the members' probabilities there, is the mixture itself.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.distribution.knots import Knots
from genbayes.distribution.mixture import check_members
from genbayes.distribution.quantile import QuantileFunction
from genbayes.distribution.rounding import LARGEST_LEVEL, SMALLEST_LEVEL
from genbayes.distribution.search import chunks, row_of
from genbayes.distribution.tails import Tail, tail_cdf

__all__ = ["pool_quantile_functions"]

# Shares of a member's tail probability at which its tail gets knots: chosen so that the chords between them stay
# within 1.5% of that probability (7.5e-5 where the outermost level is 0.005). The last comes twice, see `_union`.
TAIL_SHARES = np.array([0.75, 0.5, 0.3, 0.15, 0.05, 0.01, 1e-3, 1e-4, 1e-4])


def pool_quantile_functions(members: Sequence[QuantileFunction], weights: ArrayLike | None = None) -> QuantileFunction:
    """The mixture F = sum_k w_k F_k of quantile functions, itself a quantile function.

    Exact at every knot of every member, and wherever all members are between their outermost levels. Where a member
    is in its exponential tail, F is exact at `TAIL_SHARES` of it and linear between them. Beyond all knots the tail
    has the slope sum_k w_k (1 - F_k) s_k / sum_k w_k (1 - F_k), which keeps the mean.

    Args:
        members: Quantile functions with the same number of rows n, with M_k levels each.
        weights: One weight per member, zero or positive, shared by all rows; equal if left out.

    Returns:
        One law per row with its own levels, sum_k (M_k + 18) of them.

    Example:
        >>> levels = [0.25, 0.5, 0.75]
        >>> low, high = (QuantileFunction(levels, [[z, z + 1, z + 2]]) for z in (0.0, 10.0))
        >>> pool_quantile_functions([low, high]).cdf(1.0).round(3)
        array([0.25])
    """
    laws, w = check_members("members", members, weights, QuantileFunction)
    share = np.array(w) / sum(w)
    n = len(laws[0])
    width = sum(law.values.shape[1] + 2 * len(TAIL_SHARES) for law in laws)
    levels, values = np.empty((n, width)), np.empty((n, width))
    for rows in chunks(n, width):
        levels[rows], values[rows] = _union([law._knots.at(rows) for law in laws], share)
    bounds = min(law.support[0] for law in laws), max(law.support[1] for law in laws)
    slopes = (
        _mean_slope([law._knots.lower for law in laws], share, values[:, 0]),
        _mean_slope([law._knots.upper for law in laws], share, -values[:, -1]),
    )
    return QuantileFunction._from_knots(Knots.build(levels, values, slopes, bounds))


def _union(members: list[Knots], share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """All knots of some rows in order: the mixture's probability at each, and their values.

    An atom needs two knots, P(Y < z) and P(Y <= z) at the same z. Its value stands at least twice among the
    members' knots, since the outermost ones were doubled; so the first of equal values gets the former, the last
    the latter, those between them something between.
    """
    z = np.concatenate([knots.values_with_tails(TAIL_SHARES) for knots in members], axis=1)
    tail = np.full(len(TAIL_SHARES), -1)
    owner = np.concatenate(
        [part for k, knots in enumerate(members) for part in (tail, np.full(knots.values.shape[1], k), tail)]
    )
    order = np.argsort(z, axis=1, kind="stable")  # made for stretches that are already sorted
    z, owner = np.take_along_axis(z, order, axis=1), owner[order]
    first = np.ones(z.shape, dtype=np.bool_)
    first[:, 1:] = z[:, 1:] > z[:, :-1]
    row, F = row_of(z.shape), np.zeros(z.size)
    for k, knots in enumerate(members):
        own = owner == k
        i = np.cumsum(own, axis=1) - (own & first)  # this member's knots up to here, or below
        F += share[k] * knots.level(row, z.ravel(), i.ravel(), before=first.ravel())
    levels = np.maximum.accumulate(F.reshape(z.shape), axis=1)
    return np.clip(levels, SMALLEST_LEVEL, LARGEST_LEVEL), z


def _mean_slope(tails: list[Tail], share: FloatArray, z: FloatArray) -> FloatArray:
    """Slope beyond the outermost knot z (n,): that of the members, weighted by what each has there."""
    rest = np.array([w * np.where(z > tail.bound, tail_cdf(z, tail), 0) for w, tail in zip(share, tails, strict=True)])
    slopes = np.array([tail.s for tail in tails])
    total = rest.sum(axis=0)
    mean: FloatArray = np.divide((rest * slopes).sum(axis=0), total, out=np.zeros(z.shape), where=total > 0)
    return mean
