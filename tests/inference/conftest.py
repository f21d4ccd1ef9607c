"""A closed-form posterior with the methods of `Posterior`: theta_j ~ N(0, 1) independent, y_j = theta_j + N(0, 1).

`narrow` divides its standard deviations, so that the posterior is overconfident by a known factor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

from genbayes.arrays import FloatArray
from genbayes.inference import Prior, as_prior
from genbayes.inference.answers import PosteriorAnswers
from genbayes.inference.checks import CheckedEstimator
from genbayes.seeding import as_generator

SD = np.sqrt(0.5)


def pairs(n: int, k: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    theta = rng.standard_normal((n, k))
    return theta, theta + rng.standard_normal((n, k))


@dataclass
class GaussianPosterior(PosteriorAnswers):
    """Normal with mean y / 2 and standard deviation sqrt(1/2) / narrow."""

    estimator: Any
    y: FloatArray
    is_single: bool
    narrow: float = 1.0

    @property
    def prior(self) -> Prior:  # type: ignore[override]
        return as_prior([stats.norm(0, 1)] * self.y.shape[1])

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.prior.names

    @property
    def _sd(self) -> float:
        return float(SD / self.narrow)

    def _at(self, theta: ArrayLike) -> tuple[FloatArray, bool]:
        points = np.asarray(theta, dtype=float)
        one = points.ndim == 1
        points = np.broadcast_to(np.atleast_2d(points), (len(self.y), *np.atleast_2d(points).shape[-2:]))
        return (points - self.y[:, None] / 2) / self._sd, one

    def _drop(self, values: FloatArray, one: bool = False) -> FloatArray:
        values = values[:, 0] if one else values
        return np.asarray(values[0] if self.is_single else values)

    def sample(self, n: int, random_state: Any = None) -> FloatArray:
        noise = as_generator(random_state).standard_normal((len(self.y), n, self.y.shape[1]))
        return self._drop(self.y[:, None] / 2 + self._sd * noise)

    def log_prob(self, theta: ArrayLike) -> FloatArray:
        z, one = self._at(theta)
        return self._drop(stats.norm.logpdf(z).sum(axis=-1) - z.shape[-1] * np.log(self._sd), one)

    def cdf(self, theta: ArrayLike) -> FloatArray:
        z, one = self._at(theta)
        return self._drop(stats.norm.cdf(z), one)

    def ppf(self, tau: ArrayLike) -> FloatArray:
        q = self.y[:, :, None] / 2 + self._sd * stats.norm.ppf(np.atleast_1d(tau))
        return self._drop(q[..., 0] if np.ndim(tau) == 0 else q)


class GaussianEstimator(CheckedEstimator):
    """Held-out pairs and closed-form posteriors."""

    def __init__(self, k: int = 2, n: int = 1000, narrow: float = 1.0, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        theta, y = pairs(n, k, rng)
        self.prior_ = as_prior([stats.norm(0, 1)] * k)
        self._keep_for_checks((theta, y), pairs(2000, k, rng), rng)
        self.narrow = narrow

    def condition_on_summaries(self, s: FloatArray, *, is_single: bool = False) -> Any:
        return GaussianPosterior(self, np.asarray(s), is_single, self.narrow)


@pytest.fixture
def gaussian() -> type[GaussianEstimator]:
    return GaussianEstimator
