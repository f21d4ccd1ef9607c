"""From the members' quantiles to distributions: their mixture for a new run, their disagreement for E[y | x].

Members are pooled as a mixture (paper section 5.2), F = mean_k F_k, which is wider than any average of quantiles
where members disagree. What they disagree on is what the ensemble does not know of the mean: epistemic only.
Rows that members held out score them, and tell how far quantiles should lie apart: a network that has learnt its
training rows a little too well states them too close together.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy.optimize import brentq
from torch import Tensor

from genbayes.arrays import FloatArray
from genbayes.data.scaling import ResponseScaler
from genbayes.distribution import Normal, QuantileFunction
from genbayes.distribution.pooling import pool_members
from genbayes.distribution.quantile_function import GRID, N_TAIL
from genbayes.metrics import best_spread
from genbayes.models.network.iqn import PriorIQN, cosine_embedding
from genbayes.models.network.loss import check_loss

if TYPE_CHECKING:
    from genbayes.models.network.fit import Rows

MIRRORED_FROM = (
    20  # runs an input from which on neighbours are near enough for what lies beyond them to be like new runs
)
MOST_ROWS_TO_PAIR = 400  # by which the gain of pooling is known well enough
WIDEST_SPREAD = 3.0  # factor of the quantiles' distances that is tried
N_CHECK_LEVELS = 17  # by which held-out rows are scored during training: a third of the price of 49


def member_quantiles(network: PriorIQN, Z: FloatArray, spread: float = 1.0) -> Tensor:
    """Each member's quantiles of the scaled response at the levels of `GRID`, in order, (n, p) -> (K, n, m)."""
    device = next(network.parameters()).device
    inputs, tau = (torch.as_tensor(part, dtype=torch.float32, device=device) for part in (Z, GRID))
    return stretch(put_in_order(network.quantiles(inputs, tau)), spread)


def put_in_order(q: Tensor) -> Tensor:
    """Quantiles at the levels of `GRID` without crossings, (..., m) -> (..., m).

    Those at the equally spaced levels are sorted, which brings them no further from the true ones (rearrangement;
    Chernozhukov, Fernandez-Val & Galichon 2010). Those of the tails may not lie further in than their inner neighbour.

    Example:
        >>> q = torch.arange(49.0)
        >>> q[[3, 10, 20]] = torch.tensor([6.0, 20.0, 10.0])
        >>> put_in_order(q)[[3, 4, 10, 20]]
        tensor([ 4.,  4., 10., 20.])
    """
    inner = q[..., N_TAIL:-N_TAIL].sort(dim=-1).values
    lower = torch.cat([inner[..., :1], q[..., :N_TAIL].flip(-1)], dim=-1).cummin(-1).values.flip(-1)
    upper = torch.cat([inner[..., -1:], q[..., -N_TAIL:]], dim=-1).cummax(-1).values
    return torch.cat([lower, inner[..., 1:-1], upper], dim=-1)


def distribution_of_run(q: Tensor, scaler: ResponseScaler, probability: FloatArray | None = None) -> QuantileFunction:
    """The ensemble's distribution of a new run: the mixture of its members, and of regimes where there are any.

    Args:
        q: Quantiles of K members in each of k regimes at the levels of `GRID`, shape (k, K, n, m).
        scaler: Brings them to the units of y.
        probability: Probability of each regime at each row, shape (n, k); None for one regime.
    """
    k, members, n, m = q.shape
    q, weight = q.reshape(k * members, n, m), None
    if probability is not None:
        weight = torch.as_tensor(probability.T / members, device=q.device).repeat_interleave(members, dim=0)
    pooled = q[0].double() if len(q) == 1 else pool_members(q, torch.as_tensor(GRID, device=q.device), weight)
    return QuantileFunction(GRID, scaler.inverse(pooled.cpu().numpy()), support=scaler.bounds)


def member_means(q: Tensor, scaler: ResponseScaler, probability: FloatArray | None = None) -> FloatArray:
    """Each member's mean, in units of y, shape (K, n); arguments as those of `distribution_of_run`."""
    each = [distribution_of_run(q[:, j : j + 1], scaler, probability) for j in range(q.shape[1])]
    return np.stack([member.mean() for member in each])


