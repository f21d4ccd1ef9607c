"""DesignGP: the Gaussian process that runs are chosen by where the response is smooth.

Squared exponential or Matern-5/2, whichever has the higher posterior: both have the same parameters, so that no penalty
is called for. Its variance follows its own leave-one-out errors from place to place. Parameters are estimated anew when
the number of runs has grown by a tenth, from scratch when by a fifth; in between, a new run costs one Cholesky factor.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.design.interface import DesignModel
from genbayes.distribution import Normal
from genbayes.metrics import crps_normal
from genbayes.models.gp import Replicates, match_rows
from genbayes.models.gp.exact import Kriging, Seen
from genbayes.models.gp.kernels import CORRELATIONS, squared_distances
from genbayes.models.gp.quasi_newton import Minimum
from genbayes.models.gp.search import Posterior, climb, exact_posterior, search_widely, starting_point
from genbayes.models.protocols import Of

GROWTH = 1.1  # parameters are estimated anew when runs have grown by this factor
GROWTH_FROM_SCRATCH = 1.2  # and searched for from scratch: a climb cannot leave a maximum that more runs outgrow
MAX_RUNS = 2_000  # beyond, a random choice of them: a Cholesky factor of more would take seconds
MIN_VARIANCE = 1e-12  # in units of the response's, so that a score never divides by zero

N_FIRST = 150  # runs of the wide search; the climbs on all runs start from its end
START_LENGTHS = (0.3, 1.0, 3.0)  # in units of sqrt(p), since distances grow with it
HARDLY_ANY_NOISE = 1e-6  # nugget of a simulator that may be deterministic

BANDWIDTH = 0.5  # h, in length scales: errors are felt as far as half the distance at which the response is


class DesignGP(DesignModel):
    """Gaussian process for design, on inputs in the unit cube.

    Args:
        correlations: Names of the correlations to choose from.
        local: Whether the variance follows the leave-one-out errors from place to place.

    Attributes:
        gp_: The process on scaled inputs and standardised responses.
        found_: The best parameters of each correlation, the one in use first.
        scale_: Where it errs more than it says; None with `local=False`.

    Example:
        >>> X = np.linspace(0, 1, 12)[:, None]
        >>> model = DesignGP().fit(X, np.sin(6 * X[:, 0]), np.random.default_rng(0))
        >>> bool(abs(model.predict(np.array([[0.5]]))[0] - np.sin(3.0)) < 0.01)
        True
    """

    gp_: Kriging
    found_: list[Found]
    scale_: LocalScale | None
    _reference: tuple[FloatArray, Seen, FloatArray] | None

    def __init__(self, correlations: Sequence[str] = ("matern52", "squared-exponential"), local: bool = True) -> None:
        self.correlations = correlations
        self.local = local

    def fit(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Self:
        """Search for parameters, the kernel included, from scratch."""
        runs = self._take(X, y, rng)
        self.found_ = search_all(runs, self.correlations, rng)
        self._n_searched = self._n_estimated = len(y)
        return self._settle(runs)

    def update(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Self:
        """Take up new runs; parameters are estimated anew when runs have grown enough."""
        if len(y) >= GROWTH_FROM_SCRATCH * self._n_searched:
            return self.fit(X, y, rng)
        runs = self._take(X, y, rng)
        if len(y) >= GROWTH * self._n_estimated:
            self.found_ = search_again(runs, self.found_)
            self._n_estimated = len(y)
        return self._settle(runs)

    def predict_distribution(self, X: ArrayLike, of: Of = "run") -> Normal:
        """Normal distributions by kriging, N(m(x), rho(x) var(x) + noise); of the mean without the noise."""
        Z = _scaled(X)
        mean, variance = self.gp_.predict(Z)
        variance = variance * self._factor(Z)
        if of == "run":
            variance = variance + self.gp_.parameters.noise
        return Normal(self._center + self._width * mean, self._width * np.sqrt(variance))

    def variance_reduction(self, X: FloatArray, reference: FloatArray) -> FloatArray:
        """Active learning Cohn: mean over the reference of rho_r cov(r, x)^2 rho_x / (rho_x var(x) + noise).

        Exact for a GP of these parameters when rho, the local factor of the variance, is 1 (Cohn 1996; Gramacy & Lee
        2009). In units of y squared.
        """
        Z = _scaled(X)
        seen = self.gp_.look_at(Z)
        rho, (seen_r, rho_r) = self._factor(Z), self._look_at_reference(reference)
        gain = rho_r @ self.gp_.covariance(seen_r, seen) ** 2 / len(rho_r)
        variance = rho * self.gp_.variance(seen) + self.gp_.parameters.noise
        return np.asarray(self._width**2 * gain * rho / np.maximum(variance, MIN_VARIANCE))

    def draw_path(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One draw of the latent function at all rows jointly, (n, p) -> (n,)."""
        Z = _scaled(X)
        seen = self.gp_.look_at(Z)
        root = np.sqrt(self._factor(Z))
        covariance = root[:, None] * self.gp_.covariance(seen, seen) * root
        values, vectors = np.linalg.eigh(covariance)
        path = self.gp_.mean(seen) + vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(len(Z)))
        return np.asarray(self._center + self._width * path)

    def imagine(self, X: FloatArray) -> Self:
        """A copy that takes runs at X for done; the variance it then has is exact, whatever the responses will be."""
        Z = _scaled(X)
        updated = copy.copy(self)
        updated.gp_ = self.gp_.with_runs(Z, self.gp_.predict(Z)[0])
        updated._reference = None
        return updated

    def score_unseen(self) -> FloatArray:
        """CRPS of the mean response at each run's input, by the runs at the others, in units of y, shape (n,)."""
        runs = self.gp_.runs
        mean, variance = self.gp_.leave_one_out()
        if self.scale_ is not None:
            variance = variance * self.scale_.at()
        scores = crps_normal(mean, np.sqrt(variance + self.gp_.parameters.noise / runs.count), runs.mean)
        scores = np.append(self._width * scores, np.nan)
        return np.asarray(scores[match_rows(runs.Z, self._Z)])  # -1, a run left out, finds the NaN

    def _take(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Replicates:
        """Runs on a scale of order one."""
        self._Z = _scaled(X)
        if len(y) > MAX_RUNS:
            some = rng.permutation(len(y))[:MAX_RUNS]
            X, y = X[some], y[some]
        self._center, width = float(y.mean()), float(y.std())
        self._width = width if width > 0 else 1.0
        return Replicates.collect(_scaled(X), (y - self._center) / self._width, np.ones(len(y)))

    def _settle(self, runs: Replicates) -> Self:
        """Condition on these runs the GP whose parameters were found best."""
        best = self.found_[0]
        parameters = exact_posterior(runs, CORRELATIONS[best.correlation]).parameters(best.minimum.point)
        self.gp_ = Kriging(parameters, runs, CORRELATIONS[best.correlation])
        self.scale_ = LocalScale.learn(self.gp_) if self.local and len(runs) > 1 else None
        self._reference = None
        return self

    def _look_at_reference(self, reference: FloatArray) -> tuple[Seen, FloatArray]:
        """What is known of the reference, kept while the same one is asked for: an optimiser asks hundreds of times."""
        if self._reference is None or self._reference[0] is not reference:
            Z = _scaled(reference)
            self._reference = (reference, self.gp_.look_at(Z), self._factor(Z))
        return self._reference[1:]

    def _factor(self, Z: FloatArray) -> FloatArray:
        return np.ones(len(Z)) if self.scale_ is None else self.scale_.at(Z)


def _scaled(X: ArrayLike) -> FloatArray:
    """Inputs of a unit cube brought to standard deviation 1, what the priors are meant for, (n, p) -> (n, p)."""
    return np.asarray((np.asarray(X, dtype=np.float64) - 0.5) * math.sqrt(12))


@dataclass(frozen=True)
class LocalScale:
    """Factor for the variance of a GP from place to place, learnt from its own leave-one-out errors.

    A GP with one variance for the whole space is too sure of itself where the response is lively and too modest where
    it is calm. The squares of its standardised leave-one-out errors, of mean 1 where it is right, say where:

        rho(x) = (1 + sum_i k(x, x_i) e_i^2 / s_i^2) / (1 + sum_i k(x, x_i)),   k = exp(-|w(x) - w(x_i)|^2 / (2 h^2)).

    The two ones are a run that errs as expected: far from all runs rho is 1. In the spirit of Le Gratiet & Cannamela
    (2015), who weigh the variance by the leave-one-out errors of the nearest run.

    Attributes:
        length: Length scales, shape (p,).
        W: Inputs of the runs divided by them, shape (u, p).
        ratio: Squared standardised leave-one-out errors, shape (u,).
    """

    length: FloatArray
    W: FloatArray
    ratio: FloatArray

    @classmethod
    def learn(cls, gp: Kriging) -> LocalScale:
        """From the leave-one-out errors of a GP.

        Example:
            >>> from genbayes.models.gp.likelihood import GPParameters
            >>> Z = np.linspace(-2, 2, 21)[:, None]
            >>> runs = Replicates.collect(Z, np.where(Z[:, 0] > 1, np.sin(9 * Z[:, 0]), 0.0), np.ones(21))
            >>> gp = Kriging(GPParameters(np.ones(1), 1e-4, 1.0, 0.0), runs)
            >>> calm, lively = LocalScale.learn(gp).at(np.array([[-1.0], [1.5]]))
            >>> bool(calm < 0.3 < 1 < lively)
            True
        """
        mean, latent = gp.leave_one_out()
        variance = latent + gp.parameters.noise / gp.runs.count
        return cls(gp.parameters.length, gp.runs.Z / gp.parameters.length, (gp.runs.mean - mean) ** 2 / variance)

    def at(self, Z: FloatArray | None = None) -> FloatArray:
        """The factor at inputs, (n, p) -> (n,), or at each run, its own error left out, (u,)."""
        W = self.W if Z is None else Z / self.length
        k = np.exp(squared_distances(W, self.W) / (-2 * BANDWIDTH**2))
        if Z is None:
            np.fill_diagonal(k, 0.0)
        return np.asarray((1 + k @ self.ratio) / (1 + k.sum(axis=1)))


@dataclass(frozen=True)
class Found:
    """The best parameters of one correlation.

    Attributes:
        correlation: Its name.
        minimum: Log length scales and log nugget, the negative log posterior and its curvature per run.
    """

    correlation: str
    minimum: Minimum


def search_all(runs: Replicates, correlations: Sequence[str], rng: np.random.Generator) -> list[Found]:
    """The best parameters of the two best correlations, best first: a wide search on few runs, a climb on all."""
    few = runs.take(rng.permutation(len(runs))[:N_FIRST])
    found = []
    for name in correlations:
        posterior = exact_posterior(few, CORRELATIONS[name])
        found.append(Found(name, search_widely([posterior], _starts(posterior), lambda minimum: minimum)))
    found.sort(key=lambda each: each.minimum.value)
    return search_again(runs, found[:2])


def _starts(posterior: Posterior) -> list[FloatArray]:
    """Short to long scales, each with the nugget that suits it and with hardly any.

    What scales that are wrong for some inputs cannot explain looks like noise, and a climb from much noise may never
    find that an input which seemed inert matters.
    """
    points: list[FloatArray] = []
    for length in START_LENGTHS:
        suited = starting_point(posterior, length * math.sqrt(posterior.p))
        certain = np.append(suited[:-1], math.log(HARDLY_ANY_NOISE))
        points += [suited] if np.array_equal(suited, certain) else [suited, certain]
    return points


def search_again(runs: Replicates, known: Sequence[Found]) -> list[Found]:
    """Climbs on these runs from what fewer runs have found, best first."""
    found = []
    for each in known:
        posterior = exact_posterior(runs, CORRELATIONS[each.correlation])
        found.append(Found(each.correlation, climb(posterior, each.minimum.point, each.minimum.curvature)))
    return sorted(found, key=lambda each: each.minimum.value)
