"""Mixtures of Gaussians on the line by EM: the marginal law of a response, paper section 4.2.

Whether the components are regimes, and how many there are, is asked in `regimes`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from genbayes.arrays import FloatArray, IntArray
from genbayes.scaling import weighted_moments

__all__ = ["GaussianMixture", "fit_gaussians", "group_by_spread"]

N_ITERATIONS = 300
TOLERANCE = 1e-9  # gain in log-likelihood per row below which EM has converged
SMALLEST_SPREAD = 1e-3  # of the sd of y: keeps a component from collapsing onto one repeated value
SMALLEST_MASS = 1e-12  # of a component that has lost all its rows


@dataclass(frozen=True)
class GaussianMixture:
    """A mixture of Gaussians: share, mean and sd of each, in order of the means, shapes (k,)."""

    share: FloatArray
    mean: FloatArray
    sd: FloatArray

    def __len__(self) -> int:
        return len(self.mean)

    def log_density(self, y: FloatArray) -> FloatArray:
        """Log of share times density of each component, (n,) -> (n, k)."""
        z = (y[:, None] - self.mean) / self.sd
        return np.asarray(np.log(self.share) - np.log(self.sd) - 0.5 * np.log(2 * np.pi) - 0.5 * z**2)

    def bic(self, y: FloatArray, weight: FloatArray) -> float:
        """Parameters times log n minus twice the log-likelihood of y, shape (n,); n is the total weight.

        Example:
            >>> y = np.r_[np.linspace(-1, 1, 50), np.linspace(9, 11, 50)]
            >>> one, two = (fit_gaussians(y, np.ones(100), k).bic(y, np.ones(100)) for k in (1, 2))
            >>> two < one
            True
        """
        likelihood = float(weight @ logsumexp(self.log_density(y), axis=1))
        return (3 * len(self) - 1) * float(np.log(weight.sum())) - 2 * likelihood


def fit_gaussians(y: FloatArray, weight: FloatArray, k: int, group: IntArray | None = None) -> GaussianMixture:
    """EM for k Gaussians on the line.

    Args:
        y: Responses, shape (n,).
        weight: Positive weights, shape (n,).
        k: Number of components.
        group: Component that each row starts in, shape (n,); None for the groups of least spread.

    Example:
        >>> y = np.r_[np.linspace(-1, 1, 50), np.linspace(9, 11, 50)]
        >>> fit_gaussians(y, np.ones(100), 2).mean.round(3)
        array([ 0., 10.])
    """
    center, scale = weighted_moments(y, weight)
    z, share = (y - center) / scale, weight / weight.sum()
    start = group_by_spread(z, share, k) if group is None else group
    member = np.asarray(start[:, None] == np.arange(k), dtype=np.float64)
    previous = -np.inf
    for _ in range(N_ITERATIONS):
        mixture = _maximise(z, share, member)
        log_density = mixture.log_density(z)
        total = logsumexp(log_density, axis=1)
        likelihood = float(share @ total)
        if likelihood - previous < TOLERANCE:
            break
        member, previous = np.exp(log_density - total[:, None]), likelihood
    order = np.argsort(mixture.mean)
    return GaussianMixture(mixture.share[order], center + scale * mixture.mean[order], scale * mixture.sd[order])


def group_by_spread(y: FloatArray, weight: FloatArray, k: int) -> IntArray:
    """Groups of neighbouring responses: cut after cut, each where it lowers the variance within groups the most.

    Args:
        y: Responses, shape (n,).
        weight: Positive weights, shape (n,).
        k: Number of groups, at most the number of distinct responses.

    Returns:
        Group of each row, 0 for the lowest responses, shape (n,).

    Example:
        >>> group_by_spread(np.array([5.0, 0.0, 9.0, 0.1]), np.ones(4), 3)
        array([1, 0, 2, 0])
    """
    cuts: list[float] = []
    while len(cuts) < k - 1:
        group = np.searchsorted(np.sort(cuts), y, side="left")
        found = [_best_cut(y[group == g], weight[group == g]) for g in range(len(cuts) + 1)]
        gain, cut = max(found)
        if gain <= 0:
            break
        cuts.append(cut)
    return np.asarray(np.searchsorted(np.sort(cuts), y, side="left"), dtype=np.int64)


def _best_cut(y: FloatArray, weight: FloatArray) -> tuple[float, float]:
    """Largest gain in the weighted sum of squares by cutting y in two, and the largest response below the cut."""
    order = np.argsort(y, kind="stable")
    y, weight = y[order], weight[order]
    between_rows = np.flatnonzero(np.diff(y) > 0)
    if len(between_rows) == 0:
        return 0.0, 0.0
    y_mean = float(weight @ y) / float(weight.sum())
    mass, moment = np.cumsum(weight)[between_rows], np.cumsum(weight * (y - y_mean))[between_rows]
    gain = moment**2 / mass + moment**2 / (weight.sum() - mass)  # the mean of all is 0 here
    best = int(np.argmax(gain))
    return float(gain[best]), float(y[between_rows[best]])


def _maximise(z: FloatArray, share: FloatArray, member: FloatArray) -> GaussianMixture:
    """M step: weighted share, mean and sd of each component."""
    mass = np.maximum(share @ member, SMALLEST_MASS)
    mean = (share * z) @ member / mass
    variance = np.array([share * member[:, c] @ (z - mean[c]) ** 2 / mass[c] for c in range(len(mean))])
    return GaussianMixture(mass, mean, np.sqrt(np.maximum(variance, SMALLEST_SPREAD**2)))
