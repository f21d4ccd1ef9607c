"""Gaussian processes for responses that jump between regimes: RegimeGP and ModularJumpGP, on one pipeline.

Where a response jumps, runs on the two sides of a boundary tell little about each other. A mixture on y tells the
regimes, a classifier learns c_k(x), the probability of each at x, and GPs give the level in each; a run at x has

    F(y | x) = sum_k c_k(x) N(y; m_k(x), s_k(x)^2),

two peaks where it is uncertain on which side x lies (Tresp 2000 mixes GPs in this way). Regimes and classifier are
those of paper section 4.2. RegimeGP has one GP for each regime; ModularJumpGP one GP for all, of which the regime is a
further input (Flowers et al. 2026).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray, IntArray
from genbayes.data.dataset import merged_numbers
from genbayes.distribution import Mixture, Normal, PredictiveDistribution
from genbayes.errors import UnreadableFile
from genbayes.models.base import ScaledRuns
from genbayes.models.gp import FittedGP, Replicates, fit_gp
from genbayes.models.gp.stationary import FittedProcess, GPSurrogate, optimism
from genbayes.models.protocols import Of
from genbayes.models.regimes.classifier import FEWEST_INPUTS, RegimeClassifier, fit_classifier
from genbayes.models.regimes.mixture import GaussianMixture, evidence_of, find_regimes, responsibilities
from genbayes.persistence import State
from genbayes.progress import Report
from genbayes.seeding import RandomState
from genbayes.validation import check_count

N_ROUNDS = 2  # of labels, classifier and GPs; a third changed nothing on generated jumps
FEWEST_ROWS = 8  # of a regime: with fewer it has no GP of its own
MAX_LOG_ODDS = 30.0  # that one run may give its regime: an outlier must not overrule its neighbourhood for ever

Moments = tuple[FloatArray, FloatArray, FloatArray, FloatArray]  # weight, mean, latent and noise variance, each (n, k)


@dataclass(frozen=True)
class FittedJumpGP:
    """What is learnt: GPs and a classifier of k regimes, or one plain GP where there is one regime.

    Attributes:
        gps: The GP of each regime, or one for all.
        classifier: Probabilities of the regimes at x; None for one.
        n_regimes: k.
        accuracy: Share of runs whose regime the classifier names rightly when it has not seen them.
        scale: Of one GP for all: factor of the regimes' indicators, which brings them to the spread of the inputs.
    """

    gps: tuple[FittedGP, ...]
    classifier: RegimeClassifier | None = None
    n_regimes: int = 1
    accuracy: float = 1.0
    scale: float = 1.0

    def predict(self, Z: FloatArray) -> Moments:
        """Probability of each regime, mean there, variance of the latent function and of a run's noise, (n, k) each."""
        weight = np.ones((len(Z), 1)) if self.classifier is None else self.classifier.probabilities(Z)
        moments = [gp.predict(inputs) for gp, inputs in self.by_regime(Z)]
        mean, latent, noise = (np.column_stack(part) for part in zip(*moments, strict=True))
        return weight, mean, latent, noise

    def by_regime(self, Z: FloatArray) -> list[tuple[FittedGP, FloatArray]]:
        """The GP of each regime and its inputs for scaled inputs Z, shape (n, p)."""
        k = self.n_regimes
        if len(self.gps) == k:
            return [(gp, Z) for gp in self.gps]
        return [(self.gps[0], augmented(Z, np.full(len(Z), j), k, self.scale)) for j in range(k)]

    def to_state(self) -> State:
        """Everything learnt."""
        values = {"n_regimes": self.n_regimes, "accuracy": self.accuracy, "scale": self.scale, "n_gps": len(self.gps)}
        state = State("FittedJumpGP", values)
        for j, gp in enumerate(self.gps):
            state = state.with_part(f"gp{j}", gp.to_state())
        return state if self.classifier is None else state.with_part("classifier", self.classifier.to_state())

    @classmethod
    def from_state(cls, state: State, p: int) -> FittedJumpGP:
        """The GPs of p inputs that a file describes; they predict the same to the last bit."""
        k, n_gps = state.value("n_regimes"), state.value("n_gps")
        if not isinstance(k, int) or k < 1 or n_gps not in (1, k):
            raise UnreadableFile(f"the model file must hold one GP for each regime or for all, got {n_gps} for {k}")
        inputs = p if n_gps == k else p + k - 1
        gps = tuple(FittedGP.from_state(state.nested(f"gp{j}"), inputs) for j in range(n_gps))
        classifier = RegimeClassifier.from_state(state.nested("classifier"), p, k) if k > 1 else None
        return cls(gps, classifier, k, float(state.value("accuracy")), float(state.value("scale")))


