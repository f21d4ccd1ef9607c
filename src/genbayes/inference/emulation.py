"""An emulator of y given theta, learnt from trials that were chosen, not drawn from the prior.

The distribution of y given theta does not depend on how theta was chosen, so all trials serve to learn it: the same
chain with the two sides exchanged. Draws from the prior pushed through the emulator are then pairs as `fit` wants them.
Several emulators, each on a resample of the trials, take turns, so that what few trials leave open widens posteriors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.validation import check_count

if TYPE_CHECKING:
    from genbayes.campaign import Campaign
    from genbayes.inference.estimator import PosteriorEstimator

FEWEST_TRIALS = 50
N_EMULATORS = 3


@dataclass(frozen=True)
class Trials:
    """Finished trials of a campaign.

    Attributes:
        theta: Inputs, shape (n, k).
        y: Responses, shape (n, p).
        n_unfinished: Trials that failed or have no result yet.
    """

    theta: FloatArray
    y: FloatArray
    n_unfinished: int

    @classmethod
    def of(cls, campaign: Campaign, names: Sequence[str]) -> Trials:
        """Trials that are done, their inputs in the order of the prior's names, all responses."""
        missing = [name for name in names if name not in campaign.space.names]
        if missing or len(names) != len(campaign.space.names):
            raise InvalidInput(
                f"prior must be of the campaign's inputs ({', '.join(campaign.space.names)}), got one of "
                f"{', '.join(names)}; pass a dictionary with these names"
            )
        table = campaign.to_frame()
        done = table[table["state"] == "done"]
        if len(done) < FEWEST_TRIALS:
            raise InvalidInput(
                f"campaign must have at least {FEWEST_TRIALS} finished trials, got {len(done)}; run more"
            )
        theta = done[list(names)].to_numpy(dtype=np.float64)
        y = done[list(campaign.settings.responses)].to_numpy(dtype=np.float64)
        return cls(theta, y, len(table) - len(done))


@dataclass(frozen=True)
class Emulator:
    """Draws of y given theta, from estimators with the two sides exchanged.

    Attributes:
        members: Each learnt from a resample of the trials.
    """

    members: tuple[PosteriorEstimator, ...]

    @classmethod
    def fit(cls, make: Any, trials: Trials, rng: np.random.Generator, n_members: int = N_EMULATORS) -> Emulator:
        """Learn y given theta; `make(prior, seed)` gives an estimator that is not fitted."""
        from scipy.stats import norm

        from genbayes.inference.rounds import Region  # which needs the estimator that this is part of

        sd = np.where(trials.y.std(axis=0) > 0, trials.y.std(axis=0), 1.0)
        unbounded = [norm(m, s) for m, s in zip(trials.y.mean(axis=0), sd, strict=True)]
        everywhere, members = Region(np.full(len(sd), -np.inf), np.full(len(sd), np.inf)), []
        for child in rng.spawn(check_count(n_members, "n_members")):
            estimator = make(unbounded, int(child.integers(2**31)))
            members.append(estimator.fit_within(trials.y, trials.theta, everywhere))
        return cls(tuple(members))

    def sample(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One draw of y for each row of theta, (n, k) -> (n, p); members take turns."""
        parts = np.array_split(rng.permutation(len(theta)), len(self.members))
        y = np.empty((len(theta), self.members[0].prior_.k))
        for member, rows in zip(self.members, parts, strict=True):
            y[rows] = member.condition_on_summaries(theta[rows]).sample(1, rng)[:, 0]
        return y

    def notes(self, n_trials: int) -> tuple[str, ...]:
        """Where pairs from this emulator come from, and what its own checks on held-out trials say."""
        checks = self.members[0].report_
        return (
            f"Pairs are draws from an emulator of {n_trials:,} trials, and so are the held-out pairs of the checks.",
            f"The emulator itself, on {checks.n_pairs} trials that it has not seen: {checks.sentences[0]}",
        )
