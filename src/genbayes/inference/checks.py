"""What an estimator says of its own posteriors: checks on pairs that its fit has not seen, and where it knows nothing.

`CheckedEstimator` is the part of `PosteriorEstimator` that joins the pieces: calibration checks (`calibration`),
conformal regions (`regions`), observations outside the simulations (`novelty`). Checks run when first asked for; a
file keeps the held-out pairs, so that they give the same answer after loading.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import NotFittedError

from genbayes.arrays import BoolArray, FloatArray
from genbayes.errors import UnreadableFile
from genbayes.inference.calibration import CalibrationReport, check_calibration, nearest_reference
from genbayes.inference.named import in_order
from genbayes.inference.novelty import ROW, Novelty
from genbayes.inference.prior import Prior
from genbayes.inference.regions import N_DRAWS, density_scores, margin_levels
from genbayes.persistence import FOREIGN, State

if TYPE_CHECKING:
    from genbayes.inference.posterior import Posterior

MOST_CHECKED = 1_000  # held-out pairs of the report and of intervals; joint regions use all
MOST_KEPT = 5_000  # training pairs that a file keeps to look at predictions by
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


class CheckedEstimator(ABC):
    """The part of an estimator that checks itself.

    Attributes:
        held_out_: Pairs that the fit has not seen.
        simulated_: Some of all pairs, parameters and summaries, to look at predictions by.
        novelty_: Where the simulations lie.
        response_names_: What the summaries are called.
        observation_names_: What the values of an observation are called: those of the summaries if it is its own
            summary, else the names that the user gave, if any.
        dropped_: Simulations that were not used, by reason.
        notes_: Sentences on where the pairs come from.
    """

    prior_: Prior
    held_out_: HeldOut
    simulated_: tuple[FloatArray, FloatArray]
    novelty_: Novelty
    response_names_: tuple[str, ...]
    observation_names_: tuple[str, ...]
    dropped_: dict[str, int]
    notes_: tuple[str, ...]

    @abstractmethod
    def condition_on_summaries(self, s: FloatArray, *, is_single: bool = False) -> Posterior:
        """The posteriors given summaries of y, shape (o, q)."""

    @cached_property
    def report_(self) -> CalibrationReport:
        """Calibration on held-out pairs: ranks of each parameter, of the joint density, and expected coverage (TARP).

        Computed when first asked for; `print(estimator.report_)` says in words what was found.
        """
        draws, of_theta, of_draws = self._ranked
        n = min(MOST_CHECKED, len(draws))
        return check_calibration(
            self.held_out_.theta[:n],
            draws[:n],
            self.held_out_.reference[:n],
            np.random.default_rng(0),
            names=self.prior_.names,
            log_prob=(of_theta[:n], of_draws[:n]),
            n_outside=int(self.novelty_.outside(self.held_out_.summaries[:n]).sum()),
            dropped=self.dropped_,
        )

    @cached_property
    def density_scores_(self) -> FloatArray:
        """Sorted scores of the held-out pairs from which joint regions take their thresholds, shape (c,)."""
        _, of_theta, of_draws = self._ranked
        return np.sort(density_scores(of_theta[:, None], of_draws)[:, 0])

    @cached_property
    def margin_levels_(self) -> FloatArray:
        """Sorted levels of held-out parameters in their margins, from which intervals take theirs, shape (c, k)."""
        self._require_fit()
        theta, s = self.held_out_.theta[:MOST_CHECKED], self.held_out_.summaries[:MOST_CHECKED]
        return margin_levels(self.condition_on_summaries(s), theta)

    @cached_property
    def _ranked(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Draws given y of each held-out pair, (c, L, k), log densities of its theta, (c,), and of draws, (c, L)."""
        self._require_fit()
        posterior = self.condition_on_summaries(self.held_out_.summaries)
        draws = posterior.sample(N_DRAWS, np.random.default_rng(1))
        return draws, posterior.log_prob(self.held_out_.theta[:, None])[:, 0], posterior.log_prob(draws)

    def _keep_for_checks(
        self,
        held_out: tuple[FloatArray, FloatArray],
        trained: tuple[FloatArray, FloatArray],
        rng: np.random.Generator,
        names: Sequence[str] = (),
    ) -> None:
        """Keep what checks need, from parameters (., k) and summaries (., q) of pairs held out and trained on.

        Args:
            held_out: Pairs that nothing was learnt from.
            trained: Pairs that were.
            rng: Divides the simulations in two.
            names: What the summaries are called, as far as the user said.
        """
        for name in ("report_", "density_scores_", "margin_levels_", "_ranked"):  # of an earlier fit
            self.__dict__.pop(name, None)
        q = held_out[1].shape[1]
        self.response_names_ = tuple(names) if len(names) == q else tuple(f"y{j + 1}" for j in range(q))
        self.held_out_ = HeldOut.beside(*held_out, trained)
        self.simulated_ = trained[0][:MOST_KEPT], trained[1][:MOST_KEPT]
        self.novelty_ = Novelty.fit(np.vstack([trained[1], held_out[1]]), rng)
        self.dropped_, self.notes_ = {}, ()

    def _in_order(self, y: Any) -> Any:
        """Observations whose values have names, a frame, a series or a dictionary, in the order of the fit.

        Names of summaries say nothing of the order of what is summarised.
        """
        return in_order(y, self.observation_names_, "y") if self.observation_names_ else y

    def _require_fit(self) -> None:
        if not hasattr(self, "held_out_"):
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet; call fit, fit_simulator or fit_campaign"
            )

    def warn_outside(self, s: FloatArray, *, strict: bool = False, word: str = ROW) -> BoolArray:
        """Which observations lie outside what was simulated, (o, q) -> (o,), with a warning or refused."""
        return self.novelty_.warn(s, self.response_names_, strict=strict, word=word)

    def _checks_to_state(self) -> State:
        """What `_keep_for_checks` kept."""
        values = {"response_names": list(self.response_names_), "dropped": dict(self.dropped_), "notes": [*self.notes_]}
        arrays = {f"held_{name}": array for name, array in vars(self.held_out_).items()}
        arrays |= {"simulated_theta": self.simulated_[0], "simulated_summaries": self.simulated_[1]}
        return State("Checks", values, arrays).with_part("novelty", self.novelty_.to_state())

    def _checks_from_state(self, state: State) -> None:
        k = self.prior_.k
        theta = state.array("held_theta", (None, k))
        s = state.array("held_summaries", (len(theta), None))
        self.held_out_ = HeldOut(theta, s, state.array("held_reference", theta.shape))
        kept = state.array("simulated_theta", (None, k))
        self.simulated_ = kept, state.array("simulated_summaries", (len(kept), s.shape[1]))
        self.novelty_ = Novelty.from_state(state.nested("novelty"))
        self.response_names_ = state.typed("response_names", tuple[str, ...])
        if {len(self.response_names_), len(self.novelty_.centre)} != {s.shape[1]} or not len(theta):
            raise UnreadableFile(f"the checks in the model file must be of the same summaries, got others; {FOREIGN}")
        self.dropped_ = state.typed("dropped", dict[str, int])
        self.notes_ = state.typed("notes", tuple[str, ...])
