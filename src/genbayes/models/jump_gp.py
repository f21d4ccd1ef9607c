"""Gaussian processes for responses that jump between regimes: RegimeGP and ModularJumpGP, on one pipeline.

Where a response jumps, runs on the two sides of a boundary tell little about each other. Regimes, a classifier c_k(x)
and GPs are found together from inputs and responses (`models.regimes.search`); a run at x has

    F(y | x) = sum_k c_k(x) F_k(y | x),   F_k about the GP's mean m_k(x), with the noise that it leaves,

two peaks where it is uncertain on which side x lies (Tresp 2000 mixes GPs in this way; paper section 4.2). RegimeGP has
one GP for each regime; ModularJumpGP one GP for all, of which the regime is a further input (Flowers et al. 2026).
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from genbayes.arrays import FloatArray, IntArray
from genbayes.data.dataset import merged_numbers
from genbayes.distribution import Mixture, Normal, PredictiveDistribution, QuantileFunction
from genbayes.distribution.quantile_function import GRID
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.models.base import ScaledRuns
from genbayes.models.gp import FittedGP, Replicates, fit_gp
from genbayes.models.gp.refits import are_few
from genbayes.models.gp.stationary import FittedProcess, GPSurrogate, with_refits
from genbayes.models.gp.widening import LeavesOut, optimism
from genbayes.models.protocols import Of
from genbayes.models.regimes.classifier import RegimeClassifier
from genbayes.models.regimes.em import Regimes, Runs
from genbayes.models.regimes.features import OneRegimeWarning
from genbayes.models.regimes.maps import N_VALUES, RegimeMap, map_classifier, plot_map
from genbayes.models.regimes.mixture import MOST_REGIMES, NUMBERS
from genbayes.models.regimes.noise import NORMAL, Noise
from genbayes.models.regimes.search import find_regimes_by_em
from genbayes.persistence import State
from genbayes.progress import Report
from genbayes.seeding import RandomState
from genbayes.validation import check_count


@dataclass(frozen=True)
class FittedJumpGP:
    """What is learnt: GPs and a classifier of k regimes, or one plain GP where there is one regime.

    Attributes:
        gps: The GP of each regime, or one for all.
        classifier: Probabilities of the regimes at x; None for one.
        n_regimes: k.
        accuracy: Share of runs whose regime the classifier names rightly when it has not seen them.
        scale: Of one GP for all: factor of the regimes' indicators, which brings them to the spread of the inputs.
        noises: What the GP leaves in each regime; none stand for normal, even noise.
    """

    gps: tuple[FittedGP, ...]
    classifier: RegimeClassifier | None = None
    n_regimes: int = 1
    accuracy: float = 1.0
    scale: float = 1.0
    noises: tuple[Noise, ...] = ()

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

    def noise_of(self, regime: int) -> Noise:
        """What the GP leaves in one regime."""
        return self.noises[regime] if self.noises else NORMAL

    def to_state(self) -> State:
        """Everything learnt."""
        values = {"n_regimes": self.n_regimes, "accuracy": self.accuracy, "scale": self.scale, "n_gps": len(self.gps)}
        state = State("FittedJumpGP", {**values, "n_noises": len(self.noises)})
        for j, gp in enumerate(self.gps):
            state = state.with_part(f"gp{j}", gp.to_state())
        for j, noise in enumerate(self.noises):
            state = state.with_part(f"noise{j}", noise.to_state())
        return state if self.classifier is None else state.with_part("classifier", self.classifier.to_state())

    @classmethod
    def from_state(cls, state: State, p: int) -> FittedJumpGP:
        """The GPs of p inputs that a file describes; they predict the same to the last bit."""
        k, n_gps = state.count("n_regimes", at_least=1, at_most=MOST_REGIMES), state.count("n_gps", at_least=1)
        if n_gps not in (1, k):
            raise UnreadableFile(f"the model file must hold one GP for each regime or for all, got {n_gps} for {k}")
        inputs = p if n_gps == k else p + k - 1
        gps = tuple(FittedGP.from_state(state.nested(f"gp{j}"), inputs) for j in range(n_gps))
        classifier = RegimeClassifier.from_state(state.nested("classifier"), p, k) if k > 1 else None
        n_noises = state.count("n_noises") if "n_noises" in state.values else 0  # older files have none
        if n_noises not in (0, k):
            raise UnreadableFile(f"the model file must hold the noise of each regime or of none, got {n_noises}")
        noises = tuple(Noise.from_state(state.nested(f"noise{j}"), p) for j in range(n_noises))
        accuracy, scale = state.number("accuracy", at_least=0, at_most=1), state.number("scale", at_least=0)
        return cls(gps, classifier, k, accuracy, scale, noises)


Moments = tuple[FloatArray, FloatArray, FloatArray, FloatArray]  # weight, mean, latent and noise variance, each (n, k)


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

    def _given_regimes(self) -> Regimes | None:
        """The regimes that another model of the same runs has found."""
        base = self._base
        return base.regimes_ if isinstance(base, RegimeGP) and base.fingerprint_ == self.fingerprint_ else None

    def _fit_one(
        self, Z: FloatArray, runs: ScaledRuns, rows: IntArray | slice, rng: np.random.Generator, report: Report | None
    ) -> FittedGP:
        """A GP of some of the runs, at inputs Z, shape (n, p)."""
        grouped = Replicates.collect(Z[rows], runs.y[rows], runs.weight[rows])
        return fit_gp(grouped, rng, n_starts=self.n_starts, report=report)

    def _refitted(self, gp: FittedJumpGP, runs: ScaledRuns, rng: np.random.Generator) -> FittedJumpGP:
        """The same, its GPs leaving runs out by refits where all runs are few for their inputs."""
        if not are_few(Replicates.collect(runs.Z, runs.y, runs.weight)):
            return gp
        return replace(gp, gps=tuple(with_refits(each, each.runs, rng) for each in gp.gps))

    def _distribution(self, Z: FloatArray, of: Of) -> PredictiveDistribution:
        weight, mean, latent, noise = self.gp_.predict(Z)
        if of == "mean":
            latent = self.spread_**2 * latent
            return self._mixed(weight, [self._normal(m, v) for m, v in zip(mean.T, latent.T, strict=True)])
        scale = [self.gp_.noise_of(c).scale(Z) for c in range(mean.shape[1])]
        return self._mixed(weight, self._components(mean, latent + noise, scale))

    def _components(self, mean: FloatArray, variance: FloatArray, scale: Sequence[FloatArray]) -> Components:
        """The distribution in each regime, from moments, (n, k) each, and factors of the sd, k of (n,)."""
        components: Components = []
        variance = self.spread_**2 * variance
        for c, (m, v, h) in enumerate(zip(mean.T, variance.T, scale, strict=True)):
            shape = self.gp_.noise_of(c).shape
            if shape is None:
                components.append(self._normal(m, v * h**2))
            else:
                q = m[:, None] + (np.sqrt(v) * h)[:, None] * shape
                components.append(QuantileFunction(GRID, self.response_scaler_.inverse(q)))
        return components

    def _mixed(self, weight: FloatArray, components: Components) -> PredictiveDistribution:
        """The components mixed with weights of shape (n, k)."""
        return components[0] if len(components) == 1 else Mixture(components, weight)

    def map_regimes(self, n_values: int = N_VALUES, *, names: Sequence[str] | None = None) -> RegimeMap | None:
        """Probabilities of the regimes over the two inputs that matter most; None for one regime (`map_classifier`).

        Args:
            n_values: Values of each input.
            names: Of the inputs, d of them; None for those seen in `fit`.
        """
        check_is_fitted(self, "seconds_")
        scaler, classifier = self.input_scaler_, self.gp_.classifier
        if classifier is None:
            return None
        Z, regime = self._by_regime()
        coded = [column for column, _ in scaler.categorical]
        return map_classifier(
            replace(classifier, front=scaler), scaler.inverse(Z), regime, names or self._input_names(), coded, n_values
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw the regimes, their boundary in the two inputs that matter most, and how sure it is; a Matplotlib axis.

        Raises:
            InvalidInput: There is one regime, or no input that is a number.
        """
        return plot_map(self.map_regimes(), ax)

    @abstractmethod
    def _by_regime(self) -> tuple[FloatArray, IntArray]:
        """Scaled inputs of the runs that count for a regime more than for others, (m, p), and the regime, (m,)."""

    def _leaves_out(self) -> LeavesOut | None:
        """The one GP, where there is one regime of even, normal noise; other noise is learnt from left-out runs too."""
        noise = self.gp_.noise_of(0)
        is_plain = self.gp_.n_regimes == 1 and noise.pace is None and noise.shape is None
        return self.gp_.gps[0] if is_plain else None

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
        scale = [self.gp_.noise_of(c).scale_left_out(Z) for c in range(mean.shape[1])]
        hidden = np.array([0.0 if gp.is_refitted else optimism(Z) for gp, _ in self.gp_.by_regime(Z)])
        return np.arange(len(Z)), self._mixed(weight, self._components(mean + hidden * away, latent + noise, scale))


