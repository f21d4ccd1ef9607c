"""The mixture of the members' quantile tables, as one table at the same levels (paper section 5.2).

F = sum_k w_k F_k, each F_k piecewise linear through its knots (q_ki, u_i). Then F is piecewise linear too, and its
slope changes at a knot by exactly what that knot's member changes. So after one sort of all knots of a row, two running
sums give F at every knot, and F is inverted at the levels wanted: exact, and no look-up of one member in another.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from genbayes.arrays import FloatArray
from genbayes.distribution.mixture import check_members
from genbayes.distribution.piecewise import Knots, Tail, tail_cdf
from genbayes.distribution.quantile import QuantileFunction
from genbayes.distribution.rounding import LARGEST_LEVEL, SMALLEST_LEVEL
from genbayes.distribution.rowwise import chunks, row_of

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


CHUNK_ROWS = 1024  # rows in flight, so that the sorted knots stay in the cache
# Shares of the outermost levels' probability at which a member's exponential tail gets knots; after the last one it
# ends. Only levels within the table are read off the mixture, so what lies further out does not matter.
MEMBER_TAIL_SHARES = (0.6, 0.3, 0.1, 0.02, 0.0)
END_OF_TAIL = 0.005  # where the share 0 is put
SMALLEST_GAP = 1e-7  # between neighbouring knots, of the row's whole range: bounds the slopes, hence their rounding


def pool_members(q: Tensor, tau: Tensor, weight: Tensor | None = None) -> Tensor:
    """Quantiles of the mixture of K members.

    Args:
        q: The members' quantiles, non-decreasing along the last axis, shape (K, n, m).
        tau: Levels, increasing, shape (m,).
        weight: Weight of each member at each row, summing to 1 over the members, shape (K, n); None for equal ones.

    Returns:
        Quantiles of the mixture at the same levels, non-decreasing, double precision, shape (n, m).

    Example:
        >>> tau = torch.arange(1, 100) / 100
        >>> low, high = torch.linspace(-1, 1, 99).repeat(1, 1, 1), torch.linspace(9, 11, 99).repeat(1, 1, 1)
        >>> pool_members(torch.cat([low, high]), tau)[0, [24, 74]].round(decimals=2)
        tensor([ 0., 10.], dtype=torch.float64)
    """
    tau = tau.double()
    chunks = []
    for a in range(0, q.shape[1], CHUNK_ROWS):
        rows = slice(a, a + CHUNK_ROWS)
        share = None if weight is None else weight[:, rows].double()
        chunks.append(pool_rows(q[:, rows].double(), tau, share))
    return torch.cat(chunks) if chunks else q.new_zeros(0, len(tau), dtype=torch.float64)


def pool_rows(q: Tensor, tau: Tensor, weight: Tensor | None) -> Tensor:
    """`pool_members` for some rows, in double precision."""
    members, n = q.shape[:2]
    z, u = with_tails(q, tau)
    gap = SMALLEST_GAP * (z.amax(dim=(0, 2)) - z.amin(dim=(0, 2))).unsqueeze(-1)
    rise = z.diff(dim=-1).clamp(min=gap + torch.finfo(z.dtype).tiny)  # positive even where a row is one point
    z = torch.cat([z[..., :1], z[..., :1] + rise.cumsum(-1)], dim=-1)
    slope = u.diff() / members / rise if weight is None else weight.unsqueeze(-1) * u.diff() / rise
    nought = slope.new_zeros(members, n, 1)
    change = torch.cat([slope, nought], dim=-1) - torch.cat([nought, slope], dim=-1)
    # (K, n, M) -> (n, K M): all knots of a row
    z, change = (part.permute(1, 0, 2).reshape(n, -1) for part in (z, change))
    return invert(*sum_slopes(z, change), tau)


def sum_slopes(z: Tensor, change: Tensor) -> tuple[Tensor, Tensor]:
    """F at the knots z in order, and these, (n, M) each, from what each knot adds to the slope of F, (n, M)."""
    z, order = z.sort(dim=-1)
    slope = change.gather(-1, order).cumsum(-1)
    F = (slope[:, :-1] * z.diff(dim=-1)).cumsum(-1).cummax(-1).values
    return torch.cat([F.new_zeros(len(F), 1), F], dim=-1), z


def with_tails(q: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
    """Knots, tails included, (K, n, M), and their levels (M,): Q(u) = q_1 + s log(u / u_1) below, mirrored above.

    The slope s is read between the outermost level and the first of at least twice its probability.
    """
    share = torch.tensor(MEMBER_TAIL_SHARES, dtype=q.dtype, device=q.device)
    out = -share.clamp(min=END_OF_TAIL).log()
    low, high = tau[0], 1 - tau[-1]
    i = min(int(torch.searchsorted(tau, 2 * low)), len(tau) - 1)
    j = max(int(torch.searchsorted(tau, 1 - 2 * high, right=True)) - 1, 0)
    s_low = (q[..., i] - q[..., 0]) / (tau[i] / low).log()
    s_high = (q[..., -1] - q[..., j]) / ((1 - tau[j]) / high).log()
    below = q[..., :1] - s_low.unsqueeze(-1) * out.flip(0)
    above = q[..., -1:] + s_high.unsqueeze(-1) * out
    levels = torch.cat([low * share.flip(0), tau, 1 - high * share])
    return torch.cat([below, q, above], dim=-1), levels


def invert(F: Tensor, z: Tensor, tau: Tensor) -> Tensor:
    """Where piecewise linear F, given at knots z, both (n, M), reaches the levels, (n, m)."""
    i = torch.searchsorted(F, tau.expand(len(F), -1).contiguous()).clamp(1, F.shape[1] - 1)
    F_a, F_b, a, b = F.gather(1, i - 1), F.gather(1, i), z.gather(1, i - 1), z.gather(1, i)
    run = F_b - F_a
    part = torch.where(run > 0, (tau - F_a) / run, torch.ones_like(run)).clamp(0, 1)
    return (a + part * (b - a)).cummax(-1).values
