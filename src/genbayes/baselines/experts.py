"""A GP on [x, regime] with a classifier of the regime: what ModularJumpGP has learnt, and how.

A mixture on y says how probable each regime is given a run's response, the committee of `features.classifier` how
probable given its input; both together name the regime that the run counts for. The GP then learns one level for each.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from genbayes.arrays import FloatArray, IntArray
from genbayes.baselines.switching import SwitchingNormal
from genbayes.errors import UnreadableFile
from genbayes.features.classifier import FEWEST_INPUTS, RegimeClassifier, fit_classifier
from genbayes.features.mixture import GaussianMixture
from genbayes.features.regimes import evidence_of, find_regimes
from genbayes.features.scoring import responsibilities
from genbayes.gp import FittedGP, Replicates, fit_gp, leave_out, match_rows
from genbayes.persistence import State
from genbayes.tabular import ScaledRuns
from genbayes.training.loop import Report

__all__ = ["FittedJumpGP", "fit_jump_gp"]

Moments = tuple[FloatArray, FloatArray, FloatArray, FloatArray]  # weight, mean, latent and noise variance, each (n, k)


@dataclass(frozen=True)
class FittedJumpGP:
    """A GP on [x, regime] and a classifier of the regime, or a GP on x alone where there is one regime.

    Attributes:
        outer: The GP of the response.
        classifier: Probabilities of k regimes at x; None for one.
        n_regimes: k.
        scale: Factor of the indicators of the regimes, which brings them to the spread of the inputs.
        accuracy: Share of runs whose regime the classifier names rightly when it has not seen them.
    """

    outer: FittedGP
    classifier: RegimeClassifier | None = None
    n_regimes: int = 1
    scale: float = 1.0
    accuracy: float = 1.0
    _known: FloatArray = field(default_factory=lambda: np.empty((0, 0)), repr=False, compare=False)
    _unseen: FloatArray = field(default_factory=lambda: np.empty((0, 0)), repr=False, compare=False)

    def predict(self, Z: FloatArray) -> Moments:
        """Probability of each regime, mean there, variance of the latent function and of a run's noise, (n, k) each."""
        moments = [self.outer.predict(self._in_regime(Z, k)) for k in range(self.n_regimes)]
        mean, latent, noise = (np.column_stack(part) for part in zip(*moments, strict=True))
        return self._weights(Z), mean, latent, noise

    def leave_out(self, Z: FloatArray) -> Moments:
        """As `predict`, but at an input that it was fitted to without the runs there."""
        moments = [leave_out(self.outer, self._in_regime(Z, k)) for k in range(self.n_regimes)]
        weight = self._weights(Z)
        if self.classifier is not None:
            row = match_rows(self._known, Z)
            weight = np.where(row[:, None] >= 0, self._unseen[row], weight)
        mean, latent, noise = (np.column_stack(part) for part in zip(*moments, strict=True))
        return weight, mean, latent, noise

    def _weights(self, Z: FloatArray) -> FloatArray:
        return np.ones((len(Z), 1)) if self.classifier is None else self.classifier.probabilities(Z)

    def _in_regime(self, Z: FloatArray, k: int) -> FloatArray:
        return augmented(Z, np.full(len(Z), k), self.n_regimes, self.scale)

    def to_state(self) -> State:
        """Everything learnt; `leave_out` knows the training inputs only until then."""
        values = {"n_regimes": self.n_regimes, "scale": self.scale, "accuracy": self.accuracy}
        state = State("FittedJumpGP", values, {f"outer_{name}": array for name, array in self.outer.arrays().items()})
        return state if self.classifier is None else state.with_part("classifier", self.classifier.to_state())

    @classmethod
    def from_state(cls, state: State, p: int) -> FittedJumpGP:
        """The GP of p inputs that a file describes; it predicts the same to the last bit."""
        k, scale, accuracy = (state.value(name) for name in ("n_regimes", "scale", "accuracy"))
        if not isinstance(k, int) or k < 1:
            raise UnreadableFile(f"n_regimes in the model file must be 1 or more, got {k!r}")
        state.array("outer_Z", (None, p + k - 1))
        outer = {name.removeprefix("outer_"): state.array(name) for name in state.arrays if name.startswith("outer_")}
        classifier = RegimeClassifier.from_state(state.nested("classifier"), p, k) if k > 1 else None
        return cls(FittedGP.from_arrays(outer), classifier, k, float(scale), float(accuracy))


