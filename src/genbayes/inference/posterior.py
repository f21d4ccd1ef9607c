"""Posterior: the distribution of a simulator's parameters given one observation, or one for each of many.

Draws are one pass of uniform noise through the chain (paper section 3.1). Moments and margins read a fixed set of
draws from evenly spread noise, so that the same question always has the same answer; distribution functions of margins
average the conditionals over such draws, and quantiles invert them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput, NotFinite
from genbayes.inference.answers import PosteriorAnswers
from genbayes.inference.chain import Chain
from genbayes.inference.margins import N_MARGIN, Margins, even_noise, margins_of
from genbayes.inference.named import in_order
from genbayes.inference.prior import Prior
from genbayes.inference.regions import margin_number
from genbayes.inference.scales import ThetaScale
from genbayes.seeding import RandomState, as_generator, torch_generator
from genbayes.validation import check_array, check_count, check_level, check_tau

if TYPE_CHECKING:
    import pandas as pd

    from genbayes.inference.estimator import PosteriorEstimator

N_QUADRATURE = 4_096  # evenly spread draws that moments are read from
MOST_VALUES = 4_000_000  # numbers held at once: observations are taken in blocks beyond


class Posterior(PosteriorAnswers):
    """What `PosteriorEstimator.condition` returns.

    Args:
        estimator: Whose posterior it is.
        s: Scaled summaries of the observations, shape (o, q).
        is_single: Whether one observation was given, so that answers have no axis for observations.

    Attributes:
        names: Parameters, k of them.
        prior: What was known before.
        n_observations: Number o of observations.
        outside: Which of them lie outside what was simulated, shape (o,).
    """

    def __init__(self, estimator: PosteriorEstimator, s: FloatArray, *, is_single: bool) -> None:
        self.estimator, self.is_single, self._chain = estimator, is_single, estimator.chain_
        self.s = torch.as_tensor(s, dtype=torch.float32)
        self.theta_scale: ThetaScale = estimator.theta_scale_
        self.prior: Prior = estimator.prior_
        self.names = self.prior.names
        self.n_observations = len(s)
        self.outside = np.zeros(len(s), dtype=bool)

    @property
    def chain(self) -> Chain:
        """The transport behind it."""
        assert self._chain is not None, "a posterior by a quantile network answers by itself"
        return self._chain

    def __repr__(self) -> str:
        which = "one observation" if self.is_single else f"{self.n_observations} observations"
        return f"Posterior of {', '.join(self.names)} given {which}"

    def sample(self, n: int, random_state: RandomState = None) -> FloatArray:
        """Independent draws inside the prior's support, (n, k); for many observations (o, n, k)."""
        n = check_count(n, "n")
        rng = as_generator(random_state)
        shape = self.n_observations, n, self.prior.k, 2
        noise = torch.rand(shape, generator=torch_generator(rng)).clamp_(1e-7, 1 - 1e-7)
        theta = _require_numbers(self._parameters(self.chain.transport(self.s, noise, float(rng.random()))), "draws")
        if self.chain.shape.n_members > 1:  # draws of the members come one after another
            theta = theta[:, rng.permutation(n)]
        return self._drop(theta)

    def log_prob(self, theta: ArrayLike) -> FloatArray:
        """Log density; -inf outside the support.

        Args:
            theta: One point (k,) or many (n, k), the same for every observation; or (o, n, k), its own for each. A
                frame or a dictionary is read by its names.

        Returns:
            One value a point: () or (n,); for many observations (o,) or (o, n).
        """
        points, drop = self._points(theta)
        lower, upper = self.theta_scale.lower, self.theta_scale.upper
        inside = ((points >= lower) & (points <= upper)).all(axis=-1)
        safe = np.clip(points, lower, upper)
        o, n, k = points.shape
        t = torch.as_tensor(self.theta_scale.transform(safe), dtype=torch.float32).view(-1, k)
        found = self.chain.joint_log_prob(t, self.s.repeat_interleave(n, dim=0)).numpy().reshape(o, n)
        found = np.where(inside, found + self.theta_scale.log_slope(safe), -np.inf)
        return self._drop(_require_numbers(found[:, 0] if drop else found, "densities"))

    def mean(self, margin: str | int | None = None) -> FloatArray:
        """Posterior means, (k,); for many observations (o, k); of one parameter, by name or number, () or (o,)."""
        chosen = self._chosen(margin)
        return self._drop(self._draws.mean(axis=1)[:, chosen])

    def cov(self) -> FloatArray:
        """Posterior covariances, (k, k); for many observations (o, k, k)."""
        away = self._draws - self._draws.mean(axis=1, keepdims=True)
        return self._drop(np.einsum("oni,onj->oij", away, away) / (away.shape[1] - 1))

    def std(self, margin: str | int | None = None) -> FloatArray:
        """Posterior standard deviations, shapes as those of `mean`."""
        chosen = self._chosen(margin)
        return self._drop(self._draws.std(axis=1, ddof=1)[:, chosen])

    def ppf(self, tau: ArrayLike, margin: str | int | None = None) -> FloatArray:
        """Quantiles of each margin.

        Args:
            tau: One level, or m of them.
            margin: Name or number of a parameter, for its quantiles alone; None for all.

        Returns:
            For one level (k,), for m of them (k, m), without k for one margin; for many observations (o, ...) before.
        """
        levels, chosen = check_tau(tau), self._chosen(margin)
        one_way, other_way = np.atleast_1d(levels), 1 - np.atleast_1d(levels)
        wanted = np.zeros(self.prior.k, dtype=bool)
        wanted[chosen] = True
        falls = self.theta_scale.falls  # log(upper - theta) turns the order round
        found = []
        for margins in self._margins():
            q = np.zeros((margins.n_observations, self.prior.k, len(one_way)))
            for which, tau_there in ((wanted & ~falls, one_way), (wanted & falls, other_way)):
                if which.any():
                    q[:, which] = (margins if which.all() else margins.of(np.flatnonzero(which))).ppf(tau_there)
            found.append(np.swapaxes(q, 1, 2))
        theta = np.swapaxes(self.theta_scale.inverse(np.concatenate(found)), 1, 2)[:, chosen]
        return self._drop(theta[..., 0] if levels.ndim == 0 else theta)

    def cdf(self, theta: ArrayLike) -> FloatArray:
        """Distribution functions of the margins, shapes as in `log_prob` with k values a point: (k,) -> (k,)."""
        points, drop = self._points(theta)
        lower, upper = self.theta_scale.lower, self.theta_scale.upper
        t = self.theta_scale.transform(np.clip(points, lower, upper))
        at, found = 0, []
        for margins in self._margins():
            found.append(margins.cdf(np.swapaxes(t[at : at + margins.n_observations], 1, 2)))
            at += margins.n_observations
        tau = np.swapaxes(np.concatenate(found), 1, 2)
        tau = np.where(self.theta_scale.falls, 1 - tau, tau)
        tau = np.where(points <= lower, 0.0, np.where(points >= upper, 1.0, tau))
        return self._drop(tau[:, 0] if drop else tau)

    def interval(self, level: float = 0.9, margin: str | int | None = None) -> tuple[FloatArray, FloatArray]:
        """Lower and upper end of the central interval of each margin, each (k,); for many observations (o, k).

        Args:
            level: Probability inside, 0.9 for 90%.
            margin: Name or number of a parameter, for its interval alone, ends () or (o,); None for all.
        """
        tail = (1 - check_level(level)) / 2
        q = self.ppf([tail, 1 - tail], margin)
        return q[..., 0], q[..., 1]

    def summary(self, level: float = 0.9) -> pd.DataFrame:
        """Mean, standard deviation, median and central interval of each parameter by its name, a data frame to print.

        Args:
            level: Probability inside the interval.

        Returns:
            A row a parameter with the columns mean, sd, q0.5 and, for level=0.9, q0.05 and q0.95; for many observations
            their number, from 0, comes before the name in the index.
        """
        import pandas as pd

        tail = (1 - check_level(level)) / 2
        exact = [np.format_float_positional(round(tau, 15), trim="-") for tau in (tail, 0.5, 1 - tail)]
        columns = ["mean", "sd", *(f"q{tau}" for tau in exact)]
        values = [self.mean(), self.std(), *np.moveaxis(self.ppf([tail, 0.5, 1 - tail]), -1, 0)]
        index = pd.Index(self.names, name="parameter")
        if not self.is_single:
            index = pd.MultiIndex.from_product([range(self.n_observations), index], names=["observation", "parameter"])
        return pd.DataFrame({name: np.ravel(value) for name, value in zip(columns, values, strict=True)}, index=index)

    @cached_property
    def _draws(self) -> FloatArray:
        """Draws of evenly spread noise, (o, n, k), fewer for very many observations."""
        n = N_QUADRATURE
        while n > N_MARGIN and n * self.n_observations * self.prior.k > 5 * MOST_VALUES:
            n //= 2
        noise = even_noise(n, self.prior.k).expand(self.n_observations, -1, -1, -1)
        return self._parameters(self.chain.transport(self.s, noise))

    def _parameters(self, t: torch.Tensor) -> FloatArray:
        return self.theta_scale.inverse(t.numpy().astype(np.float64))

    def _margins(self) -> Iterator[Margins]:
        """Margins of blocks of observations, one block in memory at a time."""
        a_row = N_MARGIN * self.prior.k * self.chain.shape.n_components
        size = max(1, MOST_VALUES // a_row)
        return (margins_of(self.chain, block) for block in self.s.split(size))

    def _points(self, theta: ArrayLike) -> tuple[FloatArray, bool]:
        """Points for each observation, (o, n, k), and whether one point was given, not a row of them."""
        theta = in_order(theta, self.names, "theta")
        axes = min(max(np.ndim(theta), 1), 3)
        points = check_array(theta, "theta", ("(k,)", "(n, k)", "(o, n, k)")[axes - 1])
        if points.shape[-1] != self.prior.k or (axes == 3 and len(points) not in (1, self.n_observations)):
            raise InvalidInput(
                f"theta must have {self.prior.k} values a point and points for one or all of "
                f"{self.n_observations} observations, got shape {points.shape}"
            )
        drop, points = points.ndim == 1, np.atleast_2d(points)
        return np.broadcast_to(points, (self.n_observations, *points.shape[-2:])), drop

    def _chosen(self, margin: str | int | None) -> int | slice:
        """Where a parameter stands among all; where all stand for None."""
        return slice(None) if margin is None else margin_number(margin, self.names)

    def _drop(self, values: FloatArray) -> FloatArray:
        return np.asarray(values[0] if self.is_single else values)


def _require_numbers(found: FloatArray, what: str) -> FloatArray:
    """What was found, if NaN is not among it."""
    if np.isnan(found).any():
        raise NotFinite(f"{what} must be numbers, got NaN; theta or scales of the estimator are too large or too small")
    return found
