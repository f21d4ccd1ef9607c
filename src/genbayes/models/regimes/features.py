"""Feature maps z = T(x), paper Definition 1: the interface, T(x) = x, and boundary features (GBC-Aug, section 4.2).

A map may look at the responses while it is fitted, so `fit_transform` must return honest features: for a training
row, what the map would have said of it had it not seen that row's response. The first d columns of z are x. A map that
splits the runs into regimes may say more: what a model should learn from, and how its answers in each are to be mixed
(`models.protocols.SplitsRegimes`).
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from genbayes.arrays import BoolArray, FloatArray, IntArray
from genbayes.data.dataset import Dataset
from genbayes.data.scaling import InputScaler, weighted_moments
from genbayes.errors import GenBayesWarning, InvalidInput, UnreadableFile
from genbayes.models.regimes.classifier import RegimeClassifier, fit_classifier, require_distinct
from genbayes.models.regimes.em import HasRegimes, Regimes, Runs, relative_evidence
from genbayes.models.regimes.mixture import MOST_REGIMES, GaussianMixture, evidence_of, find_regimes, responsibilities
from genbayes.models.regimes.search import search_regimes
from genbayes.persistence import State
from genbayes.validation import check_choice, check_count

JOINT = "joint"  # labels from inputs and responses together
# classifier, out-of-fold probabilities (n, k), whether these name the regime rightly (n,), and the regime (n,)
Learnt = tuple[RegimeClassifier, FloatArray, BoolArray, IntArray]


class FeatureMap(BaseEstimator, ABC):
    """T(x): inputs followed by columns that the map adds."""

    @abstractmethod
    def fit_transform(self, data: Dataset, rng: np.random.Generator) -> FloatArray:
        """Learn from the runs and return their features, shape (n, p), p >= d."""

    @abstractmethod
    def transform(self, X: FloatArray) -> FloatArray:
        """Features of new inputs, (n, d) -> (n, p)."""

    @abstractmethod
    def to_state(self) -> State:
        """What a fitted map keeps."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: State) -> FeatureMap:
        """The map that `to_state` described."""


class Identity(FeatureMap):
    """Features are the inputs.

    Example:
        >>> Identity().transform(np.array([[1.0, 2.0]]))
        array([[1., 2.]])
    """

    def fit_transform(self, data: Dataset, rng: np.random.Generator) -> FloatArray:
        """The inputs of the runs, (n, d)."""
        return data.X

    def transform(self, X: FloatArray) -> FloatArray:
        """The inputs themselves."""
        return X

    def to_state(self) -> State:
        """Nothing but its name."""
        return State("Identity")

    @classmethod
    def from_state(cls, state: State) -> Identity:
        """A new one."""
        return cls()


class OneRegimeWarning(GenBayesWarning):
    """One regime was found, so that boundary features add nothing; or one where more were asked for."""


