"""Truncated sequential rounds: for one observation, simulate only where its posterior may be.

After each round the prior is truncated to the region where the density of the current posterior is not negligible, and
the next parameters are drawn from the truncated prior (Deistler, Goncalves & Macke 2022). Within the region the prior
keeps its shape, so the posterior needs no importance correction; earlier pairs that lie in it are draws of the
truncated prior too and are used again. The estimator that comes out is for this observation; others are warned of.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from genbayes.arrays import BoolArray, FloatArray
from genbayes.errors import InvalidInput, RoundsStopped
from genbayes.inference.posterior import Posterior
from genbayes.inference.prior import Prior, as_prior

if TYPE_CHECKING:
    from genbayes.inference.estimator import PosteriorEstimator

Run = Callable[[FloatArray, np.random.Generator], tuple[FloatArray, Any]]  # theta (n, k) -> those that succeeded, and y

LEFT_OUT = 1e-3  # posterior mass that a truncation may lose, by the current estimate
MARGIN = 0.1  # share of its width by which the box around the draws is widened on either side
N_DRAWS = 10_000  # of the posterior, which say where its density is negligible
N_CANDIDATES = 20_000  # draws of the prior in the box that are looked at at a time
FEWEST_INSIDE = 2e-3  # share of them that must lie in the region: below, drawing would take too long


@dataclass(frozen=True)
class Region:
    """Where the posterior of an observation may be: a box, and in it the points whose density is not negligible.

    Attributes:
        lower, upper: Ends of the box, each (k,).
        posterior: The posterior so far; None for the whole box.
        least: Its log density at the border of the region.
    """

    lower: FloatArray
    upper: FloatArray
    posterior: Posterior | None = None
    least: float = -np.inf

    @classmethod
    def around(cls, posterior: Posterior, rng: np.random.Generator) -> Region:
        """The region outside which the posterior has a mass of about `LEFT_OUT`."""
        draws = posterior.sample(N_DRAWS, rng)
        scale = posterior.theta_scale
        t = scale.transform(draws)
        low, high = t.min(axis=0), t.max(axis=0)
        away = MARGIN * (high - low)
        ends = np.stack([scale.inverse(low - away), scale.inverse(high + away)])
        least = float(np.quantile(posterior.log_prob(draws), LEFT_OUT))
        return cls(ends.min(axis=0), ends.max(axis=0), posterior, least)

    def contains(self, theta: FloatArray) -> BoolArray:
        """Which rows lie in the region, (n, k) -> (n,)."""
        inside = np.asarray(((theta >= self.lower) & (theta <= self.upper)).all(axis=1))
        if self.posterior is not None and inside.any():
            inside[inside] = self.posterior.log_prob(theta[inside]) >= self.least
        return inside

    def sample(self, prior: Prior, n: int, rng: np.random.Generator) -> FloatArray | None:
        """Draws of the prior truncated to the region, (n, k); None where too few candidates lie in it."""
        found: list[FloatArray] = []
        n_found, n_seen = 0, 0
        while n_found < n:
            candidates = draw_within(prior, self.lower, self.upper, N_CANDIDATES, rng)
            kept = candidates[self.contains(candidates)]
            found.append(kept)
            n_found, n_seen = n_found + len(kept), n_seen + N_CANDIDATES
            if n_found < FEWEST_INSIDE * n_seen:
                return None
        return np.concatenate(found)[:n]


def draw_within(prior: Prior, lower: FloatArray, upper: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Draws of a prior truncated to a box, (n, k): by inverting the margins, or, of a joint one, those that fall in it.

    Example:
        >>> from scipy import stats
        >>> from genbayes.inference.prior import as_prior
        >>> prior = as_prior([stats.norm(0, 1)])
        >>> bool((draw_within(prior, np.array([2.0]), np.array([2.1]), 50, np.random.default_rng(0)) >= 2).all())
        True
    """
    if prior.joint is None:
        low, high = (
            np.array([m.cdf(end) for m, end in zip(prior.margins, ends, strict=True)]) for ends in (lower, upper)
        )
        tau = low + (high - low) * rng.random((n, prior.k))
        theta = np.column_stack([margin.ppf(tau[:, j]) for j, margin in enumerate(prior.margins)])
        return np.asarray(np.clip(theta, lower, upper))
    drawn = prior.sample(n, rng)
    return drawn[((drawn >= lower) & (drawn <= upper)).all(axis=1)]


def fit_in_rounds(
    estimator: PosteriorEstimator, run: Run, n_simulations: int, y_observed: Any, rng: np.random.Generator
) -> PosteriorEstimator:
    """Simulate in `estimator.n_rounds` rounds of equal size and learn the posterior of one observation.

    Args:
        estimator: What is fitted.
        run: Simulates at parameters (n, k); gives those of the runs that succeeded and what they returned.
        n_simulations: Runs of all rounds together.
        y_observed: The observation.
        rng: Source of parameters and simulations.

    Returns:
        The estimator, fitted to the pairs in the last region.
    """
    n_rounds = estimator.n_rounds
    sizes = np.diff(np.linspace(0, n_simulations, n_rounds + 1).round().astype(int))
    prior = as_prior(estimator.prior)
    region = Region(prior.lower, prior.upper)
    theta, y = run(prior.sample(int(sizes[0]), rng), rng)
    estimator.fit_within(theta, y, region)
    for number, size in enumerate(sizes[1:], start=2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that the observation is unusual is said when the fit is done
            posterior = estimator.condition(y_observed)
        if not posterior.is_single:
            raise InvalidInput("y_observed must be one observation for rounds, got several; fit one estimator for each")
        region = Region.around(posterior, rng)
        drawn = region.sample(prior, int(size), rng)
        if drawn is None:
            warnings.warn(
                f"round {number} of {n_rounds} found less than {FEWEST_INSIDE:.1%} of the box around the posterior "
                "worth simulating; the box was simulated instead",
                RoundsStopped,
                stacklevel=3,
            )
            region = Region(region.lower, region.upper)
            drawn = draw_within(prior, region.lower, region.upper, int(size), rng)
        new_theta, new_y = run(drawn, rng)
        inside = region.contains(theta)
        theta, y = np.concatenate([theta[inside], new_theta]), join(y, inside, new_y)
        estimator.fit_within(theta, y, region)
    return estimator


def join(y: Any, kept: BoolArray, new: Any) -> Any:
    """Earlier observations that are kept and new ones, arrays or lists of sets."""
    if isinstance(y, list):
        return [each for each, is_kept in zip(y, kept, strict=True) if is_kept] + list(new)
    return np.concatenate([y[kept], new])
