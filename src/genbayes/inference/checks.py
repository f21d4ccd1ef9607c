"""What an estimator says of its own posteriors: checks on pairs that its fit has not seen, and where it knows nothing.

`CheckedEstimator` is the part of `PosteriorEstimator` that joins the pieces: calibration checks (`calibration`),
conformal regions (`regions`), observations outside the simulations (`novelty`). Checks run when first asked for; a
file keeps the held-out pairs, so that they give the same answer after loading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.inference.calibration import CalibrationReport, check_calibration, nearest_reference
from genbayes.inference.novelty import Novelty
from genbayes.inference.prior import Prior
from genbayes.inference.regions import ConformalScores

if TYPE_CHECKING:
    from genbayes.inference.posterior import Posterior

N_DRAWS = 256  # per held-out pair, among which theta is ranked
MOST_CHECKED = 1_000  # held-out pairs that are ranked; regions use all
MOST_TRAINED = 2_000  # training pairs among which a reference point is looked for


@dataclass(frozen=True)
class HeldOut:
    """Pairs that no part of the fit has seen: what calibration checks and conformal regions are made of.

    Attributes:
        theta: Parameters, shape (c, k).
        summaries: Summaries of y, as the user's function or y itself gives them, shape (c, p).
        reference: Parameters of a training pair with similar summaries, shape (c, k).
    """

    theta: FloatArray
    summaries: FloatArray
    reference: FloatArray

    def __len__(self) -> int:
        return len(self.theta)

    @classmethod
    def beside(cls, theta: FloatArray, summaries: FloatArray, trained: tuple[FloatArray, FloatArray]) -> HeldOut:
        """Held-out pairs with reference points from the pairs trained on: parameters (n, k), summaries (n, p)."""
        theta_trained, y_trained = (values[:MOST_TRAINED] for values in trained)
        return cls(theta, summaries, nearest_reference(summaries, y_trained, theta_trained))


class CheckedEstimator:
    """The part of an estimator that checks itself.

    Attributes:
        held_out_: Pairs that the fit has not seen.
        novelty_: Where the simulations lie.
        dropped_: Simulations that were not used, by reason.
    """

    prior_: Prior
    held_out_: HeldOut
    novelty_: Novelty
    dropped_: Mapping[str, int]

    def condition_on_summaries(self, s: FloatArray, *, is_single: bool = False) -> Posterior:
        """The posteriors given summaries of y, shape (o, q)."""
        raise NotImplementedError

    @cached_property
    def report_(self) -> CalibrationReport:
        """Calibration on held-out pairs: ranks of each parameter, of the joint density, and expected coverage (TARP).

        Computed when first asked for; `print(estimator.report_)` says in words what was found.
        """
        held, rng = self.held_out_, np.random.default_rng(0)
        theta, s, reference = (part[:MOST_CHECKED] for part in (held.theta, held.summaries, held.reference))
        posterior = self.condition_on_summaries(s)
        draws = posterior.sample(N_DRAWS, rng)
        density = posterior.log_prob(theta[:, None])[:, 0], posterior.log_prob(draws)
        return check_calibration(
            theta,
            draws,
            reference,
            rng,
            names=self.prior_.names,
            log_prob=density,
            n_outside=int(self.novelty_.outside(s).sum()),
            dropped=self.dropped_,
        )

    @cached_property
    def conformal_scores_(self) -> ConformalScores:
        """Scores of the held-out pairs from which regions take their thresholds."""
        posterior = self.condition_on_summaries(self.held_out_.summaries)
        return ConformalScores.of(posterior, self.held_out_.theta, np.random.default_rng(1))

    def _forget_checks(self) -> None:
        """A new fit makes what was computed from an earlier one invalid."""
        for name in ("report_", "conformal_scores_"):
            self.__dict__.pop(name, None)

    def _warn_outside(self, s: FloatArray, names: Sequence[str] | None, strict: bool) -> Any:
        return self.novelty_.warn(s, names, strict=strict)
