"""Does the response have two regimes? A mixture of two Gaussians on y, and the paper's rule for loss weights.

Paper section 3.3: "if the marginal response distribution is bimodal ... quantile-dominant weights are preferred".
The rule here: fit one Gaussian and two by maximum likelihood; the response counts as bimodal when two explain it
better after BIC's charge for their number and their density has a real valley between the peaks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.scaling import weighted_moments

__all__ = ["Bimodality", "TwoGaussians", "fit_two_gaussians", "measure_bimodality"]

N_ITERATIONS = 300
TOLERANCE = 1e-9  # gain in log-likelihood per row below which EM has converged
SMALLEST_SPREAD = 1e-3  # of the sd of y: keeps a component from collapsing onto one repeated value
DEEPEST_NOISE = 0.25  # a valley shallower than this share of the lower peak may be chance
N_BINS = 2_000  # of the histogram that stands for y in the kernel density
SMALLEST_REGIME = 0.05  # a share of rows below this is a tail, not a regime


@dataclass(frozen=True)
class TwoGaussians:
    """A mixture of two Gaussians: share, mean and sd of each, in order of the means, shapes (2,)."""

    share: FloatArray
    mean: FloatArray
    sd: FloatArray

    def log_density(self, y: FloatArray) -> FloatArray:
        """Log of share times density of each component, (n,) -> (n, 2)."""
        z = (y[:, None] - self.mean) / self.sd
        return np.asarray(np.log(self.share) - np.log(self.sd) - 0.5 * np.log(2 * np.pi) - 0.5 * z**2)


@dataclass(frozen=True)
class Bimodality:
    """The verdict on a response's marginal distribution.

    Attributes:
        bic_gain: BIC of one Gaussian minus BIC of two; positive favours two.
        valley: 1 - (lowest density between the peaks) / (lower of the two peaks), within [0, 1].
        mixture: The two Gaussians.
    """

    bic_gain: float
    valley: float
    mixture: TwoGaussians

    @property
    def is_bimodal(self) -> bool:
        """Two regimes: BIC prefers two Gaussians, neither is marginal, and a valley parts them."""
        return self.bic_gain > 0 and self.valley > DEEPEST_NOISE and float(self.mixture.share.min()) > SMALLEST_REGIME


def fit_two_gaussians(y: FloatArray, weight: FloatArray) -> TwoGaussians:
    """EM for two Gaussians on the line, started from the split that minimises the spread within the halves.

    Args:
        y: Responses, shape (n,).
        weight: Positive weights, shape (n,).

    Example:
        >>> y = np.r_[np.linspace(-1, 1, 50), np.linspace(9, 11, 50)]
        >>> fit_two_gaussians(y, np.ones(100)).mean.round(3)
        array([ 0., 10.])
    """
    center, scale = weighted_moments(y, weight)
    z, share = (y - center) / scale, weight / weight.sum()
    belongs = _best_split(z, share)
    member = np.column_stack([belongs, 1 - belongs])
    previous = -np.inf
    for _ in range(N_ITERATIONS):
        mixture = _maximise(z, share, member)
        log_density = mixture.log_density(z)
        total = np.logaddexp(log_density[:, 0], log_density[:, 1])
        likelihood = float(share @ total)
        if likelihood - previous < TOLERANCE:
            break
        member, previous = np.exp(log_density - total[:, None]), likelihood
    order = np.argsort(mixture.mean)
    return TwoGaussians(mixture.share[order], center + scale * mixture.mean[order], scale * mixture.sd[order])


def measure_bimodality(y: FloatArray, weight: FloatArray) -> Bimodality:
    """How far the marginal distribution of y is from having one peak.

    Example:
        >>> y = np.r_[np.linspace(-1, 1, 50), np.linspace(9, 11, 50)]
        >>> measure_bimodality(y, np.ones(100)).is_bimodal
        True
    """
    mixture = fit_two_gaussians(y, weight)
    center, scale = (float(part) for part in weighted_moments(y, weight))
    one = -np.log(scale) - 0.5 * np.log(2 * np.pi) - 0.5 * ((y - center) / scale) ** 2
    two = np.logaddexp(*mixture.log_density(y).T)
    # BIC = parameters log n - 2 log L: five parameters against two, n the total weight
    bic_gain = 2 * float(weight @ (two - one)) - 3 * float(np.log(weight.sum()))
    return Bimodality(bic_gain, _valley(y, weight, mixture), mixture)


def _valley(y: FloatArray, weight: FloatArray, mixture: TwoGaussians) -> float:
    """Depth of the valley between the two means in a kernel density of y itself.

    Not in the mixture's density: two Gaussians fitted to a flat response have a valley that the response has not.
    The bandwidth is Silverman's for one component, 1.06 sd n^(-1/5).
    """
    bandwidth = 1.06 * float(mixture.share @ mixture.sd) * float(weight.sum()) ** -0.2
    between = np.linspace(mixture.mean[0], mixture.mean[1], 201)
    reach = (between[0] - 4 * bandwidth, between[-1] + 4 * bandwidth)
    count, edge = np.histogram(y, bins=N_BINS, range=reach, weights=weight)
    center = (edge[:-1] + edge[1:]) / 2
    density = np.exp(-0.5 * ((between[:, None] - center) / bandwidth) ** 2) @ count
    left, right = int(np.argmax(density[:101])), 100 + int(np.argmax(density[100:]))  # one peak: both in the middle
    return float(1 - density[left : right + 1].min() / max(min(density[left], density[right]), 1e-300))


def _best_split(z: FloatArray, share: FloatArray) -> FloatArray:
    """1 for rows below the cut that leaves the least variance within its two sides, else 0."""
    order = np.argsort(z, kind="stable")
    mass, moment = np.cumsum(share[order])[:-1], np.cumsum((share * z)[order])[:-1]
    between = (moment - mass * float(share @ z)) ** 2 / np.maximum(mass * (1 - mass), 1e-12)
    cut = z[order][int(np.argmax(between))]
    return np.asarray(z <= cut, dtype=np.float64)


def _maximise(z: FloatArray, share: FloatArray, member: FloatArray) -> TwoGaussians:
    """M step: weighted share, mean and sd of each component."""
    mass = share @ member
    safe = np.maximum(mass, 1e-12)
    mean = (share * z) @ member / safe
    variance = np.array([share * member[:, c] @ (z - mean[c]) ** 2 / safe[c] for c in range(2)])
    return TwoGaussians(np.maximum(mass, 1e-12), mean, np.sqrt(np.maximum(variance, SMALLEST_SPREAD**2)))
