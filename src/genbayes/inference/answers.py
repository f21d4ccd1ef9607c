"""What people do with a posterior once they have it: regions, pictures, predictions, other libraries.

`PosteriorAnswers` is the part of `Posterior` that needs no more than its draws, densities and margins.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import BoolArray, FloatArray
from genbayes.errors import InvalidInput, MissingExtra
from genbayes.inference.importance import WeightedDraws, evaluate, weigh
from genbayes.inference.named import in_order
from genbayes.inference.prior import Prior
from genbayes.inference.regions import MarginRegion, Region, density_limit, margin_limits, margin_number
from genbayes.inference.simulation import Simulator, run_simulator
from genbayes.seeding import RandomState, as_generator
from genbayes.validation import check_count, check_level

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from genbayes.inference.checks import CheckedEstimator

N_PLOTTED = 10_000
N_WEIGHTED = 10_000
N_REPLICATES = 2_000
FEWEST_REPLICATES = 30  # effective simulations without which their quantiles mean little


@dataclass(frozen=True)
class Replicates:
    """Responses under a posterior, and how many independent ones they are worth.

    Attributes:
        y: Responses, shape (n, p).
        effective: Effective number of simulations behind them.
    """

    y: FloatArray
    effective: float


class PosteriorAnswers(ABC):
    """Questions that a posterior answers from its draws, densities and margins."""

    estimator: CheckedEstimator
    prior: Prior
    names: tuple[str, ...]
    is_single: bool
    outside: BoolArray  # which observations lie outside what was simulated, (o,)

    @abstractmethod
    def sample(self, n: int, random_state: RandomState = None) -> FloatArray:
        """Independent draws, (n, k); for many observations (o, n, k)."""

    @abstractmethod
    def log_prob(self, theta: ArrayLike) -> FloatArray:
        """Log density at points."""

    @abstractmethod
    def cdf(self, theta: ArrayLike) -> FloatArray:
        """Levels of points in the margins."""

    @abstractmethod
    def ppf(self, tau: ArrayLike) -> FloatArray:
        """Quantiles of the margins."""

    def region(self, level: float = 0.9, margin: str | int | None = None) -> Region | MarginRegion:
        """A conformal credible region: it holds theta as often as it says, on average over the prior predictive.

        Thresholds come from pairs that the fit has not seen, so the promise holds for finite samples and whatever the
        network got wrong; not for each y separately.

        Args:
            level: Nominal coverage, 0.9 for 90%.
            margin: Name or number of a parameter, for an interval of it; None for all parameters jointly.

        Returns:
            A region with `contains(theta)`; that of a margin also has its ends, `lower` and `upper`.
        """
        level = check_level(level)
        if margin is None:
            return Region(self, level, density_limit(self.estimator.density_scores_, level))
        j = margin_number(margin, self.names)
        return MarginRegion(self, self.names[j], level, margin_limits(self.estimator.margin_levels_[:, j], level))

    def plot(self, truth: ArrayLike | None = None, n: int = N_PLOTTED, random_state: RandomState = 0) -> Figure:
        """Corner plot: margins on the diagonal, regions of 50% and 90% of pairs of parameters below it.

        Args:
            truth: A point to mark, shape (k,), or a dictionary or a frame of one row by name; None for none.
            n: Number of draws.
            random_state: Seed of the draws.

        Returns:
            A new Matplotlib figure.
        """
        from genbayes.plotting import plot_corner

        draws = self._draws_of_one(n, random_state, "plot")
        at = None if truth is None else np.asarray(in_order(truth, self.names, "truth", stem="theta"))
        at = at[0] if at is not None and at.shape[:-1] == (1,) else at
        return plot_corner(draws, self.names, truth=at, support=(self.prior.lower, self.prior.upper))

    def predictive(
        self,
        simulator: Simulator,
        n: int = 1000,
        *,
        batched: bool = False,
        executor: Executor | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> FloatArray | list[FloatArray]:
        """Responses simulated with draws from the posterior, (n, p): do they look like what was observed?

        Args:
            simulator: As for `PosteriorEstimator.fit_simulator`.
            n: Number of draws; runs that fail are dropped, so fewer rows may come back.
            batched: Whether the simulator takes many rows at once.
            executor: Where to run; None for joblib.
            n_jobs: Runs at a time by joblib.
            random_state: Seed of draws and runs.
        """
        rng = as_generator(random_state)
        theta = self._draws_of_one(n, rng, "predictive")
        found = run_simulator(simulator, theta, rng, batched=batched, executor=executor, n_jobs=n_jobs)
        found.tally.warn()
        return found.y

    def replicates(self) -> Replicates | None:
        """Simulations of the fit that stand for the posterior predictive, or None where too few of them do.

        Pairs (theta_i, y_i) from the prior, drawn again with weights q(theta_i | y) / prior(theta_i): no simulator is
        needed, but the posterior must not be too narrow for the pairs at hand.
        """
        theta, y = self.estimator.simulated_
        if not self.is_single:
            raise InvalidInput("replicates must be of one observation, got several; condition on one row of y")
        log_weight = self.log_prob(theta) - self.prior.log_prob(theta)
        weight = np.exp(log_weight - log_weight.max())
        drawn = WeightedDraws(theta, weight / weight.sum())
        if drawn.effective_size < FEWEST_REPLICATES:
            return None
        rows = np.random.default_rng(0).choice(len(theta), size=N_REPLICATES, p=drawn.weight)
        return Replicates(y[rows], drawn.effective_size)

    def reweight(
        self, log_likelihood: Callable[[FloatArray], Any], n: int = N_WEIGHTED, random_state: RandomState = None
    ) -> WeightedDraws:
        """Draws with importance weights that make them draws of the exact posterior under a likelihood.

        w ~ prior(theta) exp(log_likelihood(theta)) / q(theta | y), q the learnt posterior.

        Args:
            log_likelihood: log p(y | theta) of the observation up to a constant, (n, k) -> (n,).
            n: Number of draws.
            random_state: Seed of the draws.

        Returns:
            Weighted draws with `mean()`, `cov()`, `sample(n)` and `effective_size`.
        """
        theta = self._draws_of_one(n, random_state, "reweight")
        log_target = self.prior.log_prob(theta) + evaluate(log_likelihood, theta)
        return weigh(theta, log_target, self.log_prob(theta))

    def to_arviz(self, n: int = 4000, n_chains: int = 4, random_state: RandomState = 0) -> Any:
        """Draws as an ArviZ `InferenceData`, one variable a parameter; needs the extra `arviz`.

        Draws are independent; they are dealt out to chains because ArviZ expects several.

        Args:
            n: Number of draws in all, a multiple of the chains.
            n_chains: Into how many chains to deal them.
            random_state: Seed of the draws.
        """
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # of ArviZ on its own next version
                import arviz
        except ImportError as error:
            raise MissingExtra("to_arviz needs ArviZ, which is not installed; pip install 'genbayes[arviz]'") from error
        per_chain = check_count(n, "n", 2 * check_count(n_chains, "n_chains")) // n_chains
        draws = self._draws_of_one(per_chain * n_chains, random_state, "to_arviz")
        chains = draws.reshape(n_chains, per_chain, -1)
        density = self.log_prob(draws).reshape(n_chains, per_chain)
        parameters = {name: chains[..., j] for j, name in enumerate(self.names)}
        return arviz.from_dict(posterior=parameters, sample_stats={"lp": density})

    def _draws_of_one(self, n: int, random_state: RandomState, what: str) -> FloatArray:
        if not self.is_single:
            raise InvalidInput(f"{what} must be of one observation, got several; condition on one row of y")
        return self.sample(check_count(n, "n", 2), random_state)
