"""RegimeGP: one GP for each regime of the response, mixed by a classifier of the regime (mixture of GP experts).

Where a response jumps between regimes, runs on the two sides of a boundary tell nothing about each other. So each
regime gets a GP of its own, and the law at x is F(y | x) = sum_k c_k(x) N(y; m_k(x), s_k(x)^2): two peaks where it is
uncertain on which side x lies. Tresp (2000) mixes GPs in this way; regimes and classifier are those of paper section
4.2. What a regime's GP says of a run is far better evidence of its regime than the run's response alone, so that
labels, classifier and GPs are learnt a second time from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from genbayes.arrays import BoolArray, FloatArray, IntArray
from genbayes.distribution import Mixture, Normal
from genbayes.errors import UnreadableFile
from genbayes.models.base import ScaledRuns, ScaledSurrogate
from genbayes.models.gp import FittedGP, Replicates, fit_gp, leave_out, match_rows
from genbayes.models.protocols import Of
from genbayes.models.regimes.classifier import FEWEST_INPUTS, RegimeClassifier, fit_classifier
from genbayes.models.regimes.mixture import GaussianMixture, evidence_of, find_regimes
from genbayes.models.regimes.stacking import responsibilities
from genbayes.persistence import State
from genbayes.progress import Report, show_progress
from genbayes.seeding import RandomState
from genbayes.validation import check_count

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
    components = [Normal(m, s) for m, s in zip(mean.T, np.sqrt(latent + noise).T, strict=True)]
    score = Mixture(components, weight).crps(runs.y)
    return float(np.average(score, weights=runs.weight))


class ModularJumpGP(ScaledSurrogate):
    """Gaussian process that may jump: the regime that a run lies in is one more input.

    A mixture on y tells the regimes, a classifier learns them from x, and one GP of [x, regime] gives the level in
    each; a run at x is in regime k with the classifier's probability c_k(x). Where that does not predict left-out runs
    better than the stationary GP, by CRPS, the latter is kept. Engine: our own GP (`models.gp`), exact to 3,000
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

    def _distribution(self, Z: FloatArray, of: Of) -> Normal | Mixture:
        return self._in_units(*self.gp_.predict(Z), of)

    def _in_units(
        self, weight: FloatArray, mean: FloatArray, latent: FloatArray, noise: FloatArray, of: Of
    ) -> Normal | Mixture:
        """Laws from weights, means and variances of the regimes on the scaled response, each (n, k)."""
        scaler = self.response_scaler_
        loc, scale = scaler.inverse(mean), scaler.scale * np.sqrt(latent if of == "mean" else latent + noise)
        components = [Normal(m, s) for m, s in zip(loc.T, scale.T, strict=True)]
        return components[0] if len(components) == 1 else Mixture(components, weight)

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


N_ROUNDS = 2  # of labels, classifier and GPs; a third changed nothing on generated jumps
FEWEST_ROWS = 8  # of a regime: with fewer it has no GP of its own
STRONGEST = 30.0  # log odds that one run may give its regime: an outlier must not overrule its neighbourhood for ever


@dataclass(frozen=True)
class _Experts:
    """What is learnt: the GP of each regime, k of them, and the classifier; None for one regime."""

    gps: tuple[FittedGP, ...]
    classifier: RegimeClassifier | None
    accuracy: float


class RegimeGP(ScaledSurrogate):
    """Gaussian processes for responses that jump: one per regime, mixed by the probability of each regime.

    Regimes are the peaks of the response's marginal law (`genbayes.models.regimes.mixture`); the classifier is that of
    `BoundaryFeatures`. With one regime it is the stationary GP. Engine: our own GP (`genbayes.models.gp`).

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

    def _distribution(self, Z: FloatArray, of: Of) -> Normal | Mixture:
        parts = [gp.predict(Z) for gp in self.experts_.gps]
        mean = np.column_stack([part[0] for part in parts])
        variance = np.column_stack([part[1] if of == "mean" else part[1] + part[2] for part in parts])
        if self.experts_.classifier is None:
            return self._normal(mean[:, 0], variance[:, 0])
        scaler, probability = self.response_scaler_, self.experts_.classifier.probabilities(Z)
        loc, scale = scaler.inverse(mean), scaler.scale * np.sqrt(variance)
        return Mixture([Normal(m, s) for m, s in zip(loc.T, scale.T, strict=True)], probability)

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