Components = list[PredictiveDistribution]


class RegimeGP(_JumpSurrogate):
    """Gaussian processes for responses that jump: one per regime, mixed by the probability of each regime.

    Regimes are found from inputs and responses together (`genbayes.models.regimes.em`): they may overlap in y, differ
    in slope, and be up to five. A further one is taken only if left-out runs are clearly more probable with it. Noise
    that is uneven or not normal within a regime is learnt from what its GP leaves. With one regime and even, normal
    noise it is the stationary GP. Engine: our own GP (`genbayes.models.gp`).

    Args:
        n_regimes: Number of regimes, two to five; None to find it in the runs.
        n_starts: Starting points of the search for the GP of all runs.
        categorical: Names or indices of inputs that are categories; they become one-hot columns.
        verbose: Whether to show a progress bar.
        random_state: Seed of classifier and searches.

    Attributes:
        n_regimes_: Number of regimes.
        accuracy_: Share of runs whose regime the classifier names rightly without having seen them.
        tells_apart_: Whether that is clearly more than without looking at the inputs.
        regimes_: What was found at the runs of `fit`; not kept in a file.
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

    regimes_: Regimes

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

    def _by_regime(self) -> tuple[FloatArray, IntArray]:
        own = [gp.runs.Z[gp.runs.count > 0.5] for gp in self.gp_.gps]
        return np.vstack(own), np.repeat(np.arange(len(own)), [len(Z) for Z in own])

    @property
    def tells_apart_(self) -> bool:
        """Whether inputs tell the regimes apart: more runs are named rightly than by naming the largest regime.

        By three standard errors; where they do not, a new run may lie in any regime, as if a hidden input decided.
        """
        count = np.array([gp.runs.n_runs for gp in self.gp_.gps])
        share = float(count.max() / count.sum())
        return bool(self.accuracy_ > share + 3 * np.sqrt(share * (1 - share) / count.sum()))

    def _check_settings(self) -> object:
        if self.n_regimes is not None:
            n_regimes = check_count(self.n_regimes, "n_regimes", at_least=2)
            if n_regimes > MOST_REGIMES:
                raise InvalidInput(f"n_regimes must be at most {MOST_REGIMES}, got {n_regimes}")
        return super()._check_settings()

    def _fit_gp(self, runs: ScaledRuns, rng: np.random.Generator, report: Report | None) -> FittedJumpGP:
        rng_plain, rng_regimes = rng.spawn(2)
        plain = self._given_gp()
        if plain is None:
            plain = self._fit_one(runs.Z, runs, slice(None), rng_plain, report)
        found = find_regimes_by_em(Runs(runs.Z, runs.y, runs.weight), rng_regimes, self.n_regimes, plain)
        if self.n_regimes is not None and len(found) < self.n_regimes:
            warnings.warn(
                f"the runs did not part into the {self.n_regimes} regimes of n_regimes, and one was used; "
                "give more runs, or leave n_regimes=None to let the runs say how many",
                OneRegimeWarning,
                stacklevel=2,
            )
        self.regimes_, self._unseen = found, found.unseen
        gp = FittedJumpGP(found.gps, found.classifier, len(found), found.accuracy(runs.weight), noises=found.noises)
        return self._refitted(gp, runs, rng_regimes)

    def _facts(self) -> dict[str, str]:
        facts = {"regimes": str(self.n_regimes_)}
        if self.n_regimes_ == 1:
            return facts
        facts["accuracy of the classifier"] = f"{self.accuracy_:.3f}"
        facts["runs of each regime"] = ", ".join(str(round(gp.runs.n_runs)) for gp in self.gp_.gps)
        if not self.tells_apart_:
            facts["boundary"] = "none: no input tells the regimes apart, every new run may lie in any"
        return facts


class ModularJumpGP(_JumpSurrogate):
    """Gaussian process that may jump: the regime that a run lies in is one more input.

    Regimes and classifier are those of `RegimeGP`, and one GP of [x, regime] gives the level in each; a run at x is in
    regime k with the classifier's probability c_k(x). Where that does not predict left-out runs better than the
    stationary GP, by CRPS, the latter is kept. Engine: our own GP (`genbayes.models.gp`), exact to 3,000 distinct
    inputs and approximate beyond.

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
        rng_plain, rng_regimes, rng_outer = rng.spawn(3)
        found = self._given_regimes()
        plain = found.gps[0] if found is not None and len(found) == 1 else self._given_gp()
        if plain is None:
            plain = self._fit_one(runs.Z, runs, slice(None), rng_plain, report)
        if found is None:
            found = find_regimes_by_em(Runs(runs.Z, runs.y, runs.weight), rng_regimes, None, plain)
        alone = FittedJumpGP((plain,))
        k, regime = len(found), found.regime
        if k == 1 or len(np.unique(regime)) < k:
            return self._refitted(alone, runs, rng_outer)
        scale = 1 / float(np.eye(k)[regime].std())
        outer = self._fit_one(augmented(runs.Z, regime, k, scale), runs, slice(None), rng_outer, report)
        jump = FittedJumpGP((outer,), found.classifier, k, found.accuracy(runs.weight), scale)
        self._unseen = unseen = found.unseen
        no_doubt = np.ones((len(runs), 1))
        is_better = _left_out_crps(jump, unseen, runs) < _left_out_crps(alone, no_doubt, runs)
        return self._refitted(jump if is_better else alone, runs, rng_outer)

    def _by_regime(self) -> tuple[FloatArray, IntArray]:
        k, Z = self.gp_.n_regimes, self.gp_.gps[0].runs.Z
        upper = Z[:, -(k - 1) :] > 0
        return Z[:, : -(k - 1)], np.where(upper.any(axis=1), 1 + upper.argmax(axis=1), 0)

    def _facts(self) -> dict[str, str]:
        if self.gp_.classifier is None:
            return {"regimes": "one: a stationary GP"}
        return {
            "regimes": NUMBERS[self.gp_.n_regimes],
            "classifier": ", ".join(self.gp_.classifier.names),
            "classifier, left-out accuracy": f"{self.gp_.accuracy:.1%}",
        }


def _left_out_crps(gp: FittedJumpGP, weight: FloatArray, runs: ScaledRuns) -> float:
    """Mean CRPS of the runs, those at the same input left out, and from the weights, (n, k), that are given."""
    components = []
    for each, inputs in gp.by_regime(runs.Z):
        mean, latent, noise = each.leave_out(inputs)
        components.append(Normal(mean, np.sqrt(latent + noise)))
    return float(np.average(Mixture(components, weight).crps(runs.y), weights=runs.weight))
