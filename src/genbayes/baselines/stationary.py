"""StationaryGP: the default surrogate of the field, fitted as a specialist would (paper section 5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.baselines.gaussian import FittedProcess, GaussianBaseline
from genbayes.gp import KERNELS, FittedGP, Replicates, fit_gp
from genbayes.seeding import RandomState
from genbayes.tabular import ScaledRuns
from genbayes.training.loop import Report
from genbayes.validation import check_choice, check_count

__all__ = ["StationaryGP"]

TITLES = {"matern52": "Matern-5/2", "squared-exponential": "squared exponential"}


class StationaryGP(GaussianBaseline):
    """Gaussian process with one length scale per input (ARD), constant mean and nugget.

    Length scales and nugget maximise the marginal likelihood from several starting points; replicates enter by their
    means and counts. Exact to 3,000 distinct inputs; beyond, parameters come from a Vecchia likelihood and predictions
    from inducing points and near neighbours together. Engine: our own BFGS on analytic gradients with one Cholesky
    factor a step (`genbayes.gp`), which needs no extra and is faster than the wrappers we measured
    (docs/baselines/stationary-gp.md).

    Args:
        kernel: "matern52"; or "squared-exponential", for responses that are smooth to any order, to 3,000 inputs.
        n_starts: Starting points of the search for length scales and nugget.
        categorical: Names or indices of inputs that are categories; they become one-hot columns.
        verbose: Whether to show a progress bar.
        random_state: Seed of the subsets that the search begins on and of the order in the approximation.

    Attributes:
        gp_: The fitted GP, on scaled inputs and responses.
        length_scales_: Length scale of each scaled input: large where the input hardly matters.
        n_features_in_, feature_names_in_: Columns seen in `fit`.

    Example:
        >>> X = np.linspace(0, 1, 30)[:, None]
        >>> model = StationaryGP(random_state=0).fit(X, np.sin(6 * X[:, 0]))
        >>> mean, sd = model.predict(np.array([[0.5]]), return_std=True)
        >>> bool(abs(mean[0] - np.sin(3.0)) < 0.01)
        True
    """

    process: ClassVar[type[FittedProcess]] = FittedGP
    gp_: FittedGP

    def __init__(
        self,
        *,
        kernel: str = "matern52",
        n_starts: int = 3,
        categorical: Sequence[str | int] | None = None,
        verbose: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.kernel = kernel
        self.n_starts = n_starts
        self.categorical = categorical
        self.verbose = verbose
        self.random_state = random_state

    @property
    def length_scales_(self) -> FloatArray:
        """Length scale of each scaled input, shape (p,)."""
        return self.gp_.parameters.length

    def _check_settings(self) -> None:
        check_choice(self.kernel, "kernel", KERNELS)
        check_count(self.n_starts, "n_starts")

    def _fit_gp(self, runs: ScaledRuns, rng: np.random.Generator, report: Report | None) -> FittedGP:
        groups = Replicates.collect(runs.Z, runs.y, runs.weight)
        return fit_gp(groups, rng, n_starts=self.n_starts, kernel=self.kernel, report=report)

    def _facts(self) -> dict[str, str]:
        parameters = self.gp_.parameters
        kind = "exact" if self.gp_.large is None else "Vecchia with inducing points"
        return {
            "kernel": f"{TITLES[self.gp_.kernel]}, one length scale per input",
            "computation": kind,
            "distinct inputs": str(len(self.gp_.runs)),
            "length scales": ", ".join(f"{length:.3g}" for length in parameters.length),
            "noise sd": f"{self.response_scaler_.scale * np.sqrt(parameters.noise):.4g}",
        }
