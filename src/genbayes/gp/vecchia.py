"""Vecchia's approximation of the restricted likelihood: each run given its nearest predecessors, noise included.

p(y) = prod_i p(y_i | y_c(i)), c(i) the m nearest earlier rows in units of the length scales (Vecchia 1988; Katzfuss,
Guinness & Lawrence 2022, "scaled Vecchia"). With b_i = K_cc^{-1} k and w_i = (-b_i, 1), row i contributes the residual
e_i = w_i'y and the variance v_i = 1 + g/a_i - k'b_i; sums over rows take the place of the exact quadratic forms and of
log|K|. Any subset of the terms is a likelihood of its own, which bounds the cost at large n.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from genbayes.arrays import FloatArray, IntArray
from genbayes.gp.local import LocalSystems, chunks, solve_locally
from genbayes.gp.profile import Profile, degrees_of_freedom, noise_terms
from genbayes.gp.replicates import Replicates

__all__ = ["vecchia_profile"]


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
        for part in chunks(len(rows), neighbours.shape[1])
    ]
    v, e, e_one = (torch.cat([getattr(term, name) for term in terms]) for name in ("v", "e", "e_one"))
    total = float((e_one**2 / v).sum())
    mean = float((e_one * e / v).sum()) / total
    used = runs.take(rows)
    squares, constant = noise_terms(used, nugget)
    dof = degrees_of_freedom(used)
    variance = (squares + float(((e - mean * e_one) ** 2 / v).sum())) / dof
    log_determinant = float(torch.log(v).sum())
    value = -0.5 * (dof * math.log(2 * math.pi * math.e * variance) + log_determinant + math.log(total)) + constant
    gradient = np.full(len(length) + 1, np.nan)
    if with_gradient:
        gradient = np.sum([term.gradient(mean, variance, total) for term in terms], axis=0)
        gradient[-1] += 0.5 * float((used.scatter / (nugget * variance) - (used.count - 1)).sum())
    return Profile(value, gradient[:-1], gradient[-1:], variance, mean)


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
