"""HeteroskedasticGP: a GP whose noise depends on the input (hetGP; Binois, Gramacy & Ludkovski 2018)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from genbayes.baselines.gaussian import FittedProcess, GaussianBaseline
from genbayes.gp import FittedHeteroskedasticGP, Replicates, fit_heteroskedastic_gp
from genbayes.seeding import RandomState
from genbayes.tabular import ScaledRuns
from genbayes.training.loop import Report
from genbayes.validation import check_count

__all__ = ["HeteroskedasticGP"]


class HeteroskedasticGP(GaussianBaseline):
    """Gaussian process for the mean and another for the logarithm of the noise, learnt by one joint likelihood.

    Replicates enter by sufficient statistics. Where the runs do not speak clearly against constant noise, it stays
    constant and the model is the stationary GP. Engine: our own (`genbayes.gp.heteroskedastic`), since the Python port
    hetgpy was slower and no more accurate on the motorcycle splits (docs/baselines/heteroskedastic-gp.md).

    Args:
        n_starts: Starting points of the stationary GP that the search begins from.
        categorical: Names or indices of inputs that are categories; they become one-hot columns.
        verbose: Whether to show a progress bar.
        random_state: Seed of the subsets that the search begins on.

    Attributes:
        gp_: The fitted GP, on scaled inputs and responses.
        n_features_in_, feature_names_in_: Columns seen in `fit`.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = np.repeat(np.linspace(0, 1, 40), 5)[:, None]
        >>> y = np.sin(6 * X[:, 0]) + X[:, 0] * rng.standard_normal(200)
        >>> model = HeteroskedasticGP(random_state=0).fit(X, y)
        >>> quiet, loud = model.predict(np.array([[0.1], [0.9]]), return_std=True)[1]
        >>> bool(loud > 3 * quiet)
        True
    """

    process: ClassVar[type[FittedProcess]] = FittedHeteroskedasticGP
    gp_: FittedHeteroskedasticGP

    def __init__(
        self,
        *,
        n_starts: int = 3,
        categorical: Sequence[str | int] | None = None,
        verbose: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.n_starts = n_starts
        self.categorical = categorical
        self.verbose = verbose
        self.random_state = random_state

    def _check_settings(self) -> None:
        check_count(self.n_starts, "n_starts")

    def _fit_gp(self, runs: ScaledRuns, rng: np.random.Generator, report: Report | None) -> FittedHeteroskedasticGP:
        groups = Replicates.collect(runs.Z, runs.y, runs.weight)
        return fit_heteroskedastic_gp(groups, rng, n_starts=self.n_starts, report=report)

    def _facts(self) -> dict[str, str]:
        parameters = self.gp_.latent.parameters
        return {
            "kernel": "Matern-5/2, one length scale per input",
            "noise": "the same everywhere" if self.gp_.is_homoskedastic else "a process of its own",
            "length scales": ", ".join(f"{length:.3g}" for length in parameters.length),
        }