def augmented(Z: FloatArray, regime: IntArray, k: int, scale: float) -> FloatArray:
    """[x, scaled indicators of the regimes but the first], (n, p) -> (n, p + k - 1).

    Example:
        >>> augmented(np.array([[0.5], [0.7]]), np.array([0, 1]), 2, 2.0)
        array([[0.5, 0. ],
               [0.7, 2. ]])
    """
    return np.column_stack([Z, scale * np.eye(k)[regime, 1:]])


class _JumpSurrogate(GPSurrogate):
    """What both share: mixtures of normal distributions, one component a regime."""

    process: ClassVar[type[FittedProcess]] = FittedJumpGP
    n_starts: int
    gp_: FittedJumpGP
    _unseen: FloatArray  # probabilities of the regimes by classifiers that had not seen the run, (n, k); not kept

    def _check_settings(self) -> object:
        return check_count(self.n_starts, "n_starts")

    def _fit_one(
        self, Z: FloatArray, runs: ScaledRuns, rows: IntArray | slice, rng: np.random.Generator, report: Report | None
    ) -> FittedGP:
        """A GP of some of the runs, at inputs Z, shape (n, p)."""
        grouped = Replicates.collect(Z[rows], runs.y[rows], runs.weight[rows])
        return fit_gp(grouped, rng, n_starts=self.n_starts, report=report)

    def _distribution(self, Z: FloatArray, of: Of) -> PredictiveDistribution:
        weight, mean, latent, noise = self.gp_.predict(Z)
        return self._mixed(weight, mean, latent if of == "mean" else latent + noise)

    def _mixed(self, weight: FloatArray, mean: FloatArray, variance: FloatArray) -> PredictiveDistribution:
        """Mixture of normal distributions by the moments of k regimes, each (n, k)."""
        components = [self._normal(m, v) for m, v in zip(mean.T, variance.T, strict=True)]
        return components[0] if len(components) == 1 else Mixture(components, weight)

    @property
    def knows_out_of_fold(self) -> bool:
        """GPs leave runs out in closed form, and the classifier's folds have held every row out once."""
        return True

    def predict_out_of_fold(self, X: ArrayLike, y: ArrayLike) -> tuple[IntArray, PredictiveDistribution]:
        """All rows, and the distribution of each: GPs without the runs at its input, regimes as named out of fold."""
        X = self._checked(X)
        Z, t = self.input_scaler_.transform(X), np.asarray(y, dtype=np.float64)
        moments = [gp.leave_out(inputs) for gp, inputs in self.gp_.by_regime(Z)]
        mean, latent, noise = (np.column_stack(part) for part in zip(*moments, strict=True))
        weight = self._unseen[merged_numbers(X, t)] if self.gp_.classifier is not None else np.ones((len(Z), 1))
        away = mean - self.response_scaler_.transform(t)[:, None]
        return np.arange(len(Z)), self._mixed(weight, mean + optimism(Z) * away, latent + noise)


class RegimeGP(_JumpSurrogate):
    """Gaussian processes for responses that jump: one per regime, mixed by the probability of each regime.

    Regimes are the peaks of the response's marginal distribution (`genbayes.models.regimes.mixture`); the classifier is
    that of `BoundaryFeatures`. What a regime's GP says of a run is far better evidence of its regime than the run's
    response alone, so that labels, classifier and GPs are learnt a second time from it. With one regime it is the
    stationary GP. Engine: our own GP (`genbayes.models.gp`).

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
        return self.gp_.n_regimes

    @property
    def accuracy_(self) -> float:
        """Share of runs whose regime the classifier names rightly without having seen them."""
        return self.gp_.accuracy

    def _check_settings(self) -> object:
        if self.n_regimes is not None:
            check_count(self.n_regimes, "n_regimes", at_least=2)
        return super()._check_settings()

    def _fit_gp(self, runs: ScaledRuns, rng: np.random.Generator, report: Report | None) -> FittedJumpGP:
        mixture = find_regimes(runs.y, runs.weight, self.n_regimes)
        k, evidence, share = len(mixture), evidence_of(mixture, runs.y), mixture.share
        if k == 1 or len(np.unique(runs.Z, axis=0)) < FEWEST_INPUTS:
            return FittedJumpGP((self._fit_one(runs.Z, runs, slice(None), rng, report),))
        for _ in range(N_ROUNDS):
            label = responsibilities(evidence, share)
            classifier, unseen = fit_classifier(runs.Z, evidence, label, runs.weight, rng)
            regime = (np.log(np.maximum(unseen, 1e-12)) + evidence).argmax(axis=1)
            if np.bincount(regime, minlength=k).min() < FEWEST_ROWS:
                return FittedJumpGP((self._fit_one(runs.Z, runs, slice(None), rng, report),))
            accuracy = float(np.average(unseen.argmax(axis=1) == regime, weights=runs.weight))
            gps = tuple(self._fit_one(runs.Z, runs, np.flatnonzero(regime == j), rng, report) for j in range(k))
            evidence = _evidence_of_gps(gps, runs)
            self._unseen = unseen
            share = np.bincount(regime, weights=runs.weight) / runs.weight.sum()
        return FittedJumpGP(gps, classifier, k, accuracy)

    def _facts(self) -> dict[str, str]:
        return {
            "regimes": str(self.n_regimes_),
            "accuracy of the classifier": f"{self.accuracy_:.3f}",
            "runs of each regime": ", ".join(str(round(gp.runs.n_runs)) for gp in self.gp_.gps),
        }


def _evidence_of_gps(gps: Sequence[FittedGP], runs: ScaledRuns) -> FloatArray:
    """Log density of each run under each regime's GP without it, the largest of a row 0, shape (n, k)."""
    evidence = np.empty((len(runs), len(gps)))
    for k, gp in enumerate(gps):
        mean, latent, noise = gp.leave_out(runs.Z)
        variance = latent + noise
        evidence[:, k] = -0.5 * (np.log(variance) + (runs.y - mean) ** 2 / variance)
    evidence -= evidence.max(axis=1, keepdims=True)
    return np.asarray(np.maximum(evidence, -MAX_LOG_ODDS))


