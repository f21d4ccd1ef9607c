"""What the GP baselines share: Gaussian laws from a fitted GP's mean and variances, and its arrays in the file."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Protocol, Self

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.baselines.base import Baseline, Of
from genbayes.distribution import Normal
from genbayes.persistence import State
from genbayes.tabular import ScaledRuns
from genbayes.training import show_progress
from genbayes.training.loop import Report

__all__ = ["FittedProcess", "GaussianBaseline"]


class FittedProcess(Protocol):
    """A fitted GP on scaled inputs: all that a baseline needs of it."""

    def predict(self, Z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean, variance of the latent function, variance of the noise of one run, (n, p) -> (n,) each."""

    def arrays(self) -> dict[str, FloatArray]:
        """Everything learnt, by name."""

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray]) -> Self:
        """The GP whose arrays these are."""


class GaussianBaseline(Baseline):
    """A GP behind the interface of our surrogates: N(mean, latent variance + noise variance) for a new run.

    Attributes:
        gp_: The fitted GP, on scaled inputs and responses.
    """

    process: ClassVar[type[FittedProcess]]  # class of gp_, for reading it back
    verbose: bool
    gp_: FittedProcess

    @abstractmethod
    def _fit_gp(self, runs: ScaledRuns, rng: np.random.Generator, report: Report | None) -> FittedProcess:
        """The GP fitted to scaled runs."""

    def _learn(self, runs: ScaledRuns, rng: np.random.Generator) -> None:
        with show_progress(f"fitting {type(self).__name__}", bool(self.verbose)) as report:
            self.gp_ = self._fit_gp(runs, rng, report)

    def _law(self, Z: FloatArray, of: Of) -> Normal:
        mean, latent, noise = self.gp_.predict(Z)
        return self._normal(mean, latent if of == "mean" else latent + noise)

    def _keep(self) -> State:
        return State(self.process.__name__, {}, self.gp_.arrays())

    def _restore(self, state: State) -> None:
        self.gp_ = self.process.from_arrays({name: state.array(name) for name in state.arrays})
