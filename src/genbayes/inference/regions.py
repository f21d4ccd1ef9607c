"""Conformal credible regions: sets that hold theta as often as they say, whatever the estimator got wrong.

A score says how central theta is in its posterior: jointly by the share of draws with lower density, for one parameter
by the level of theta in its margin. Scores of pairs that the estimator has not seen are exchangeable with that of a
fresh pair from the prior and the simulator, so thresholds at their ranks hold for finite samples (Vovk, Gammerman and
Shafer 2005), on average over the prior predictive, not for each y.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import BoolArray, FloatArray
from genbayes.conformal.recalibration import ROUNDING, interval_ranks, require_support
from genbayes.errors import InvalidInput
from genbayes.inference.named import one_of
from genbayes.inference.prior import Prior
from genbayes.validation import check_array, suggest

LEAST = -1e9  # stands for the logarithm of zero
N_DRAWS = 128  # among which the density of theta is ranked; as many for held-out pairs as for an observation


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


def density_scores(of_points: FloatArray, of_draws: FloatArray) -> FloatArray:
    """How central points are: the share of draws whose density is lower, between two draws in proportion.

    Below all draws it goes on as log p(theta | y) - min log p(draw | y), so that regions can grow beyond the draws, and
    above them likewise.

    Args:
        of_points: Log densities of points, shape (o, n).
        of_draws: Log densities of L draws, shape (o, L).

    Returns:
        Shape (o, n).

    Example:
        >>> density_scores(np.array([[-5.0, -2.5, 0.0]]), np.array([[-1.0, -2.0, -3.0]])).round(3)
        array([[-2.  ,  0.25,  2.  ]])
    """
    draws = np.maximum(np.sort(of_draws, axis=1), LEAST)  # a draw may have density zero by rounding
    share = np.linspace(0, 1, draws.shape[1])
    inside = [np.interp(p, d, share) for p, d in zip(of_points, draws, strict=True)]
    below, above = np.maximum(of_points, LEAST) - draws[:, :1], of_points - draws[:, -1:]
    return np.asarray(np.stack(inside) + np.minimum(below, 0.0) + np.maximum(above, 0.0))


def margin_levels(posterior: ConditionalPosterior, theta: FloatArray) -> FloatArray:
    """Sorted levels of held-out theta (c, k) in the margins of their posteriors, shape (c, k)."""
    return np.sort(posterior.cdf(theta[:, None])[:, 0], axis=0)


def density_limit(scores: FloatArray, level: float) -> float:
    """The least score of a joint region of a level: of c sorted ones the floor((c + 1) (1 - level))-th.

    Example:
        >>> density_limit(np.arange(1, 20) / 20, 0.9)
        0.1
    """
    c = len(scores)
    rank = math.floor((c + 1) * (1 - level) + ROUNDING)
    if rank < 1:
        most = math.floor(1e4 * c / (c + 1)) / 1e4
        raise InvalidInput(
            f"level must be at most {most:g} with {c} held-out pairs, got {level!r}; simulate more pairs"
        )
    return float(scores[rank - 1])


def margin_limits(levels: FloatArray, level: float) -> tuple[float, float]:
    """Lowest and highest level of a margin in a region: of c sorted ones, those of the ranks of `interval_ranks`."""
    require_support(len(levels), level, " held out")
    low, high = interval_ranks(len(levels), level)
    return float(levels[low - 1]), float(levels[high - 1])


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
        value = np.asarray(self.posterior.log_prob(theta))
        o = 1 if self.posterior.is_single else len(value)
        scores = density_scores(value.reshape(o, -1), self._of_draws).reshape(value.shape)
        return np.asarray((scores >= self.limit) & np.isfinite(value))

    @cached_property
    def _of_draws(self) -> FloatArray:
        """Log densities of draws, (o, L); always the same draws."""
        return np.atleast_2d(self.posterior.log_prob(self.posterior.sample(N_DRAWS, 0)))


@dataclass(frozen=True)
class MarginRegion:
    """An interval of one parameter whose ends are conformal: all values whose level in the margin lies between two.

    Attributes:
        posterior: Whose region it is.
        name: The parameter.
        level: The share of pairs from the prior and the simulator that intervals of this kind hold, or a little more.
        limits: Lowest and highest level of its values in the margin; (1 -+ level) / 2 if the estimator were exact.
    """

    posterior: ConditionalPosterior = field(repr=False)
    name: str
    level: float
    limits: tuple[float, float]

    @cached_property
    def lower(self) -> FloatArray:
        """Lower end, (); for many observations (o,)."""
        return self._quantile(self.limits[0], self.posterior.prior.lower)

    @cached_property
    def upper(self) -> FloatArray:
        """Upper end, (); for many observations (o,)."""
        return self._quantile(self.limits[1], self.posterior.prior.upper)

    def contains(self, theta: ArrayLike) -> BoolArray:
        """Whether values of the parameter lie in the interval: one value or (n,) of them, for many observations (o, n).

        Args:
            theta: The values; of a frame or a dictionary, which may hold the other parameters as well, those with its
                name.

        Returns:
            Shape () or (n,); for many observations (o,) or (o, n).
        """
        prior = self.posterior.prior
        theta = one_of(theta, self.name, prior.names, "theta")
        values = check_array(theta, "theta", ("()", "(n,)", "(o, n)")[min(np.ndim(theta), 2)])
        points = np.broadcast_to([margin.median() for margin in prior.margins], (*values.shape, prior.k)).copy()
        points[..., self._j] = values
        tau = np.asarray(self.posterior.cdf(points))[..., self._j]
        inside = (values >= prior.lower[self._j]) & (values <= prior.upper[self._j])
        return np.asarray((tau >= self.limits[0]) & (tau <= self.limits[1]) & inside)

    @property
    def _j(self) -> int:
        return self.posterior.prior.names.index(self.name)

    def _quantile(self, tau: float, end: FloatArray) -> FloatArray:
        """Quantile of the margin; at levels 0 and 1 the end of the support."""
        if 0 < tau < 1:
            return np.asarray(np.asarray(self.posterior.ppf(tau))[..., self._j])
        shape = np.asarray(self.posterior.ppf(0.5)).shape[:-1]
        return np.full(shape, end[self._j])


def margin_number(margin: str | int, names: tuple[str, ...]) -> int:
    """The place of a parameter, given by name or by number.

    Example:
        >>> margin_number("b", ("a", "b"))
        1
    """
    if isinstance(margin, str) and margin in names:
        return names.index(margin)
    if isinstance(margin, Integral) and not isinstance(margin, bool) and 0 <= margin < len(names):
        return int(margin)
    listed = ", ".join(map(repr, names))
    raise InvalidInput(
        f"margin must be a parameter ({listed}) or its number from 0, got {margin!r}"
        f"{suggest(margin, names) if isinstance(margin, str) else ''}"
    )