class ModularJumpGP(_JumpSurrogate):
    """Gaussian process that may jump: the regime that a run lies in is one more input.

    A mixture on y tells the regimes, a classifier learns them from x, and one GP of [x, regime] gives the level in
    each; a run at x is in regime k with the classifier's probability c_k(x). Where that does not predict left-out runs
    better than the stationary GP, by CRPS, the latter is kept. Engine: our own GP (`genbayes.models.gp`), exact to
    3,000 distinct inputs and approximate beyond.

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

    def _fit_gp(self, runs: ScaledRuns, rng: np.random.Generator, report: Report | None) -> FittedJumpGP:
        rng_plain, rng_classifier, rng_outer = rng.spawn(3)
        plain = FittedJumpGP((self._fit_one(runs.Z, runs, slice(None), rng_plain, report),))
        mixture = _find_two_or_more(runs) if len(plain.gps[0].runs) >= FEWEST_INPUTS else None
        if mixture is None:
            return plain
        k, evidence = len(mixture), evidence_of(mixture, runs.y)
        label = responsibilities(evidence, mixture.share)
        classifier, unseen = fit_classifier(runs.Z, evidence, label, runs.weight, rng_classifier, report)
        regime = (np.log(np.maximum(unseen, np.finfo(np.float64).tiny)) + evidence).argmax(axis=1)
        if len(np.unique(regime)) < k:
            return plain
        scale = 1 / float(np.eye(k)[regime].std())
        outer = self._fit_one(augmented(runs.Z, regime, k, scale), runs, slice(None), rng_outer, report)
        right = unseen.argmax(axis=1) == label.argmax(axis=1)
        accuracy = float(np.average(right, weights=runs.weight))
        jump, self._unseen = FittedJumpGP((outer,), classifier, k, accuracy, scale), unseen
        no_doubt = np.ones((len(runs), 1))
        return jump if _left_out_crps(jump, unseen, runs) < _left_out_crps(plain, no_doubt, runs) else plain

    def _facts(self) -> dict[str, str]:
        if self.gp_.classifier is None:
            return {"regimes": "one: a stationary GP"}
        numbers = {2: "two", 3: "three", 4: "four", 5: "five"}
        return {
            "regimes": numbers[self.gp_.n_regimes],
            "classifier": ", ".join(self.gp_.classifier.names),
            "classifier, left-out accuracy": f"{self.gp_.accuracy:.1%}",
        }


def _find_two_or_more(runs: ScaledRuns) -> GaussianMixture | None:
    """One Gaussian for each regime; two where the response shows none but BIC asks for two, None where it does not.

    More generous than `find_regimes` alone: here left-out runs decide in the end whether regimes help.
    """
    mixture = find_regimes(runs.y, runs.weight)
    if len(mixture) > 1:
        return mixture
    two = find_regimes(runs.y, runs.weight, 2)
    return two if two.bic(runs.y, runs.weight) < mixture.bic(runs.y, runs.weight) else None


def _left_out_crps(gp: FittedJumpGP, weight: FloatArray, runs: ScaledRuns) -> float:
    """Mean CRPS of the runs, those at the same input left out, and from the weights, (n, k), that are given."""
    components = []
    for each, inputs in gp.by_regime(runs.Z):
        mean, latent, noise = each.leave_out(inputs)
        components.append(Normal(mean, np.sqrt(latent + noise)))
    return float(np.average(Mixture(components, weight).crps(runs.y), weights=runs.weight))
