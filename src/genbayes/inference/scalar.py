"""One parameter: the implicit quantile network is the inverse CDF of the posterior itself (paper section 3.1).

theta = Q_tau(theta | s), tau uniform, is a draw. `recipe="paper"` trains that network to the letter of the paper;
by default our own recipe for it competes with a chain of one step on pairs that neither has seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.inference.posterior import Posterior
from genbayes.metrics import crps, is_clearly_better
from genbayes.models.network.surrogate import QuantileSurrogate
from genbayes.seeding import RandomState
from genbayes.validation import check_count, check_tau

if TYPE_CHECKING:
    from genbayes.distribution import PredictiveDistribution
    from genbayes.inference.estimator import PosteriorEstimator

MOST_PAIRS = 20_000  # that the network learns from where a chain competes: its time is limited, not theirs
N_JUDGES = 500  # pairs on which the two are compared, at most
LEVELS = (np.arange(64) + 0.5) / 64  # of the quantiles that they are compared by


def fit_quantile_network(
    recipe: str,
    z: FloatArray,
    theta: FloatArray,
    support: tuple[float, float],
    rng: np.random.Generator,
    *,
    verbose: bool,
) -> QuantileSurrogate:
    """The quantile function of one parameter given scaled summaries.

    Args:
        recipe: "fast" or "paper".
        z: Scaled summaries, shape (n, q).
        theta: Parameters, shape (n, 1).
        support: Ends of the support, which quantiles never leave; may be infinite.
        rng: Seeds the network.
        verbose: Whether to show a progress bar.
    """
    lower, upper = (float(end) if np.isfinite(end) else None for end in support)
    seed = int(rng.integers(2**31))
    network = QuantileSurrogate(recipe=recipe, y_bounds=(lower, upper), verbose=verbose, random_state=seed)
    return network.fit(z, theta[:, 0])


def network_wins(network: Posterior, chain: Posterior, theta: FloatArray) -> bool:
    """Whether the network's CRPS is clearly lower at pairs that neither has seen, theta of shape (o, 1).

    Else the chain is taken, whose density is smooth: the CRPS hardly sees what lies between two modes.
    """
    scores = [crps(np.sort(posterior.ppf(LEVELS)[:, 0], axis=1), theta[:, 0]) for posterior in (network, chain)]
    return is_clearly_better(scores[0], scores[1], n_errors=2.0)


class QuantilePosterior(Posterior):
    """The posterior of one parameter by a quantile network; its density is that of the quantiles it is drawn from."""

    distribution: PredictiveDistribution

    def __init__(self, estimator: PosteriorEstimator, s: FloatArray, *, is_single: bool) -> None:
        super().__init__(estimator, s, is_single=is_single)
        assert estimator.network_ is not None
        self.distribution = estimator.network_.predict_distribution(s)

    def sample(self, n: int, random_state: RandomState = None) -> FloatArray:
        """Independent draws inside the prior's support, (n, 1); for many observations (o, n, 1)."""
        return self._drop(self.distribution.sample(check_count(n, "n"), random_state)[:, :, None])

    def log_prob(self, theta: ArrayLike) -> FloatArray:
        """Log density of the quantile function, in shapes as those of a chain; -inf outside the support."""
        points, drop = self._points(theta)
        with np.errstate(divide="ignore"):
            found = np.log(self.distribution.pdf(points[:, :, 0]))
        inside = ((points >= self.prior.lower) & (points <= self.prior.upper))[..., 0]
        found = np.where(inside, found, -np.inf)
        return self._drop(found[:, 0] if drop else found)

    def mean(self, margin: str | int | None = None) -> FloatArray:
        """Posterior mean, (1,); for many observations (o, 1)."""
        chosen = self._chosen(margin)
        return self._drop(self.distribution.mean()[:, None][:, chosen])

    def cov(self) -> FloatArray:
        """Posterior variance, (1, 1); for many observations (o, 1, 1)."""
        return self._drop(self.distribution.var()[:, None, None])

    def std(self, margin: str | int | None = None) -> FloatArray:
        """Posterior standard deviation, (1,); for many observations (o, 1)."""
        chosen = self._chosen(margin)
        return self._drop(self.distribution.std()[:, None][:, chosen])

    def ppf(self, tau: ArrayLike, margin: str | int | None = None) -> FloatArray:
        """Quantiles: scalar tau -> (1,), m levels -> (1, m); for many observations (o, ...) before."""
        levels, chosen = check_tau(tau), self._chosen(margin)
        return self._drop(self.distribution.ppf(levels)[:, None][:, chosen])

    def cdf(self, theta: ArrayLike) -> FloatArray:
        """Levels of points, (1,) -> (1,)."""
        points, drop = self._points(theta)
        tau = self.distribution.cdf(points[:, :, 0])[:, :, None]
        return self._drop(tau[:, 0] if drop else tau)
