"""Does the response have regimes, and how many? Peaks of its marginal distribution with real valleys between them.

Paper section 3.3: "if the marginal response distribution is bimodal ... quantile-dominant weights are preferred";
section 4.2 takes the two Gaussians of a mixture on y, fitted by EM, for regimes. Here two count as regimes only where
BIC pays for the second and the density of y has a real valley between them: a skewed or flat response needs several
Gaussians and still has no jump.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, softmax

from genbayes.arrays import FloatArray, IntArray
from genbayes.data.scaling import weighted_moments

MIN_VALLEY = 0.25  # a valley shallower than this share of the lower peak may be chance
MIN_VALLEY_Z = 3.5  # standard errors that a valley must be deep before regimes are built on it; 3 is found by looking
# around
MIN_SHARE = 0.05  # a share of rows below this is a tail, not a regime
MIN_ROWS = 5  # of a regime: with fewer a classifier has nothing to learn it from
MOST_REGIMES = 5
NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five"}  # of regimes, as sentences say them
MOST_RESPONSES = 4_000  # beyond, neighbouring responses are averaged before EM: shapes are seen with as many


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
        return (3 * len(self.mean) - 1) * float(np.log(weight.sum())) - 2 * likelihood


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
    for _ in range(300):
        mass = np.maximum(share @ member, 1e-12)  # of a component that has lost all its rows
        mean = (share * z) @ member / mass
        variance = np.array([share * member[:, c] @ (z - mean[c]) ** 2 / mass[c] for c in range(k)])
        sd = np.sqrt(np.maximum(variance, 1e-6))  # no component collapses onto one repeated value
        mixture = GaussianMixture(mass, mean, sd)
        log_density = mixture.log_density(z)
        total = logsumexp(log_density, axis=1)
        likelihood = float(share @ total)
        if likelihood - previous < 1e-9:  # per row
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
        return self.bic_gain > 0 and self.valley > MIN_VALLEY and float(self.mixture.share.min()) > MIN_SHARE


def measure_bimodality(y: FloatArray, weight: FloatArray) -> Bimodality:
    """How far the marginal distribution of y is from having one peak.

    Example:
        >>> y = np.r_[np.linspace(-1, 1, 50), np.linspace(9, 11, 50)]
        >>> measure_bimodality(y, np.ones(100)).is_bimodal
        True
    """
    y, weight = condense(y, weight)
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
        cut = _cut(y[group], weight[group], MIN_SHARE * float(weight.sum()))
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


def responsibilities(evidence: FloatArray, share: FloatArray) -> FloatArray:
    """Probability of each regime given the response alone: share_k L_k over its sum, (n, k).

    Example:
        >>> responsibilities(np.zeros((1, 2)), np.array([0.25, 0.75]))
        array([[0.25, 0.75]])
    """
    return np.asarray(softmax(evidence + np.log(share), axis=1))


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

    Not in the mixture's density: two Gaussians fitted to a flat response have a valley that the response has not. The
    bandwidth is Silverman's for one component, 1.06 sd n^(-1/5). How sure: in standard errors, the larger of two
    numbers. One is the depth itself; relative to a peak where the sum of exp(-u^2/2) over the rows is S, a kernel
    density has standard error sqrt(0.707 / S). The other sees wide gaps among few rows: the floor, where the density is
    below half of the lower peak, would hold E rows without a valley and lacks some, over sqrt(E).
    """
    bandwidth = 1.06 * float(mixture.share @ mixture.sd) * float(weight.sum()) ** -0.2
    between = np.linspace(mixture.mean[0], mixture.mean[1], 201)
    reach = (between[0] - 4 * bandwidth, between[-1] + 4 * bandwidth)
    count, edge = np.histogram(y, bins=2_000, range=reach, weights=weight)
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
    fewest = max(smallest, MIN_ROWS)
    if weight.sum() < 2 * fewest or y.min() == y.max():
        return None
    verdict = measure_bimodality(y, weight)
    if not verdict.is_bimodal or _valley(y, weight, verdict.mixture)[1] < MIN_VALLEY_Z:
        return None
    between = np.linspace(verdict.mixture.mean[0], verdict.mixture.mean[1], 201)
    lower, upper = verdict.mixture.log_density(between).T
    cut = float(between[min(int(np.sum(upper < lower)), 200)])  # where the two densities cross
    below = float(weight[y <= cut].sum())
    return cut if fewest <= below <= weight.sum() - fewest else None
