"""RegimeGP: one GP for each regime of the response, mixed by a classifier of the regime (mixture of GP experts).

Where a response jumps between regimes, runs on the two sides of a boundary tell nothing about each other. So each
regime gets a GP of its own, and the law at x is F(y | x) = sum_k c_k(x) N(y; m_k(x), s_k(x)^2): two peaks where it is
uncertain on which side x lies. Tresp (2000) mixes GPs in this way; regimes and classifier are those of paper section
4.2. What a regime's GP says of a run is far better evidence of its regime than the run's response alone, so that
labels, classifier and GPs are learnt a second time from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from genbayes.arrays import BoolArray, FloatArray
from genbayes.baselines.base import Baseline, Of
from genbayes.baselines.switching import SwitchingNormal
from genbayes.distribution import Normal
from genbayes.errors import UnreadableFile
from genbayes.features.classifier import FEWEST_INPUTS, RegimeClassifier, fit_classifier
from genbayes.features.regimes import evidence_of, find_regimes
from genbayes.features.scoring import responsibilities
from genbayes.gp import FittedGP, Replicates, fit_gp, leave_out
from genbayes.persistence import State
from genbayes.seeding import RandomState
from genbayes.tabular import ScaledRuns
from genbayes.training import show_progress
from genbayes.training.loop import Report
from genbayes.validation import check_count

__all__ = ["RegimeGP"]

N_ROUNDS = 2  # of labels, classifier and GPs; a third changed nothing on generated jumps
FEWEST_ROWS = 8  # of a regime: with fewer it has no GP of its own
STRONGEST = 30.0  # log odds that one run may give its regime: an outlier must not overrule its neighbourhood for ever


@dataclass(frozen=True)
class _Experts:
    """What is learnt: the GP of each regime, k of them, and the classifier; None for one regime."""

    gps: tuple[FittedGP, ...]
    classifier: RegimeClassifier | None
    accuracy: float


class RegimeGP(Baseline):
    """Gaussian processes for responses that jump: one per regime, mixed by the probability of each regime.

    Regimes are the peaks of the response's marginal law (`genbayes.features.regimes`); the classifier is that of
    `BoundaryFeatures`. With one regime it is the stationary GP. Engine: our own GP (`genbayes.gp`).

    Args:
        n_regimes: Number of regimes; None to find it in the responses.
        n_starts: Starting points of each GP's search.
        categorical: Names or indices of inputs that are categories; they become one-hot columns.
        verbose: Whether to show a progress bar.
        random_state: Seed of classifier and searches.

    Attributes:
        n_regimes_: Number of regimes.
        accuracy_: Share of runs whose regime the classifier names rightly without having seen them.
        n_features_in_, feature_names_in_: Columns seen in `fit`.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(-1, 1, (120, 1))
        >>> y = 9.0 * (X[:, 0] > 0) + np.sin(3 * X[:, 0]) + 0.1 * rng.standard_normal(120)
        >>> model = RegimeGP(random_state=0).fit(X, y)
        >>> low, high = model.predict(np.array([[-0.1], [0.1]]))
        >>> bool(high - low > 8)
        True
    """

    experts_: _Experts

    def __init__(
        self,
        *,
        n_regimes: int | None = None,
        n_starts: int = 3,
        categorical: Sequence[str | int] | None = None,
        verbose: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.n_regimes = n_regimes
        self.n_starts = n_starts
        self.categorical = categorical
        self.verbose = verbose
        self.random_state = random_state

    @property
    def n_regimes_(self) -> int:
        """Number of regimes."""
        return len(self.experts_.gps)

    @property
    def accuracy_(self) -> float:
        """Share of runs whose regime the classifier names rightly without having seen them."""
        return self.experts_.accuracy

    def _check_settings(self) -> None:
        check_count(self.n_starts, "n_starts")
        if self.n_regimes is not None:
            check_count(self.n_regimes, "n_regimes", at_least=2)

    def _learn(self, runs: ScaledRuns, rng: np.random.Generator) -> None:
        with show_progress(f"fitting {type(self).__name__}", bool(self.verbose)) as report:
            self.experts_ = self._fit_experts(runs, rng, report)

    def _fit_experts(self, runs: ScaledRuns, rng: np.random.Generator, report: Report | None) -> _Experts:
        mixture = find_regimes(runs.y, runs.weight, self.n_regimes)
        evidence, share = evidence_of(mixture, runs.y), mixture.share
        if len(mixture) == 1 or len(np.unique(runs.Z, axis=0)) < FEWEST_INPUTS:
            return _Experts((self._fit_gp(runs, rng, report),), None, 1.0)
        for _ in range(N_ROUNDS):
            label = responsibilities(evidence, share)
            classifier, unseen = fit_classifier(runs.Z, evidence, label, runs.weight, rng)
            regime = (np.log(np.maximum(unseen, 1e-12)) + evidence).argmax(axis=1)
            if np.bincount(regime, minlength=len(mixture)).min() < FEWEST_ROWS:
                return _Experts((self._fit_gp(runs, rng, report),), None, 1.0)
            accuracy = float(np.average(unseen.argmax(axis=1) == regime, weights=runs.weight))
            gps = tuple(self._fit_gp(_take(runs, regime == k), rng, report) for k in range(len(mixture)))
            evidence = _evidence_of_gps(gps, runs)
            share = np.bincount(regime, weights=runs.weight) / runs.weight.sum()
        return _Experts(gps, classifier, accuracy)

    def _fit_gp(self, runs: ScaledRuns, rng: np.random.Generator, report: Report | None) -> FittedGP:
        groups = Replicates.collect(runs.Z, runs.y, runs.weight)
        return fit_gp(groups, rng, n_starts=self.n_starts, report=report)

    def _law(self, Z: FloatArray, of: Of) -> Normal | SwitchingNormal:
        parts = [gp.predict(Z) for gp in self.experts_.gps]
        mean = np.column_stack([part[0] for part in parts])
        variance = np.column_stack([part[1] if of == "mean" else part[1] + part[2] for part in parts])
        if self.experts_.classifier is None:
            return self._normal(mean[:, 0], variance[:, 0])
        scaler, probability = self.response_scaler_, self.experts_.classifier.probabilities(Z)
        return SwitchingNormal(probability, scaler.inverse(mean), scaler.scale * np.sqrt(variance))

    def _facts(self) -> dict[str, str]:
        return {
            "regimes": str(self.n_regimes_),
            "accuracy of the classifier": f"{self.accuracy_:.3f}",
            "runs of each regime": ", ".join(str(round(gp.runs.n_runs)) for gp in self.experts_.gps),
        }

    def _keep(self) -> State:
        experts = self.experts_
        state = State("Experts", {"n_regimes": len(experts.gps), "accuracy": experts.accuracy})
        for k, gp in enumerate(experts.gps):
            state = state.with_part(f"gp{k}", State("FittedGP", {}, gp.arrays()))
        return state if experts.classifier is None else state.with_part("classifier", experts.classifier.to_state())

    def _restore(self, state: State) -> None:
        k, p = int(state.value("n_regimes")), self.input_scaler_.n_outputs
        if k < 1:
            raise UnreadableFile(f"the model file must hold a GP for each regime, got {k} regimes")
        parts = [state.nested(f"gp{j}") for j in range(k)]
        gps = tuple(FittedGP.from_arrays({name: part.array(name) for name in part.arrays}) for part in parts)
        classifier = RegimeClassifier.from_state(state.nested("classifier"), p, k) if k > 1 else None
        self.experts_ = _Experts(gps, classifier, float(state.value("accuracy")))


def _take(runs: ScaledRuns, chosen: BoolArray) -> ScaledRuns:
    rows = np.flatnonzero(chosen)
    return ScaledRuns(runs.Z[rows], runs.y[rows], runs.weight[rows], runs.blocks)


def _evidence_of_gps(gps: Sequence[FittedGP], runs: ScaledRuns) -> FloatArray:
    """Log density of each run under each regime's GP without it, the largest of a row 0, shape (n, k)."""
    evidence = np.empty((len(runs), len(gps)))
    for k, gp in enumerate(gps):
        mean, latent, noise = leave_out(gp, runs.Z)
        variance = latent + noise
        evidence[:, k] = -0.5 * (np.log(variance) + (runs.y - mean) ** 2 / variance)
    evidence -= evidence.max(axis=1, keepdims=True)
    return np.asarray(np.maximum(evidence, -STRONGEST))
