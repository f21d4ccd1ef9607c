"""Where pairs come from when the user has none: a simulator, or the trials of a campaign.

`PairSources` is the part of `PosteriorEstimator` that makes pairs and hands them to `fit`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from genbayes.errors import InvalidInput
from genbayes.inference.emulation import Emulator, Trials
from genbayes.inference.prior import Prior, as_prior
from genbayes.inference.simulation import Runs, Simulator
from genbayes.seeding import RandomState, as_generator
from genbayes.validation import check_count

if TYPE_CHECKING:
    from genbayes.campaign import Campaign
    from genbayes.inference.rounds import Region

N_EMULATED = 10_000  # pairs from the emulator of a campaign's trials
ASSUMED = "The prior is uniform on the campaign's space (of the logarithm, for logarithmic inputs)."
SIMULATING = 7  # place of the child of the seed that simulations draw from; `fit` uses the first few


class PairSources(ABC):
    """The part of an estimator that makes pairs of parameters and responses."""

    prior: Any
    n_rounds: int
    verbose: bool
    random_state: RandomState
    dropped_: dict[str, int]
    notes_: tuple[str, ...]

    @abstractmethod
    def fit(self, theta: ArrayLike, y: Any) -> Self:
        """Learn the posterior from simulated pairs."""

    @abstractmethod
    def fit_within(self, theta: ArrayLike, y: Any, region: Region | None = None, prior: Prior | None = None) -> Self:
        """Learn the posterior under another prior than the estimator's own."""

    @abstractmethod
    def _fit_in_rounds(self, run: Any, n_simulations: int, y_observed: Any, rng: np.random.Generator) -> None:
        """Learn the posterior of one observation by simulating where it may be."""

    @abstractmethod
    def _make_conditional(self, prior: Any, seed: int) -> Any:
        """An estimator like this one, for the other side."""

    def fit_simulator(
        self,
        simulator: Simulator,
        n_simulations: int,
        *,
        batched: bool = False,
        executor: Executor | None = None,
        n_jobs: int | None = None,
        y_observed: Any = None,
    ) -> Self:
        """Draw parameters from the prior, run the simulator at each, and learn the posterior.

        Runs that raise or return NaN are dropped and counted in `report_`, with a warning beyond 5%. The same seed
        gives the same pairs wherever the runs run. With `n_rounds` above 1, later rounds simulate only where the
        posterior given `y_observed` may be, and the estimator is for that observation.

        Args:
            simulator: `simulator(theta, rng)` takes one row (k,) and returns (p,); with `batched` it takes (n, k) and
                returns (n, p). What it draws, it must draw from `rng`. It may change its theta and return the same
                array every time, for both are copied.
            n_simulations: Number of runs.
            batched: Whether the simulator takes many rows at once.
            executor: Where to run, any executor of `concurrent.futures`; None for joblib.
            n_jobs: Runs at a time by joblib, whose active backend is used; -1 for all cores.
            y_observed: The observation that rounds close in on; needed with `n_rounds` above 1 and only then.

        Returns:
            The fitted estimator.
        """
        if self.prior is None:
            raise InvalidInput("prior must be given to draw parameters from, got None; pass distributions or a Box")
        if (y_observed is None) != (self.n_rounds == 1):
            raise InvalidInput(
                f"y_observed must be given with n_rounds above 1 and only then, got n_rounds = {self.n_rounds} "
                f"with{'out' if y_observed is None else ''} it; rounds close in on one observation"
            )
        n_simulations = check_count(n_simulations, "n_simulations")
        rng = as_generator(self.random_state).spawn(SIMULATING + 1)[SIMULATING]
        runs = Runs(simulator, {"batched": batched, "executor": executor, "n_jobs": n_jobs, "verbose": self.verbose})
        if self.n_rounds == 1:
            self.fit(*runs(as_prior(self.prior).sample(n_simulations, rng), rng))
        else:
            self._fit_in_rounds(runs, n_simulations, y_observed, rng)
        runs.total.warn()
        self.dropped_ = runs.total.dropped
        return self

    def fit_campaign(self, campaign: Campaign, n_emulated: int = N_EMULATED) -> Self:
        """Learn the posterior of a campaign's inputs from its trials, which were chosen, not drawn from the prior.

        All finished trials teach an emulator of the responses given the inputs; draws from the prior are pushed
        through it. Responses keep their names. Draws outside the campaign's space, of which no trial tells, are left
        out and counted.

        Args:
            campaign: Whose trials to learn from; a prior must name its inputs. Without a prior it is uniform on the
                campaign's space (of the logarithm, for logarithmic inputs).
            n_emulated: Pairs to draw from the emulator.

        Returns:
            The fitted estimator.
        """
        import pandas as pd

        space = as_prior(campaign.space)
        prior = space if self.prior is None else as_prior(self.prior)
        trials = Trials.of(campaign, prior.names)
        rng = as_generator(self.random_state).spawn(SIMULATING + 1)[SIMULATING]
        emulator = Emulator.fit(self._make_conditional, trials, rng)
        theta = prior.sample(check_count(n_emulated, "n_emulated"), rng)
        place = [space.names.index(name) for name in prior.names]
        inside = ((theta >= space.lower[place]) & (theta <= space.upper[place])).all(axis=1)
        y = pd.DataFrame(emulator.sample(theta[inside], rng), columns=list(campaign.settings.responses))
        self.fit_within(theta[inside], y, prior=prior)
        assumed = () if self.prior is not None else (ASSUMED,)
        self.notes_ = (*assumed, *emulator.notes(len(trials.theta)))
        self.dropped_ = {
            "trials failed or have no result": trials.n_unfinished,
            "draws from the prior lie outside the campaign's space": int(np.sum(~inside)),
        }
        return self