def augmented(Z: FloatArray, regime: IntArray, k: int, scale: float) -> FloatArray:
    """[x, scaled indicators of the regimes but the first], (n, p) -> (n, p + k - 1).

    Example:
        >>> augmented(np.array([[0.5], [0.7]]), np.array([0, 1]), 2, 2.0)
        array([[0.5, 0. ],
               [0.7, 2. ]])
    """
    return np.column_stack([Z, scale * np.eye(k)[regime, 1:]])


def fit_jump_gp(
    runs: ScaledRuns, rng: np.random.Generator, *, n_starts: int = 3, report: Report | None = None
) -> FittedJumpGP:
    """Find the regimes, fit classifier and GP in turn, and keep whichever predicts left-out runs best.

    Args:
        runs: Training runs, scaled.
        rng: Draws the folds of the classifier and the rows on which searches begin.
        n_starts: Starting points of each GP's search.
        report: Called with (stage, stages, loss) as a search proceeds.

    Returns:
        The GP with regimes, or the plain one where the response has one regime or the regimes do not help.
    """
    rng_plain, rng_classifier, rng_outer = rng.spawn(3)
    grouped = Replicates.collect(runs.Z, runs.y, runs.weight)
    plain = FittedJumpGP(fit_gp(grouped, rng_plain, n_starts=n_starts, report=report))
    mixture = _mixture(runs) if len(grouped) >= FEWEST_INPUTS else None
    if mixture is None:
        return plain
    k, evidence = len(mixture), evidence_of(mixture, runs.y)
    label = responsibilities(evidence, mixture.share)
    classifier, unseen = fit_classifier(runs.Z, evidence, label, runs.weight, rng_classifier, report)
    regime = (np.log(np.maximum(unseen, np.finfo(np.float64).tiny)) + evidence).argmax(axis=1)
    if len(np.unique(regime)) < k:
        return plain
    scale = 1 / float(np.eye(k)[regime].std())
    grouped = Replicates.collect(augmented(runs.Z, regime, k, scale), runs.y, runs.weight)
    outer = fit_gp(grouped, rng_outer, n_starts=n_starts, report=report)
    right = unseen.argmax(axis=1) == label.argmax(axis=1)
    accuracy = float(np.average(right, weights=runs.weight))
    jump = FittedJumpGP(outer, classifier, k, scale, accuracy, runs.Z, unseen)
    return jump if _left_out_crps(jump, runs) < _left_out_crps(plain, runs) else plain


def _mixture(runs: ScaledRuns) -> GaussianMixture | None:
    """One Gaussian for each regime; two where the response shows none but BIC asks for two, None where it does not.

    More generous than `find_regimes` alone: here left-out runs decide in the end whether regimes help.
    """
    mixture = find_regimes(runs.y, runs.weight)
    if len(mixture) > 1:
        return mixture
    two = find_regimes(runs.y, runs.weight, 2)
    return two if two.bic(runs.y, runs.weight) < mixture.bic(runs.y, runs.weight) else None


def _left_out_crps(gp: FittedJumpGP, runs: ScaledRuns) -> float:
    """Mean CRPS of the runs, those at the same input left out."""
    weight, mean, latent, noise = gp.leave_out(runs.Z)
    score = SwitchingNormal(weight, mean, np.sqrt(latent + noise)).crps(runs.y)
    return float(np.average(score, weights=runs.weight))
