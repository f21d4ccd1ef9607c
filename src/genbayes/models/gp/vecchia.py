"""Vecchia's approximation of the restricted likelihood: each run given its nearest predecessors, noise included.

p(y) = prod_i p(y_i | y_c(i)), c(i) the m nearest earlier rows in units of the length scales (Vecchia 1988; Katzfuss,
Guinness & Lawrence 2022, "scaled Vecchia"). With b_i = K_cc^{-1} k and w_i = (-b_i, 1), row i contributes the residual
e_i = w_i'y and the variance v_i = 1 + g/a_i - k'b_i; sums over rows take the place of the exact quadratic forms and of
log|K|. Any subset of the terms is a likelihood of its own, which bounds the cost at large n. Neighbours are found by a
k-d tree while few inputs matter, by matrix products beyond; callers divide inputs by their length scales first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from scipy.spatial import KDTree
from torch import Tensor

from genbayes.arrays import FloatArray, IntArray
from genbayes.errors import NotFinite
from genbayes.models.gp.cholesky import JITTERS
from genbayes.models.gp.kernels import matern52_with_slope, slices
from genbayes.models.gp.likelihood import Profile, Replicates, profile_out


def vecchia_profile(
    runs: Replicates,
    rows: IntArray,
    neighbours: IntArray,
    length: FloatArray,
    nugget: float,
    *,
    with_gradient: bool = True,
) -> Profile:
    """Approximate restricted log-likelihood and gradient at given length scales and nugget.

    Args:
        runs: Training runs in the order of the approximation, inputs of shape (u, p).
        rows: Which terms of the product to use, shape (t,).
        neighbours: Conditioning set of each, -1 where missing, shape (t, m).
        length: Length scales, shape (p,).
        nugget: Noise variance divided by process variance.
        with_gradient: Whether to compute the gradient; NaN otherwise.

    Returns:
        Value, gradient in log length and log nugget, and the profiled mean and variance; as `exact_profile` if every
        row is conditioned on all its predecessors.
    """
    W, noise = runs.Z / length, nugget / runs.count
    right = np.column_stack([runs.mean, np.ones(len(runs))])
    terms = [
        _Terms(
            solve_locally(W, W[rows[part]], neighbours[part], noise, right), runs, rows[part], neighbours[part], noise
        )
        for part in slices(len(rows), (neighbours.shape[1] + 1) ** 2)
    ]
    v, e, e_one = (torch.cat([getattr(term, name) for term in terms]) for name in ("v", "e", "e_one"))
    total = float((e_one**2 / v).sum())
    mean = float((e_one * e / v).sum()) / total
    used = runs.take(rows)
    quadratic, log_determinant = float(((e - mean * e_one) ** 2 / v).sum()), float(torch.log(v).sum())
    value, variance = profile_out(used, nugget, quadratic, log_determinant, math.log(total))
    gradient = np.full(len(length) + 1, np.nan)
    if with_gradient:
        gradient = np.sum([term.gradient(mean, variance, total) for term in terms], axis=0)
        gradient[-1] += 0.5 * float((used.scatter / (nugget * variance) - (used.count - 1)).sum())
    return Profile(value, gradient[:-1], gradient[-1:], variance, mean, np.empty(0))


class _Terms:
    """A chunk of terms: residuals e of y and of the constant one, variances v, and their derivatives."""

    def __init__(
        self, systems: LocalSystems, runs: Replicates, rows: IntArray, neighbours: IntArray, noise: FloatArray
    ) -> None:
        m = neighbours.shape[1]
        self.systems = systems
        b, self.q, self.q_one = systems.solution.unbind(dim=2)
        self.noise = torch.from_numpy(noise[np.column_stack([neighbours, rows])])  # missing ones have zero weight
        y = torch.from_numpy(runs.mean[neighbours])
        self.v = systems.variance + self.noise[:, m]
        self.e = torch.from_numpy(runs.mean[rows]) - (b * y).sum(1)
        self.e_one = 1 - b.sum(1)
        self.w = torch.cat([-b, torch.ones(len(b), 1, dtype=torch.float64)], dim=1)

    def gradient(self, mean: float, variance: float, total: float) -> FloatArray:
        """Sum over the terms of dL / dK_ab dK_ab / dtheta, shape (p + 1,), theta log length and log nugget.

        dv = w'dK w, de = -q'dK w with q = K_cc^{-1} y_c, so that dL/dK = h w' has rank one for every term.
        """
        e = self.e - mean * self.e_one
        by_v = 0.5 * (e**2 / (variance * self.v**2) - 1 / self.v + self.e_one**2 / (total * self.v**2))
        by_e, by_one = e / (variance * self.v), self.e_one / (total * self.v)
        h = by_v[:, None] * self.w
        h[:, :-1] += by_e[:, None] * (self.q - mean * self.q_one) + by_one[:, None] * self.q_one
        return np.append(self._by_length(h), float((h * self.w * self.noise).sum()))

    def _by_length(self, h: Tensor) -> FloatArray:
        """sum_ab h_a slope_ab w_b (-2) (W_ak - W_bk)^2, all k at once; the square is multiplied out."""
        W, slope = self.systems.W, self.systems.slope
        right = torch.cat([self.w[:, :, None], h[:, :, None], self.w[:, :, None] * W], dim=2)
        product = slope @ right
        squares = ((h * product[:, :, 0] + self.w * product[:, :, 1])[:, :, None] * W**2).sum((0, 1))
        cross = (h[:, :, None] * W * product[:, :, 2:]).sum((0, 1))
        return (-2 * (squares - 2 * cross)).numpy()


@dataclass(frozen=True)
class LocalSystems:
    """Solved small GPs of b rows with m neighbours each; the row itself stands last, at place m.

    Given K_cc = C_cc + noise, everything follows from the weights b = K_cc^{-1} k: the conditional mean b'y, and the
    conditional variance 1 - k'b in units of the process variance.

    Attributes:
        W: Inputs over length scales, relative to the row itself, shape (b, m + 1, p).
        covariance: Of the latent values over the process variance, shape (b, m + 1, m + 1); no noise.
        slope: Derivative of the correlation with respect to squared distance, same shape.
        solution: K_cc^{-1} [k, right], shape (b, m, 1 + r); zero at missing neighbours.
    """

    W: Tensor
    covariance: Tensor
    slope: Tensor
    solution: Tensor

    @property
    def weights(self) -> Tensor:
        """Kriging weights b = K_cc^{-1} k, shape (b, m)."""
        return self.solution[:, :, 0]

    @property
    def variance(self) -> Tensor:
        """Conditional variance of the latent value at each row over the process variance, shape (b,)."""
        m = self.weights.shape[1]
        return (self.covariance[:, m, m] - (self.covariance[:, :m, m] * self.weights).sum(1)).clamp(min=0)


def solve_locally(
    W: FloatArray,
    W_own: FloatArray,
    neighbours: IntArray,
    noise: FloatArray,
    right: FloatArray,
    explained: Tensor | None = None,
) -> LocalSystems:
    """Solve K_cc x = [k, right_c] for each row's conditioning set.

    Args:
        W: Training inputs over length scales, shape (n, p).
        W_own: The rows' own inputs over length scales, shape (b, p).
        neighbours: Row numbers of the conditioning sets, -1 where one is missing, shape (b, m).
        noise: Noise variance of each training row over the process variance, shape (n,).
        right: Further right-hand sides by training row, shape (n, r).
        explained: What something else already explains, subtracted from the correlations, shape (b, m + 1, m + 1).

    Returns:
        The systems, solved.

    Example:
        >>> W, near, noise = np.array([[0.0], [9.0]]), np.array([[0, 1]]), np.ones(2)
        >>> systems = solve_locally(W, np.array([[0.0]]), near, noise, np.zeros((2, 0)))
        >>> systems.weights.numpy().round(6), systems.variance.numpy().round(6)
        (array([[0.5, 0. ]]), array([0.5]))
    """
    m = neighbours.shape[1]
    is_there = torch.from_numpy(neighbours >= 0)
    own = np.zeros((len(W_own), 1, W.shape[1]))
    places = torch.from_numpy(np.concatenate([W[neighbours] - W_own[:, None], own], axis=1))
    norms = (places * places).sum(-1)
    s = torch.baddbmm(norms.unsqueeze(-1) + norms.unsqueeze(-2), places, places.transpose(1, 2), alpha=-2).clamp_(min=0)
    covariance, slope = (torch.from_numpy(part) for part in matern52_with_slope(s.numpy()))
    if explained is not None:
        covariance -= explained
    if not bool(is_there.all()):
        exists = torch.cat([is_there, torch.ones(len(is_there), 1, dtype=torch.bool)], dim=1)
        pairs = exists.unsqueeze(-1) & exists.unsqueeze(-2)
        covariance.mul_(pairs)
        slope.mul_(pairs)
    sides = torch.cat([covariance[:, :m, m:], torch.from_numpy(right[neighbours]) * is_there.unsqueeze(-1)], dim=2)
    diagonal = torch.where(is_there, torch.from_numpy(noise[neighbours]), 1.0)
    solution = torch.cholesky_solve(sides, _factors(covariance[:, :m, :m], diagonal))
    return LocalSystems(places, covariance, slope, solution)


def _factors(covariance: Tensor, noise: Tensor) -> Tensor:
    """Lower Cholesky factors of a batch of covariance matrices with noise on the diagonal."""
    K = covariance.clone()
    diagonal = covariance.diagonal(dim1=1, dim2=2)
    for jitter in JITTERS:
        K.diagonal(dim1=1, dim2=2).copy_(diagonal + noise + jitter)
        factors, failures = torch.linalg.cholesky_ex(K)
        if not bool(failures.any()):
            return torch.as_tensor(factors)
    raise NotFinite(
        "covariances must be finite, got NaN or infinity; inputs or length scales are too large or too small"
    )


TREE_INPUTS = 8  # with more inputs that matter a k-d tree visits nearly every row
MATTERS = 0.1  # an input matters if it spreads at least this share of the widest one
DISTANCES_AT_ONCE = 4_000_000  # of the brute force: 16 MB in single precision
SMALL_BLOCK = 256  # rows at the beginning of the order, searched by brute force
EARLIER_SHARE = 3  # at least half of a block's rows come earlier, so three times m nearly always hold m earlier ones


class NearestRows:
    """An index of rows W, shape (n, p), that answers which of them are nearest to others.

    Example:
        >>> index = NearestRows(np.array([[0.0], [1.0], [5.0]]))
        >>> index.find(np.array([[4.0], [0.4]]), 2)
        array([[2, 1], [0, 1]])
    """

    def __init__(self, W: FloatArray) -> None:
        self.W = W
        spread = W.std(axis=0)
        self.tree = KDTree(W) if (spread > MATTERS * spread.max()).sum() <= TREE_INPUTS else None

    def find(self, W_new: FloatArray, m: int) -> IntArray:
        """Numbers of the m nearest rows of each new row, nearest first, (n_new, p) -> (n_new, min(m, n))."""
        m = min(m, len(self.W))
        if self.tree is None:
            return _brute(self.W, W_new, m)
        distance, near = self.tree.query(W_new, k=np.arange(1, m + 1))
        if not np.isfinite(distance).all():
            raise NotFinite(
                "distances must be finite, got infinity; inputs or length scales are too large or too small"
            )
        return np.asarray(near, dtype=np.int64)


def nearest_previous(W: FloatArray, rows: IntArray, m: int) -> IntArray:
    """The m nearest of the rows that come earlier: the conditioning sets of a Vecchia approximation.

    Args:
        W: All rows in their order, shape (n, p).
        rows: Row numbers whose neighbours are wanted, shape (b,).
        m: Number of neighbours.

    Returns:
        Row numbers, shape (b, m), -1 where a row has fewer than m predecessors.

    Example:
        >>> nearest_previous(np.array([[0.0], [1.0], [5.0], [2.0]]), np.array([0, 1, 3]), 2)
        array([[-1, -1], [ 0, -1], [ 1, 0]])
    """
    found = np.full((len(rows), m), -1, dtype=np.int64)
    start, stop = 0, SMALL_BLOCK
    while start < len(W):
        here = np.flatnonzero((rows >= start) & (rows < stop))
        if len(here):
            found[here] = _previous_in_block(W[:stop], rows[here], m, by_brute_force=start == 0)
        start, stop = stop, 2 * stop
    return found


def with_random_previous(rows: IntArray, neighbours: IntArray, n_random: int, rng: np.random.Generator) -> IntArray:
    """Conditioning sets with some random earlier rows added, which know what happens farther away.

    Args:
        rows: Row numbers, shape (b,).
        neighbours: Their nearest earlier rows, -1 where missing, shape (b, m).
        n_random: How many to add at most; rows drawn twice count once.
        rng: Draws them.

    Returns:
        Row numbers, shape (b, m + n_random), -1 where missing, no row twice.

    Example:
        >>> with_random_previous(np.array([2]), np.array([[0]]), 1, np.random.default_rng(0))
        array([[0, 1]])
    """
    drawn = (rng.random((len(rows), n_random)) * rows[:, None]).astype(np.int64)
    both = np.concatenate([neighbours, np.where(rows[:, None] > 0, drawn, -1)], axis=1)
    both.sort(axis=1)
    both[:, 1:][both[:, 1:] == both[:, :-1]] = -1
    return both


def _previous_in_block(W: FloatArray, rows: IntArray, m: int, *, by_brute_force: bool) -> IntArray:
    """Neighbours among W, shape (c, p), of rows most of which lie in its later half."""
    if by_brute_force:
        return _brute_previous(W, rows, m)
    near = NearestRows(W).find(W[rows], EARLIER_SHARE * m)
    is_earlier = near < rows[:, None]
    enough = is_earlier.sum(axis=1) >= m
    near = np.take_along_axis(near, np.argsort(~is_earlier, axis=1, kind="stable"), axis=1)  # earlier ones first
    near = np.concatenate([near, np.full((len(rows), max(0, m - near.shape[1])), -1)], axis=1)[:, :m]
    near[~enough] = _brute_previous(W, rows[~enough], m)
    return near


def _brute_previous(W: FloatArray, rows: IntArray, m: int) -> IntArray:
    found = np.full((len(rows), m), -1, dtype=np.int64)
    for place, row in enumerate(rows):
        if row > 0:
            near = _brute(W[:row], W[row : row + 1], min(m, int(row)))
            found[place, : near.shape[1]] = near
    return found


def _brute(W: FloatArray, W_new: FloatArray, m: int) -> IntArray:
    """The m nearest rows by |w|^2 - 2 w'w_new; single precision is enough to tell neighbours from strangers."""
    centre = W.mean(axis=0)
    rows, new = (torch.from_numpy(np.ascontiguousarray(part - centre)).float() for part in (W, W_new))
    norms = (rows * rows).sum(1)
    chunks = new.split(max(1, DISTANCES_AT_ONCE // len(W)))
    found = [torch.addmm(norms, chunk, rows.T, alpha=-2).topk(m, dim=1, largest=False).indices for chunk in chunks]
    return torch.cat(found).numpy() if found else np.zeros((0, m), dtype=np.int64)
