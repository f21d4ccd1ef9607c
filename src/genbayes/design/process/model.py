"""DesignGP: the Gaussian process that runs are chosen by where the response is smooth.

Squared exponential or Matern-5/2, whichever the runs make more probable; its variance follows its own leave-one-out
errors from place to place. Parameters are estimated anew when the number of runs has grown by a tenth, from scratch
when by a fifth; in between, a new run costs one Cholesky factor.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.design.model import DesignModel
from genbayes.design.process.localscale import LocalScale
from genbayes.design.process.search import Found, parameters_of, search_again, search_all
from genbayes.distribution import Normal
from genbayes.gp.correlation import CORRELATIONS
from genbayes.gp.exact import Kriging, Seen
from genbayes.gp.leaving import match_rows
from genbayes.gp.replicates import Replicates
from genbayes.metrics import crps_normal
from genbayes.models.protocols import Of

__all__ = ["DesignGP"]

SPREAD = float(np.sqrt(12))  # brings a uniform input on (0, 1) to standard deviation 1, what the priors are meant for
GROWTH = 1.1  # parameters are estimated anew when runs have grown by this factor
RARE = 1.2  # and searched for from scratch when by this one: a climb cannot leave a maximum that more runs outgrow
MOST_RUNS = 2_000  # beyond, a random choice of them: a Cholesky factor of more would take seconds
SURE = 1e-12  # least variance in units of the response's, so that a score never divides by zero


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
        if len(y) >= RARE * self._n_searched:
            return self.fit(X, y, rng)
        runs = self._take(X, y, rng)
        if len(y) >= GROWTH * self._n_estimated:
            self.found_ = search_again(runs, self.found_)
            self._n_estimated = len(y)
        return self._settle(runs)

    def predict_distribution(self, X: Any, of: Of = "run") -> Normal:
        """Normal laws by kriging, N(m(x), rho(x) var(x) + noise); of the mean without the noise."""
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
        return np.asarray(self._width**2 * gain * rho / np.maximum(variance, SURE))

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
            variance = variance * self.scale_.without_own()
        scores = crps_normal(mean, np.sqrt(variance + self.gp_.parameters.noise / runs.count), runs.mean)
        scores = np.append(self._width * scores, np.nan)
        return np.asarray(scores[match_rows(runs.Z, self._Z)])  # -1, a run left out, finds the NaN

    def _take(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Replicates:
        """Runs on a scale of order one."""
        self._Z = _scaled(X)
        if len(y) > MOST_RUNS:
            some = rng.permutation(len(y))[:MOST_RUNS]
            X, y = X[some], y[some]
        self._center, width = float(y.mean()), float(y.std())
        self._width = width if width > 0 else 1.0
        return Replicates.collect(_scaled(X), (y - self._center) / self._width, np.ones(len(y)))

    def _settle(self, runs: Replicates) -> Self:
        best = self.found_[0]
        self.gp_ = Kriging(parameters_of(runs, best), runs, CORRELATIONS[best.correlation])
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


def _scaled(X: Any) -> FloatArray:
    """Inputs of a unit cube on a scale of order one, (n, p) -> (n, p)."""
    return np.asarray((np.asarray(X, dtype=np.float64) - 0.5) * SPREAD)