class BoundaryFeatures(FeatureMap):
    """T(x) = [x, c(x)]: inputs and the probability of the upper regime, or of each where there are more than two.

    Inputs and responses together say what regime a run lies in (`em`), a committee learns that from x (`classifier`),
    and its probabilities are appended to x. Training rows get out-of-fold probabilities: as unsure near the boundary as
    those of new inputs will be.

    Args:
        n_regimes: Number of regimes; None to find it in the runs.
        mix: Whether a model on top learns the distribution within each regime and mixes these by the probabilities;
            False shows it the probabilities themselves, as the paper does.
        labels: "joint", by EM over inputs and responses, or by y alone where that finds one regime; "response", by a
            mixture on y alone, as the paper has it.

    Attributes:
        mixture_: Share, mean and sd of the responses of each regime, in order of the means.
        n_regimes_: Their number; with 1, T(x) = x.
        classifier_: Probability of each regime at x; None for one regime.
        accuracy_: Share of rows whose regime the classifier names rightly without having seen them.
        location_, scale_: Mean and spread of the responses in each regime, shape (k,).

    Example:
        >>> X = np.linspace(-1, 1, 100)[:, None]
        >>> y = np.where(X[:, 0] > 0.2, 8.0, 0.0) + np.sin(50 * X[:, 0])
        >>> boundary = BoundaryFeatures()
        >>> Z = boundary.fit_transform(Dataset(X, y, np.ones(100)), np.random.default_rng(0))
        >>> boundary.transform(np.array([[-0.5], [0.9]])).round(1)
        array([[-0.5,  0. ],
               [ 0.9,  1. ]])
    """

    mixture_: GaussianMixture
    classifier_: RegimeClassifier | None
    accuracy_: float
    location_: FloatArray
    scale_: FloatArray

    _base: HasRegimes | None = None

    def __init__(self, n_regimes: int | None = None, mix: bool = True, labels: str = "joint") -> None:
        self.n_regimes = n_regimes
        self.mix = mix
        self.labels = labels

    def stand_on(self, base: object) -> None:
        """Take regimes from a model that has found them, if it was fitted to the runs of the next `fit_transform`."""
        self._base = base if isinstance(base, HasRegimes) else None

    @property
    def n_regimes_(self) -> int:
        """Number of regimes found."""
        return len(self.mixture_)

    def fit_transform(self, data: Dataset, rng: np.random.Generator) -> FloatArray:
        """Learn regimes and classifier; the inputs of the runs with out-of-fold probabilities, (n, p)."""
        check_choice(self.labels, "labels", [JOINT, "response"])
        wanted, self.n_inputs_ = self._checked_number(data.y), data.X.shape[1]
        rng_joint, rng_response = rng.spawn(2)
        found = self._learn_jointly(data, wanted, rng_joint) if self.labels == JOINT else None
        if found is None:  # a GP may bridge what a network needs to be shown
            found = self._learn_from_responses(data, wanted, rng_response)
        if found is None:
            self.classifier_, self.accuracy_ = None, 1.0
            warnings.warn(
                "the response has one regime, so BoundaryFeatures adds nothing and T(x) = x was used; "
                "pass n_regimes=2 to insist on two",
                OneRegimeWarning,
                stacklevel=2,
            )
            return data.X
        self.classifier_, unseen, right, self._regime = found
        self.accuracy_ = float(np.average(right, weights=data.weight))
        self.location_, self.scale_ = np.zeros(self.n_regimes_), np.ones(self.n_regimes_)  # as of an empty regime
        for k in np.unique(self._regime):
            rows = self._regime == k
            self.location_[k], self.scale_[k] = weighted_moments(data.y[rows], data.weight[rows])
        return self._appended(data.X, unseen)

    def _learn_jointly(self, data: Dataset, wanted: int | None, rng: np.random.Generator) -> Learnt | None:
        """Regimes by EM over inputs and responses, or those of a model of the same runs; None if there is one."""
        base, self._base = self._base, None
        if base is not None and wanted is None and base.fingerprint_ == data.fingerprint():
            return self._adopt(base.regimes_, base.input_scaler_, data)
        center, spread = weighted_moments(data.y, data.weight)
        scaler = InputScaler.learn(data.X, data.weight)
        runs = Runs(scaler.transform(data.X), (data.y - center) / spread, data.weight)
        found = search_regimes(runs, rng, wanted)
        if len(found) == 1:
            return None
        classifier, unseen = fit_classifier(runs.Z, relative_evidence(found.evidence), found.label, data.weight, rng)
        return self._adopt(replace(found, classifier=classifier, unseen=unseen), scaler, data)

    def _adopt(self, found: Regimes, scaler: InputScaler, data: Dataset) -> Learnt | None:
        """What is kept of regimes of the runs, in order of their mean responses."""
        if found.classifier is None:
            return None
        mass = np.maximum(data.weight @ found.label, 1e-300)
        mean = (data.weight * data.y) @ found.label / mass
        order = np.argsort(mean)
        sd = np.sqrt(np.maximum((data.weight * data.y**2) @ found.label / mass - mean**2, 0.0))
        self.mixture_ = GaussianMixture((mass / mass.sum())[order], mean[order], sd[order])
        regime = np.argsort(order)[found.regime]
        unseen = found.unseen[:, order]
        classifier = replace(found.classifier.in_order(order), front=scaler)
        return classifier, unseen, unseen.argmax(axis=1) == regime, regime

    def _learn_from_responses(self, data: Dataset, wanted: int | None, rng: np.random.Generator) -> Learnt | None:
        """Regimes by a mixture on y alone (paper section 4.2); None if it shows one."""
        self.mixture_ = find_regimes(data.y, data.weight, wanted)
        if len(self.mixture_) == 1:
            return None
        require_distinct(data.X, "BoundaryFeatures")
        evidence = evidence_of(self.mixture_, data.y)
        label = responsibilities(evidence, self.mixture_.share)
        seen = np.unique(label.argmax(axis=1))
        if len(seen) < len(self.mixture_):
            raise InvalidInput(
                f"y must show {len(self.mixture_)} regimes for n_regimes={self.n_regimes}, got {len(seen)} with any "
                "runs; leave n_regimes=None to let the runs say how many"
            )
        classifier, unseen = fit_classifier(data.X, evidence, label, data.weight, rng)
        # the regime that response and input together name, the latter by classifiers that have not seen the run
        regime = (np.log(np.maximum(unseen, np.finfo(np.float64).tiny)) + evidence).argmax(axis=1)
        return classifier, unseen, unseen.argmax(axis=1) == label.argmax(axis=1), regime

    def transform(self, X: FloatArray) -> FloatArray:
        """Inputs and probabilities of their regimes, (n, d) -> (n, p)."""
        self._require_fitted()
        if self.classifier_ is None:
            return X
        return self._appended(X, self.classifier_.probabilities(X))

    def levels(self) -> tuple[FloatArray, FloatArray]:
        """Mean and spread of the responses in each regime, (k,) each; one of 0 and 1 where nothing is split."""
        if not self.mix or self.classifier_ is None:
            return np.zeros(1), np.ones(1)
        return self.location_, self.scale_

    def standardised(self, y: FloatArray) -> FloatArray:
        """Responses of the runs just fitted minus the mean of their regime, over its spread, (n,) -> (n,)."""
        return np.asarray((y - self.location_[self._regime]) / self.scale_[self._regime])

    def conditioned(self, Z: FloatArray) -> FloatArray:
        """Features of the runs just fitted with their regimes in place of the probabilities, (n, p) -> (n, p)."""
        return self._in_regime(Z, self._regime)

    def alternatives(self, Z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        """Probabilities of the regimes, (n, k), and features in each, k of (n, p)."""
        upper = Z[:, self._columns]
        probability = np.column_stack([1 - upper, upper]) if self.n_regimes_ == 2 else upper
        return probability, [self._in_regime(Z, np.full(len(Z), k)) for k in range(self.n_regimes_)]

    def to_state(self) -> State:
        """The mixture, the classifier and how good it is."""
        self._require_fitted()
        values = {
            "n_regimes": None if self.n_regimes is None else int(self.n_regimes),
            "mix": bool(self.mix),
            "labels": self.labels,
            "n_inputs": self.n_inputs_,
            "accuracy": self.accuracy_,
        }
        mixture = np.stack([self.mixture_.share, self.mixture_.mean, self.mixture_.sd])
        if self.classifier_ is None:
            return State("BoundaryFeatures", values, {"mixture": mixture})
        arrays = {"mixture": mixture, "levels": np.stack([self.location_, self.scale_])}
        return State("BoundaryFeatures", values, arrays).with_part("classifier", self.classifier_.to_state())

    @classmethod
    def from_state(cls, state: State) -> BoundaryFeatures:
        """The map that a file describes."""
        labels = state.typed("labels", str) if "labels" in state.values else "response"  # older files knew no other
        boundary = cls(state.typed("n_regimes", int | None), state.typed("mix", bool), labels)
        mixture = state.array("mixture", (3, None))
        if mixture.shape[1] < 1:
            raise UnreadableFile("the mixture in the model file must have a regime, got none")
        boundary.mixture_ = GaussianMixture(*mixture)
        boundary.n_inputs_ = state.count("n_inputs", at_least=1)
        boundary.accuracy_ = state.number("accuracy", at_least=0, at_most=1)
        boundary.classifier_ = None
        if boundary.n_regimes_ > 1:
            part = state.nested("classifier")
            boundary.classifier_ = RegimeClassifier.from_state(part, boundary.n_inputs_, boundary.n_regimes_)
            boundary.location_, boundary.scale_ = state.array("levels", (2, boundary.n_regimes_))
        return boundary

    def _require_fitted(self) -> None:
        if not hasattr(self, "mixture_"):
            raise NotFittedError("This BoundaryFeatures instance is not fitted yet; call fit_transform first")

    def _checked_number(self, y: FloatArray) -> int | None:
        if self.n_regimes is None:
            return None
        wanted, most = check_count(self.n_regimes, "n_regimes", at_least=2), min(MOST_REGIMES, len(np.unique(y)))
        if wanted > most:
            raise InvalidInput(f"n_regimes must be at most {most} for these responses, got {wanted}")
        return wanted

    @property
    def _columns(self) -> slice:
        """Where the probabilities stand among the features."""
        return slice(self.n_inputs_, self.n_inputs_ + (1 if self.n_regimes_ == 2 else self.n_regimes_))

    def _in_regime(self, Z: FloatArray, regime: IntArray) -> FloatArray:
        """Features with the indicator of a regime, shape (n,), in place of the probabilities."""
        certain = Z.copy()
        indicator = np.eye(self.n_regimes_)[regime]
        certain[:, self._columns] = indicator[:, 1:] if self.n_regimes_ == 2 else indicator
        return certain

    def _appended(self, X: FloatArray, probabilities: FloatArray) -> FloatArray:
        """With two regimes one probability says it all."""
        return np.column_stack([X, probabilities[:, 1:] if self.n_regimes_ == 2 else probabilities])
