"""ModularJumpGP: regimes of the response, a classifier of them, one GP on inputs and regime (Flowers et al. 2026).

The mixture on y and the classifier are those of `BoundaryFeatures`; `experts` fits them and the GP in turn. The law of
a run is a mixture over the regimes it may lie in, so that beside a jump it has two peaks and not one between them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.baselines.base import Baseline, Of
from genbayes.baselines.experts import FittedJumpGP, fit_jump_gp
from genbayes.baselines.switching import SwitchingNormal
from genbayes.distribution import Normal
from genbayes.persistence import State
from genbayes.seeding import RandomState
from genbayes.tabular import ScaledRuns
from genbayes.training import show_progress
from genbayes.validation import check_count

__all__ = ["FittedJumpGP", "ModularJumpGP"]


class ModularJumpGP(Baseline):
    """Gaussian process that may jump: the regime that a run lies in is one more input.

    A mixture on y tells the regimes, a classifier learns them from x, and one GP of [x, regime] gives the level in
    each; a run at x is in regime k with the classifier's probability c_k(x). Where that does not predict left-out runs
    better than the stationary GP, by CRPS, the latter is kept. Engine: our own GP (`genbayes.gp`), exact to 3,000
    distinct inputs and approximate beyond.

    Args:
        n_starts: Starting points of each GP's search.
        categorical: Names or indices of inputs that are categories; they become one-hot columns.
        verbose: Whether to show a progress bar.
        random_state: Seed of the classifier and of the subsets that the searches begin on.

    Attributes:
        gp_: The fitted GP and classifier, on scaled inputs and responses.
        n_features_in_, feature_names_in_: Columns seen in `fit`.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-1, 1, (120, 1))
        >>> y = 5.0 * (X[:, 0] > 0) + np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(120)
        >>> model = ModularJumpGP(random_state=0).fit(X, y)
        >>> low, high = model.predict(np.array([[-0.05], [0.05]]))
        >>> bool(high - low > 4)
        True
    """

    gp_: FittedJumpGP

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

    def _learn(self, runs: ScaledRuns, rng: np.random.Generator) -> None:
        with show_progress("fitting ModularJumpGP", bool(self.verbose)) as report:
            self.gp_ = fit_jump_gp(runs, rng, n_starts=self.n_starts, report=report)

    def _law(self, Z: FloatArray, of: Of) -> Normal | SwitchingNormal:
        return self._in_units(*self.gp_.predict(Z), of)

    def _in_units(
        self, weight: FloatArray, mean: FloatArray, latent: FloatArray, noise: FloatArray, of: Of
    ) -> Normal | SwitchingNormal:
        """Laws from weights, means and variances of the regimes on the scaled response, each (n, k)."""
        scaler = self.response_scaler_
        loc, scale = scaler.inverse(mean), scaler.scale * np.sqrt(latent if of == "mean" else latent + noise)
        return Normal(loc[:, 0], scale[:, 0]) if loc.shape[1] == 1 else SwitchingNormal(weight, loc, scale)

    def _keep(self) -> State:
        return self.gp_.to_state()

    def _restore(self, state: State) -> None:
        self.gp_ = FittedJumpGP.from_state(state, self.input_scaler_.n_outputs)

    def _facts(self) -> dict[str, str]:
        if self.gp_.classifier is None:
            return {"regimes": "one: a stationary GP"}
        numbers = {2: "two", 3: "three", 4: "four", 5: "five"}
        return {
            "regimes": numbers[self.gp_.n_regimes],
            "classifier": ", ".join(self.gp_.classifier.names),
            "classifier, left-out accuracy": f"{self.gp_.accuracy:.1%}",
        }
