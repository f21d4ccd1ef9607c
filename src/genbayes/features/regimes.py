"""Does the response have regimes, and how many? Peaks of its marginal law with real valleys between them.

Paper section 3.3: "if the marginal response distribution is bimodal ... quantile-dominant weights are preferred";
section 4.2 takes the two Gaussians of a mixture on y for regimes. Here two count as regimes only where BIC pays for the
second and the density of y has a real valley between them: a skewed or flat response needs several Gaussians and still
has no jump.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.features.mixture import GaussianMixture, fit_gaussians
from genbayes.scaling import weighted_moments

__all__ = ["MOST_REGIMES", "Bimodality", "condense", "evidence_of", "find_regimes", "measure_bimodality"]

DEEPEST_NOISE = 0.25  # a valley shallower than this share of the lower peak may be chance
SURE = 3.5  # standard errors that a valley must be deep before regimes are built on it; 3 is found by looking around
N_BINS = 2_000  # of the histogram that stands for y in the kernel density
SMALLEST_REGIME = 0.05  # a share of rows below this is a tail, not a regime
FEWEST_ROWS = 5  # of a regime: with fewer a classifier has nothing to learn it from
MOST_REGIMES = 5
MOST_RESPONSES = 4_000  # beyond, neighbouring responses are averaged before EM: shapes are seen with as many


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
    mixture: GaussianMixture

    @property
    def is_bimodal(self) -> bool:
        """Two regimes: BIC prefers two Gaussians, neither is marginal, and a valley parts them."""
        return self.bic_gain > 0 and self.valley > DEEPEST_NOISE and float(self.mixture.share.min()) > SMALLEST_REGIME


def measure_bimodality(y: FloatArray, weight: FloatArray) -> Bimodality:
    """How far the marginal distribution of y is from having one peak.

    Example:
        >>> y = np.r_[np.linspace(-1, 1, 50), np.linspace(9, 11, 50)]
        >>> measure_bimodality(y, np.ones(100)).is_bimodal
        True
    """
    mixture = fit_gaussians(y, weight, 2)
    center, scale = weighted_moments(y, weight)
    one = GaussianMixture(np.ones(1), center[None], scale[None])
    return Bimodality(one.bic(y, weight) - mixture.bic(y, weight), _valley(y, weight, mixture)[0], mixture)


def find_regimes(y: FloatArray, weight: FloatArray, n_regimes: int | None = None) -> GaussianMixture:
    """One Gaussian for each regime of the response.

    A group of responses is cut in two as long as it is bimodal: BIC asks for a second Gaussian and a valley parts the
    two. EM for as many Gaussians as there are groups, started from them, gives the mixture (paper section 4.2).

    Args:
        y: Responses, shape (n,).
        weight: Positive weights, shape (n,).
        n_regimes: Their number where it is known; None to find it, at most five.

    Returns:
        The mixture, in order of the means; of length 1 when the response has one peak.

    Example:
        >>> y = np.r_[np.linspace(4, 6, 50), np.linspace(14, 16, 50), np.linspace(34, 36, 50)]
        >>> find_regimes(y, np.ones(150)).mean.round(3)
        array([ 5., 15., 35.])
    """
    y, weight = condense(y, weight)
    if n_regimes is not None:
        return fit_gaussians(y, weight, n_regimes)
    cuts: list[float] = []
    waiting = [np.ones(len(y), dtype=bool)]
    while waiting and len(cuts) < MOST_REGIMES - 1:
        group = waiting.pop(0)
        cut = _cut(y[group], weight[group], SMALLEST_REGIME * float(weight.sum()))
        if cut is not None:
            cuts.append(cut)
            waiting += [group & (y <= cut), group & (y > cut)]
    mixture = fit_gaussians(y, weight, len(cuts) + 1, np.searchsorted(np.sort(cuts), y))
    is_own = np.isin(np.arange(len(mixture)), mixture.log_density(y).argmax(axis=1))
    return mixture if is_own.all() else fit_gaussians(y, weight, 1)  # EM may empty a group that the cuts had found


def evidence_of(mixture: GaussianMixture, y: FloatArray) -> FloatArray:
    """Log density of y in each regime, the largest of a row 0, (n,) -> (n, k).

    Responses beyond the outer means count as lying on them: the wider of two Gaussians would otherwise claim the far
    tails on both sides.

    Example:
        >>> mixture = GaussianMixture(np.full(2, 0.5), np.array([0.0, 4.0]), np.array([1.0, 2.0]))
        >>> evidence_of(mixture, np.array([-50.0, 4.0])).argmax(axis=1)
        array([0, 1])
    """
    y = np.clip(y, mixture.mean[0], mixture.mean[-1])
    log_density = mixture.log_density(y) - np.log(mixture.share)
    return np.asarray(log_density - log_density.max(axis=1, keepdims=True))


def condense(y: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Many responses as a few thousand means of neighbours with their weights, each (m,).

    Example:
        >>> [part.shape for part in condense(np.arange(9e4), np.ones(90_000))]
        [(3914,), (3914,)]
    """
    if len(y) <= MOST_RESPONSES:
        return y, weight
    order = np.argsort(y, kind="stable")
    size = -(-len(y) // MOST_RESPONSES)
    first = np.arange(0, len(y), size)
    mass = np.add.reduceat(weight[order], first)
    return np.add.reduceat((weight * y)[order], first) / mass, mass


def _valley(y: FloatArray, weight: FloatArray, mixture: GaussianMixture) -> tuple[float, float]:
    """Depth of the valley between the two means in a kernel density of y itself, and how sure it is.

    Not in the mixture's density: two Gaussians fitted to a flat response have a valley that the response has not.
    The bandwidth is Silverman's for one component, 1.06 sd n^(-1/5). How sure: in standard
    errors, the larger of two numbers. One is the depth itself; relative to a peak where the sum of exp(-u^2/2) over the
    rows is S, a kernel density has standard error sqrt(0.707 / S). The other sees wide gaps among few rows: the floor,
    where the density is below half of the lower peak, would hold E rows without a valley and lacks some, over sqrt(E).
    """
    bandwidth = 1.06 * float(mixture.share @ mixture.sd) * float(weight.sum()) ** -0.2
    between = np.linspace(mixture.mean[0], mixture.mean[1], 201)
    reach = (between[0] - 4 * bandwidth, between[-1] + 4 * bandwidth)
    count, edge = np.histogram(y, bins=N_BINS, range=reach, weights=weight)
    center = (edge[:-1] + edge[1:]) / 2
    density = np.exp(-0.5 * ((between[:, None] - center) / bandwidth) ** 2) @ count
    left, right = int(np.argmax(density[:101])), 100 + int(np.argmax(density[100:]))  # one peak: both in the middle
    peak = max(min(density[left], density[right]), 1e-300)
    within = density[left : right + 1]
    floor = within[within < peak / 2]
    rows = (between[1] - between[0]) / (np.sqrt(2 * np.pi) * bandwidth)  # that one step holds at density 1
    lacking = rows * float(np.sum(peak - floor)) / np.sqrt(max(rows * peak * len(floor), 1e-300))
    depth = float(1 - within.min() / peak)
    return depth, float(max(depth / np.sqrt(np.sqrt(0.5) / peak), lacking))


def _cut(y: FloatArray, weight: FloatArray, smallest: float) -> float | None:
    """Where a group of responses, shape (n,), falls into two regimes of at least some weight; None if it is one."""
    fewest = max(smallest, FEWEST_ROWS)
    if weight.sum() < 2 * fewest or y.min() == y.max():
        return None
    verdict = measure_bimodality(y, weight)
    if not verdict.is_bimodal or _valley(y, weight, verdict.mixture)[1] < SURE:
        return None
    between = np.linspace(verdict.mixture.mean[0], verdict.mixture.mean[1], 201)
    lower, upper = verdict.mixture.log_density(between).T
    cut = float(between[min(int(np.sum(upper < lower)), 200)])  # where the two densities cross
    below = float(weight[y <= cut].sum())
    return cut if fewest <= below <= weight.sum() - fewest else None
