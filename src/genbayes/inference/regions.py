"""Conformal credible regions: sets that hold theta as often as they say, whatever the estimator got wrong.

A score says how central theta is in its posterior: jointly by the share of draws with lower density, for one parameter
by the level of theta in its margin. Scores of pairs that the estimator has not seen are exchangeable with that of a
fresh pair from the prior and the simulator, so thresholds at their ranks hold for finite samples (Vovk, Gammerman and
Shafer 2005), on average over the prior predictive, not for each y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import BoolArray, FloatArray
from genbayes.conformal.recalibration import ROUNDING, interval_ranks, require_support
from genbayes.errors import InvalidInput
from genbayes.inference.prior import Prior
from genbayes.validation import check_array, check_level, suggest

LEAST = -1e9  # stands for the logarithm of zero
N_DRAWS = 256  # among which the density of theta is ranked; as many for held-out pairs as for an observation


class ConditionalPosterior(Protocol):
    """What regions and checks ask of the posteriors given o observations; shapes are those of `Posterior`."""

    @property
    def prior(self) -> Prior:
        """The prior."""

    @property
    def is_single(self) -> bool:
        """Whether answers have no axis for observations."""

    def sample(self, n: int, random_state: Any = None) -> FloatArray:
        """Draws, (n, k) or (o, n, k)."""

    def log_prob(self, theta: ArrayLike) -> FloatArray:
        """Log densities."""

    def cdf(self, theta: ArrayLike) -> FloatArray:
        """Levels in the margins."""

    def ppf(self, tau: ArrayLike) -> FloatArray:
        """Quantiles of the margins, (k, m) or (o, k, m)."""


def density_scores(posterior: ConditionalPosterior, theta: ArrayLike, random_state: Any) -> FloatArray:
    """How central points are: the share of 256 draws whose density is lower, shapes as in `log_prob`.

    Below all draws it goes on as log p(theta | y) - min log p(draw | y), so that regions can grow beyond the draws.
    """
    draws = posterior.sample(N_DRAWS, random_state)
    of_draws = np.sort(np.atleast_2d(posterior.log_prob(draws)), axis=1)  # (o, L)
    value = np.asarray(posterior.log_prob(theta))
    flat = np.atleast_2d(value) if posterior.is_single else value.reshape(len(value), -1)  # (o, n)
    below = np.stack([np.searchsorted(row, points, side="left") for row, points in zip(of_draws, flat, strict=True)])
    lowest = np.maximum(of_draws[:, :1], LEAST)  # a draw may have density zero by rounding
    score = np.where(below > 0, below / N_DRAWS, np.maximum(flat, LEAST) - lowest)
    return np.asarray(score.reshape(value.shape))


@dataclass(frozen=True)
class ConformalScores:
    """Scores of held-out pairs; thresholds of regions are their order statistics.

    Attributes:
        density: Sorted joint scores, shape (c,).
        levels: Sorted levels of each parameter in its margin, shape (c, k).
    """

    density: FloatArray = field(repr=False)
    levels: FloatArray = field(repr=False)

    @classmethod
    def of(cls, posterior: ConditionalPosterior, theta: FloatArray, rng: np.random.Generator) -> ConformalScores:
        """Scores of held-out theta (c, k) under the posteriors given their y, c of them."""
        points = theta[:, None]
        density = density_scores(posterior, points, rng)[:, 0]
        return cls(np.sort(density), np.sort(posterior.cdf(points)[:, 0], axis=0))

    def __len__(self) -> int:
        return len(self.density)

    def density_limit(self, level: float) -> float:
        """The least score of a joint region of a level: with c pairs the floor((c + 1) (1 - level))-th smallest.

        Example:
            >>> ConformalScores(np.arange(1, 20) / 20, np.empty((19, 1))).density_limit(0.9)
            0.1
        """
        c = len(self)
        rank = math.floor((c + 1) * (1 - level) + ROUNDING)
        if rank < 1:
            most = math.floor(1e4 * c / (c + 1)) / 1e4
            raise InvalidInput(
                f"level must be at most {most:g} with {c} held-out pairs, got {level!r}; simulate more pairs"
            )
        return float(self.density[rank - 1])

    def margin_limits(self, level: float, j: int) -> tuple[float, float]:
        """Lowest and highest level in margin j of a region: scores of the ranks that `interval_ranks` gives."""
        require_support(len(self), level, " held out")
        low, high = interval_ranks(len(self), level)
        return float(self.levels[low - 1, j]), float(self.levels[high - 1, j])


@dataclass(frozen=True)
class Region:
    """A joint region of highest density whose threshold is conformal.

    Attributes:
        posterior: Whose region it is.
        level: The share of pairs from the prior and the simulator that regions of this kind hold, or a little more.
        limit: The least score of its points, see `density_scores`; 1 - level if the estimator were exact.
    """

    posterior: ConditionalPosterior = field(repr=False)
    level: float
    limit: float

    def contains(self, theta: ArrayLike) -> BoolArray:
        """Whether points lie in the region.

        Args:
            theta: One point (k,) or many (n, k), the same for every observation; or (o, n, k), its own for each.

        Returns:
            One value a point: () or (n,); for many observations (o,) or (o, n).
        """
        scores = density_scores(self.posterior, theta, 0)
        inside = np.isfinite(self.posterior.log_prob(theta))
        return np.asarray((scores >= self.limit) & inside)


@dataclass(frozen=True)
class MarginRegion:
    """An interval of one parameter whose ends are conformal.

    Attributes:
        name: The parameter.
        level: The share of pairs from the prior and the simulator that intervals of this kind hold, or a little more.
        lower, upper: Ends, (); for many observations (o,).
    """

    name: str
    level: float
    lower: FloatArray
    upper: FloatArray

    def contains(self, theta: ArrayLike) -> BoolArray:
        """Whether values of the parameter lie in the interval: one value or (n,) of them, for many observations (o, n).

        Returns:
            Shape () or (n,); for many observations (o,) or (o, n).
        """
        values = check_array(theta, "theta", ("()", "(n,)", "(o, n)")[min(np.ndim(theta), 2)])
        lower, upper = (
            np.asarray(end)[..., None] if values.ndim else np.asarray(end) for end in (self.lower, self.upper)
        )
        return np.asarray((values >= lower) & (values <= upper))


def conformal_region(
    posterior: ConditionalPosterior, scores: ConformalScores, level: float, margin: str | int | None = None
) -> Region | MarginRegion:
    """The region of a level, of all parameters or of one.

    Args:
        posterior: The posterior given the observations.
        scores: Those of held-out pairs.
        level: Nominal coverage, 0.9 for 90%.
        margin: Name or number of a parameter; None for all of them jointly.
    """
    level = check_level(level)
    if margin is None:
        return Region(posterior, level, scores.density_limit(level))
    j = _column(margin, posterior.prior.names)
    low, high = scores.margin_limits(level, j)
    lower = _quantile(posterior, low, j, posterior.prior.lower)
    return MarginRegion(posterior.prior.names[j], level, lower, _quantile(posterior, high, j, posterior.prior.upper))


def _quantile(posterior: ConditionalPosterior, tau: float, j: int, end: FloatArray) -> FloatArray:
    """Quantile of margin j; at levels 0 and 1 the end of the support."""
    if 0 < tau < 1:
        return np.asarray(np.asarray(posterior.ppf(tau))[..., j])
    shape = np.asarray(posterior.ppf(0.5)).shape[:-1]
    return np.full(shape, end[j])


def _column(margin: str | int, names: tuple[str, ...]) -> int:
    if isinstance(margin, str) and margin in names:
        return names.index(margin)
    if isinstance(margin, int) and not isinstance(margin, bool) and 0 <= margin < len(names):
        return margin
    listed = ", ".join(map(repr, names))
    raise InvalidInput(
        f"margin must be a parameter ({listed}) or its number from 0, got {margin!r}"
        f"{suggest(margin, names) if isinstance(margin, str) else ''}"
    )
