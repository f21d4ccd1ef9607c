"""The mixture of the members' quantile tables, as one table at the same levels (paper section 5.2).

F = sum_k w_k F_k, each F_k piecewise linear through its knots (q_ki, u_i). Then F is piecewise linear too, and its
slope changes at a knot by exactly what that knot's member changes. So after one sort of all knots of a row, two running
sums give F at every knot, and F is inverted at the levels wanted: exact, and no look-up of one member in another.
"""

from __future__ import annotations

import torch
from torch import Tensor

CHUNK_ROWS = 1024  # rows in flight, so that the sorted knots stay in the cache
# Shares of the outermost levels' probability at which a member's exponential tail gets knots; after the last one it
# ends. Only levels within the table are read off the mixture, so what lies further out does not matter.
TAIL_SHARES = (0.6, 0.3, 0.1, 0.02, 0.0)
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
    zero = slope.new_zeros(members, n, 1)
    change = torch.cat([slope, zero], dim=-1) - torch.cat([zero, slope], dim=-1)
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
    share = torch.tensor(TAIL_SHARES, dtype=q.dtype, device=q.device)
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