def distribution_of_mean(means: FloatArray, typical: float | None) -> Normal:
    """What the ensemble knows of E[y | x]: a Gaussian about the mean of the members' means.

    Each member has done without a fifth of the runs, so that their variance v(x) is that of a jackknife by groups: the
    variance of the mean is 4 (K - 1) / K times it (Efron & Tibshirani 1993, section 11.5; 4 = (n - n/5) / (n/5)).
    Five members tell v at one input only roughly, so half of it is its mean over the training inputs.

    Args:
        means: Each member's mean, in units of y, shape (K, n), K > 1.
        typical: Root of the mean of v over the training inputs, in units of y; None for members that all have learnt
            from all runs, whose standard deviation is then stated as it is: a lower bound.

    Example:
        >>> means = np.array([[0.0], [2.0]])
        >>> distribution_of_mean(means, None).std().round(3), distribution_of_mean(means, 2.0).std().round(3)
        (array([1.414]), array([2.449]))
    """
    scale = means.std(axis=0, ddof=1)
    if typical is not None:
        members = len(means)
        scale = np.hypot(scale, typical) * np.sqrt(2 * (members - 1) / members)
    return Normal(loc=means.mean(axis=0), scale=scale)


def undo_standardisation(q: Tensor, levels: tuple[FloatArray, FloatArray], scaler: ResponseScaler) -> Tensor:
    """Quantiles of responses that were standardised within each regime, brought back to one scale for all.

    Args:
        q: Scaled quantiles in each of k regimes, shape (k, K, n, m).
        levels: Location and scale of y in each regime, (k,) each.
        scaler: That of the standardised responses, without bounds.
    """
    location, scale = levels
    # scaler.inverse of the result is location + scale scaler.inverse(q)
    shift = (location + (scale - 1) * scaler.center) / scaler.scale
    a, b = (torch.as_tensor(part, device=q.device).reshape(-1, 1, 1, 1) for part in (scale, shift))
    return a * q.double() + b


def as_if_pooled(q: Tensor, holder: Tensor, t: Tensor, fresh: Tensor | None) -> FloatArray:
    """Quantiles of rows by the member that held each out, as good as those of all members together would be.

    h + s (o - h), h the quantiles of the member that had not seen the row and o the mean of the others, with the share
    s that lowers the mean CRPS by what pooling the members would; s = 1 where o itself lowers it by less.

    Args:
        q: Quantiles of K members at the levels of `GRID`, shape (K, n, m).
        holder: The member that held each row out, shape (n,).
        t: Responses on the same scale, shape (n,).
        fresh: Quantiles of the members at `mirrored_inputs`, shape (K, r, m); None where there are none.

    Returns:
        Quantiles, shape (n, m).
    """
    members, n, _ = q.shape
    at = torch.arange(n, device=q.device)
    h = q[holder, at]
    if members < 3:
        return np.asarray(h.double().cpu().numpy())
    o = (q.sum(dim=0) - h) / (members - 1)
    gain = gain_of_pooling(q, holder, fresh)
    tau = torch.as_tensor(GRID, dtype=q.dtype, device=q.device)

    def crps(share: float) -> float:
        inner = (h + share * (o - h))[:, N_TAIL:-N_TAIL]  # equally spaced levels
        return float(2 * check_loss(t.unsqueeze(1) - inner, tau[N_TAIL:-N_TAIL]).mean())

    alone = crps(0.0)
    share = 1.0
    if gain <= 0:
        share = 0.0
    elif alone - crps(1.0) > gain:  # convex in the share: it crosses the gain once
        share = float(brentq(lambda s: alone - crps(s) - gain, 0.0, 1.0, xtol=1e-3))
    return np.asarray((h + share * (o - h)).double().cpu().numpy())


def gain_of_pooling(q: Tensor, holder: Tensor, fresh: Tensor | None) -> float:
    """How much less CRPS the pool of K members has than one of them; arguments as those of `as_if_pooled`.

    E CRPS(F_k) - E CRPS(F) = E int (F_k - F)^2 for the pool F of members that differ by chance (Krogh & Vedelsby 1995
    have it for squared errors): (1 - 1/K) v, v the variance of F_k. It is measured between members, so y is not needed.
    Where they have seen a row they all lean towards its response, and without noise differ by half of what they do at a
    new one; at mirrored inputs v is right, but rows that members held out have chosen where these stopped, and flatter
    them a little. The mean of the two makes scores of held-out rows those of new rows.
    """
    members, n, _ = q.shape
    rows = some_rows(n)
    inner = q[:, rows, N_TAIL:-N_TAIL]
    seen = torch.stack([(holder[rows] + j) % members for j in range(1, members)])  # members that learnt each row
    variance = _variance(inner[seen, torch.arange(len(rows))])
    if fresh is not None:
        variance = (variance + _variance(fresh[:, :, N_TAIL:-N_TAIL])) / 2
    return (1 - 1 / members) * variance


