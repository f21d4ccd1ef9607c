"""ModularJumpGP: regimes of the response, a classifier of them, one GP on inputs and regime (Flowers et al. 2026).

Three modules, each fitted once: a mixture of two Gaussians on y by EM says how likely each run belongs to the upper
regime; a GP regression of that on x is the classifier c(x); a GP for y sees [x, c(x)] and may jump where c does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.baselines.gaussian import FittedProcess, GaussianBaseline
from genbayes.features import measure_bimodality
from genbayes.gp import FittedGP, Replicates, fit_gp
from genbayes.metrics import crps_normal
from genbayes.seeding import RandomState
from genbayes.tabular import ScaledRuns
from genbayes.training.loop import Report
from genbayes.validation import check_count

__all__ = ["FittedJumpGP", "ModularJumpGP"]


@dataclass(frozen=True)
class FittedJumpGP:
    """A GP on [x, c(x)], or on x alone where the regimes do not help.

    Attributes:
        outer: The GP of the response.
        classifier: The GP of the regime; None where there is none.
        scale: Factor of c(x), which brings it to the spread of the inputs.
        accuracy: Share of runs whose regime the classifier names rightly when they are left out.
    """

    outer: FittedGP
    classifier: FittedGP | None = None
    scale: float = 1.0
    accuracy: float = 1.0

    def augmented(self, Z: FloatArray) -> FloatArray:
        """[x, c(x)] on the scale of the outer GP, (n, p) -> (n, p + 1)."""
        if self.classifier is None:
            return Z
        return np.column_stack([Z, self.scale * _probability(self.classifier.predict(Z)[0])])

    def predict(self, Z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean, variance of the latent function, variance of the noise of one run, (n, p) -> (n,) each."""
        return self.outer.predict(self.augmented(Z))

    def arrays(self) -> dict[str, FloatArray]:
        """Everything learnt, by name."""
        kept = {f"outer_{name}": array for name, array in self.outer.arrays().items()}
        if self.classifier is not None:
            kept |= {f"classifier_{name}": array for name, array in self.classifier.arrays().items()}
        return kept | {"scalars": np.array([self.scale, self.accuracy])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, FloatArray]) -> FittedJumpGP:
        """The GP whose arrays these are; it predicts the same to the last bit."""
        scale, accuracy = (float(value) for value in arrays["scalars"])
        parts = {}
        for part in ("outer", "classifier"):
            own = {name.removeprefix(f"{part}_"): a for name, a in arrays.items() if name.startswith(f"{part}_")}
            parts[part] = FittedGP.from_arrays(own) if own else None
        outer = parts["outer"]
        assert outer is not None
        return cls(outer, parts["classifier"], scale, accuracy)


class ModularJumpGP(GaussianBaseline):
    """Gaussian process that may jump: the probability of the upper regime is one more input.

    The classifier is a GP regression of the EM responsibilities, because its leave-one-out values are in closed form:
    training rows get the regime that the other rows tell, as new rows will, and nothing is fitted twice. Where the
    augmented GP does not predict left-out runs better than the plain one, by CRPS, the plain one is kept. Engine: our
    own GP (`genbayes.gp`), exact to 3,000 distinct inputs and approximate beyond.

    Args:
        n_starts: Starting points of each GP's search.
        categorical: Names or indices of inputs that are categories; they become one-hot columns.
        verbose: Whether to show a progress bar.
        random_state: Seed of the subsets that the searches begin on.

    Attributes:
        gp_: The fitted GPs, on scaled inputs and responses.
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

    process: ClassVar[type[FittedProcess]] = FittedJumpGP
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

    def _fit_gp(self, runs: ScaledRuns, rng: np.random.Generator, report: Report | None) -> FittedJumpGP:
        plain = FittedJumpGP(fit_gp(_groups(runs.Z, runs.y, runs), rng, n_starts=self.n_starts, report=report))
        regime = responsibility(runs.y, runs.weight)
        if np.ptp(regime) == 0:
            return plain
        classifier = fit_gp(_groups(runs.Z, regime, runs), rng, n_starts=self.n_starts, report=report)
        left_out = _probability(_by_row(classifier, runs.Z))
        spread = left_out.std()
        if spread == 0:
            return plain
        scale = 1 / float(spread)
        Z = np.column_stack([runs.Z, scale * left_out])
        outer = fit_gp(_groups(Z, runs.y, runs), rng, n_starts=self.n_starts, report=report)
        right = (left_out > 0.5) == (regime > 0.5)
        jump = FittedJumpGP(outer, classifier, scale, float(np.average(right, weights=runs.weight)))
        return jump if _left_out_crps(jump.outer) < _left_out_crps(plain.outer) else plain

    def _facts(self) -> dict[str, str]:
        if self.gp_.classifier is None:
            return {"regimes": "one: a stationary GP"}
        return {"regimes": "two", "classifier, left-out accuracy": f"{self.gp_.accuracy:.1%}"}


def responsibility(y: FloatArray, weight: FloatArray) -> FloatArray:
    """Probability that each run belongs to the upper of two Gaussians fitted to y by EM, (n,) -> (n,).

    Example:
        >>> responsibility(np.r_[np.linspace(-1, 1, 9), np.linspace(9, 11, 9)], np.ones(18))[[0, -1]].round(3)
        array([0., 1.])
    """
    mixture = measure_bimodality(y, weight).mixture
    log_density = np.log(mixture.share) - np.log(mixture.sd) - ((y[:, None] - mixture.mean) / mixture.sd) ** 2 / 2
    low, high = np.argsort(mixture.mean)
    return np.asarray(1 / (1 + np.exp(np.clip(log_density[:, low] - log_density[:, high], -700, 700))))


def _groups(Z: FloatArray, y: FloatArray, runs: ScaledRuns) -> Replicates:
    return Replicates.collect(Z, y, runs.weight)


def _by_row(gp: FittedGP, Z: FloatArray) -> FloatArray:
    """Leave-one-out means of a GP, one for each row of Z, whose distinct rows it was fitted to, sorted."""
    _, group = np.unique(Z, axis=0, return_inverse=True)
    return gp.leave_one_out()[0][group.reshape(-1)]


def _probability(mean: FloatArray) -> FloatArray:
    """Values of the regression within [0, 1]."""
    return np.clip(mean, 0.0, 1.0)


def _left_out_crps(gp: FittedGP) -> float:
    """Mean CRPS of each input's mean response when its runs are left out."""
    mean, latent, noise = gp.leave_one_out()
    score = crps_normal(mean, np.sqrt(latent + noise / gp.runs.count), gp.runs.mean)
    return float(np.average(score, weights=gp.runs.count))