def _variance(tables: Tensor) -> float:
    """Variance of distributions that differ by chance, by neighbours among them, (K, r, m) -> a number."""
    apart = []
    for A, B in pairwise(tables):
        between = (A.unsqueeze(2) - B.unsqueeze(1)).abs().mean(dim=(1, 2))
        within = [(T.unsqueeze(2) - T.unsqueeze(1)).abs().mean(dim=(1, 2)) for T in (A, B)]
        apart.append(between - 0.5 * (within[0] + within[1]))  # int (F_a - F_b)^2 = 2 v for two of them
    return max(0.0, 0.5 * float(torch.stack(apart).mean()))


def mirrored_inputs(Z: FloatArray) -> FloatArray | None:
    """Inputs about as far from the runs as new ones are: neighbours mirrored about some runs, (n, p) -> (r, p).

    None of fewer than 20 runs an input, whose neighbours are far apart. On a regular grid many mirrored ones are runs,
    and between categories all: members differ less there.

    Example:
        >>> mirrored_inputs(np.append(np.arange(20.0), 20.5)[:, None])[[0, 9, 20]].ravel()
        array([ 0. , 10. , 20.5])
    """
    from scipy.spatial import cKDTree

    distinct: FloatArray = np.unique(Z, axis=0)
    if len(distinct) < MIRRORED_FROM * Z.shape[1]:
        return None
    about: FloatArray = distinct[some_rows(len(distinct)).numpy()]
    nearest = distinct[cKDTree(distinct).query(about, k=2)[1][:, 1]]
    return np.asarray(np.clip(2 * about - nearest, distinct.min(axis=0), distinct.max(axis=0)))


def some_rows(n: int) -> Tensor:
    """Numbers of rows, evenly spread over n, as many as a comparison of members needs."""
    return torch.linspace(0, n - 1, min(n, MOST_ROWS_TO_PAIR)).long()


@torch.no_grad()
def held_out_quantiles(network: PriorIQN, rows: Rows, aside: Tensor, n_levels: int = 49) -> tuple[Tensor, Tensor]:
    """Quantiles of each member at the rows it held out, without crossings, and their levels.

    Args:
        network: The fitted or half-fitted network.
        rows: All scaled runs.
        aside: Row numbers, shape (K, a).
        n_levels: Number of levels m, odd.

    Returns:
        q, shape (K, a, m), and tau, shape (m,), equally spaced midpoints with 1/2 in the middle.
    """
    tau = (torch.arange(n_levels, device=rows.Z.device) + 0.5) / n_levels
    phi = cosine_embedding(tau, network.shape.n_cosines).expand(network.shape.n_members, 1, -1, -1)
    # 64 rows of each member at once: 5 members x 64 rows x 17 levels x 64 units are 1 MB and fit the cache
    parts = [network.predict_heads(rows.Z[some], phi)[1] for some in aside.split(64, dim=1)]
    return torch.cat(parts, dim=1).sort(dim=-1).values, tau


@torch.no_grad()
def held_out_scores(network: PriorIQN, rows: Rows, aside: Tensor, n_levels: int = 49) -> Tensor:
    """CRPS of each member at each row it held out, as twice the mean check loss over levels, (K, a) -> (K, a)."""
    q, tau = held_out_quantiles(network, rows, aside, n_levels)
    e = rows.y[aside].unsqueeze(-1) - q
    return 2 * check_loss(e, tau).mean(dim=-1)


def check_held_out(network: PriorIQN, rows: Rows, aside: Tensor) -> tuple[Tensor, Tensor]:
    """Scores of each member at the rows it held out, by few levels, and the weights of the rows, (K, a) each."""
    return held_out_scores(network, rows, aside, N_CHECK_LEVELS), rows.weight[aside]


@torch.no_grad()
def choose_spread(network: PriorIQN, rows: Rows, aside: Tensor) -> float:
    """The factor by which held-out rows, shape (K, a), ask quantiles to be moved away from their median.

    q_tau becomes m + s (q_tau - m), m the median, with the s of lowest mean CRPS (`genbayes.metrics.spread`). Levels
    keep their meaning, for s is 1 where held-out rows agree with them; it is never smaller.
    """
    q, _ = held_out_quantiles(network, rows, aside)
    table, y, weight = (part.double().cpu().numpy() for part in (q.flatten(0, 1), rows.y[aside], rows.weight[aside]))
    return best_spread(table, y.ravel(), weight.ravel(), between=(1.0, WIDEST_SPREAD))


def stretch(q: Tensor, factor: float) -> Tensor:
    """Ordered quantiles at levels symmetric about 1/2, moved away from their median, (..., m) -> (..., m).

    Example:
        >>> stretch(torch.tensor([1.0, 2.0, 3.0]), 2.0)
        tensor([0., 2., 4.])
    """
    if factor == 1:
        return q
    middle = q[..., q.shape[-1] // 2].unsqueeze(-1)
    return middle + factor * (q - middle)
