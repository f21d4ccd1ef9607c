"""QuantileSurrogate: a scikit-learn regressor that returns the whole predictive distribution (GBC of the paper).

`fit` takes data through one door, lets the feature map and the recipe decide, and keeps what was learnt in
attributes ending in an underscore. Everything it predicts is read from one distribution per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from genbayes.arrays import FloatArray, IntArray
from genbayes.data.dataset import Dataset, merged_numbers
from genbayes.data.scaling import Bounds, as_bounds
from genbayes.distribution import Normal, PredictiveDistribution, QuantileFunction
from genbayes.distribution.quantile_function import GRID
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.models.base import ScaledSurrogate
from genbayes.models.loading import restore_part, state_of_part
from genbayes.models.network.ensemble import (
    as_if_pooled,
    distribution_of_mean,
    distribution_of_run,
    member_means,
    member_quantiles,
    mirrored_inputs,
    undo_standardisation,
)
from genbayes.models.network.fit import train_paper
from genbayes.models.network.loss import DEFAULT, QUANTILE_DOMINANT, LossWeights
from genbayes.models.network.plans import train_fast
from genbayes.models.network.rival import Rival
from genbayes.models.network.stored import HISTORY_CURVES, restored_history, restored_network, restored_settings
from genbayes.models.protocols import Of, SplitsRegimes
from genbayes.models.regimes import Bimodality, BoundaryFeatures, FeatureMap, Identity, measure_bimodality
from genbayes.models.regimes.failure import FailureModel, learn_failures, part_failures
from genbayes.models.regimes.maps import RegimeMap, map_classifier
from genbayes.models.regimes.mixture import GaussianMixture
from genbayes.persistence import State
from genbayes.seeding import RandomState, as_generator
from genbayes.threads import fitting_threads
from genbayes.validation import check_choice, check_count, check_finite, check_nonnegative

# The rows that a member held out also chose when it stopped, so that its errors there are a little too small: 2 to 5%
# with 100 runs, not to be seen with 1,000.
CHOSEN_LENGTH = 3.0
MOST_TO_COMPARE = 500  # runs at which the members' typical disagreement is measured


class QuantileSurrogate(ScaledSurrogate):
    """Generative Bayesian Computation: an implicit quantile network as a surrogate of a simulator.

    Learns the conditional quantile function Q_tau(Y | x) from runs (x, y), paper sections 3.2 to 3.5.

    Args:
        weights: Weights of location anchor, ordering and quantile term: "default" (0.3, 0.3, 0.4),
            "quantile-dominant" (0.1, 0.2, 0.7), "auto" (the second when y is bimodal), or three numbers. None is
            "auto" for the recipe "fast" and "default" for the recipe "paper".
        features: None for T(x) = x, a feature map, or a list of maps applied one after another.
        n_members: Ensemble size K; None leaves it to the recipe.
        prior_scale: Size of each member's randomized prior, in standard deviations of y; 0 for none.
        recipe: "fast", our own training with unbiased quantile levels, or "paper", the paper to the letter.
        y_bounds: (lower, upper) that responses never leave; either may be None.
        categorical: Names or indices of inputs that are categories.
        missing: "error" to refuse rows without a response; "regime" to count rows whose y is NaN as failed runs, which
            teach `predict_failure_probability` and nothing else.
        n_hidden: Units of a hidden layer; None leaves it to the recipe.
        n_layers: Hidden layers of f_x; None leaves it to the recipe.
        n_fourier: Fourier features that join the inputs, for responses that change quickly along an input; 0 for none,
            None leaves it to the recipe.
        n_cosines: Size of the embedding of tau.
        dropout: Share of hidden units silenced in a training step; None leaves it to the recipe.
        n_epochs: Passes over the rows, for "fast" at most; None leaves it to the recipe.
        batch_size: Rows of a mini-batch; None leaves it to the recipe.
        learning_rate: Peak rate of Adam; None leaves it to the recipe.
        weight_decay: Decoupled weight decay.
        device: "cpu", "cuda", or "auto" for the GPU where there is one.
        verbose: Whether to show a progress bar.
        random_state: Seed of everything random in `fit`.

    Attributes:
        network_: The fitted stacked network.
        history_: Course of the training.
        relevance_: How much each network input matters, the largest 1; ones where the recipe does not ask.
        spread_: Factor by which unseen rows asked the quantiles to be moved away from their median.
        disagreement_: Typical standard deviation of the members' means at the runs, in units of the response's scale;
            None where members have all learnt from all runs, or there is one.
        settings_: Sizes and training settings used.
        weights_: The loss weights used.
        bimodality_: The test statistic behind `weights="auto"`.
        failure_: Where runs fail, with `missing="regime"`; else None.
        n_rows_, fingerprint_: Number and SHA-256 of the distinct runs.
        n_features_in_, feature_names_in_: Columns seen in `fit`.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(size=(200, 1))
        >>> y = np.sin(6 * X[:, 0]) + 0.1 * rng.standard_normal(200)
        >>> model = QuantileSurrogate(n_epochs=40, random_state=0).fit(X, y)
        >>> model.predict_quantiles(X[:3], [0.05, 0.5, 0.95]).shape
        (3, 3)
    """

    disagreement_: float | None
    _aside: IntArray  # row numbers that each member held out, (K, a); not kept in files
    _unseen_features: FloatArray  # of the runs, out of fold where they look at responses, (n, p); not kept either

    def __init__(
        self,
        *,
        weights: str | Sequence[float] | None = None,
        features: FeatureMap | Sequence[FeatureMap] | None = None,
        n_members: int | None = None,
        prior_scale: float = 0.0,
        recipe: str = "fast",
        y_bounds: Bounds | None = None,
        categorical: Sequence[str | int] | None = None,
        missing: str = "error",
        n_hidden: int | None = None,
        n_layers: int | None = None,
        n_fourier: int | None = None,
        n_cosines: int = 32,
        dropout: float | None = None,
        n_epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        weight_decay: float = 0.0,
        device: str = "auto",
        verbose: bool = False,
        random_state: RandomState = None,
    ) -> None:
        self.weights = weights
        self.features = features
        self.n_members = n_members
        self.prior_scale = prior_scale
        self.recipe = recipe
        self.y_bounds = y_bounds
        self.categorical = categorical
        self.missing = missing
        self.n_hidden = n_hidden
        self.n_layers = n_layers
        self.n_fourier = n_fourier
        self.n_cosines = n_cosines
        self.dropout = dropout
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the distribution of y given x from runs.

        Args:
            X: Inputs, shape (n, d): an array, or a pandas or polars frame whose column names are remembered.
            y: Responses, shape (n,); NaN for a failed run with `missing="regime"`.
            sample_weight: Weights, shape (n,); whole numbers count runs, so that a weight of 2 equals giving the row
                twice, to the bit; any others are rescaled to mean one over the positive ones, with a warning.

        Returns:
            The fitted surrogate.
        """
        return self._fit(X, y, sample_weight)

    def fit_against(self, rival: ArrayLike, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """As `fit`, but raise `OutOfReach` as soon as it is clear that a rival is.

        `rival` is the CRPS of another model at each run, by a fit that had not seen it; NaN where unknown, shape (n,).
        Where it is `Awaited`, training goes on meanwhile, and what it may depend on is looked at later.
        """
        return self._fit(X, y, sample_weight, rival)

    def fit_on(self, base: object, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """As `fit`; boundary features take the regimes that a model of the same runs has found, if it has any."""
        return self._fit(X, y, sample_weight, base=base)

    def _fit(
        self, X: ArrayLike, y: ArrayLike, weight: ArrayLike | None, rival: ArrayLike | None = None, base: object = None
    ) -> Self:
        bounds = self._check_settings()
        rng = as_generator(self.random_state)
        failed, done = None, (X, y, weight)
        if self.missing == "regime":
            failed, done = part_failures(X, y, weight)
        data = self._take_runs(*done, bounds)
        self.weights_ = self._choose_weights(data)
        maps = self.features if isinstance(self.features, (list, tuple)) else [self.features]
        self.features_ = [_copied_map(each) for each in maps if each is not None]
        for each in [each for each in self.features_ if isinstance(each, BoundaryFeatures)]:
            each.stand_on(base)
        rng_features, rng_cover, rng_training = rng.spawn(3)
        Z, responses = data.X, data.y
        for feature_map, child in zip(self.features_, rng_features.spawn(len(self.features_)), strict=True):
            Z = _checked_features(feature_map.fit_transform(Dataset(Z, data.y, data.weight), child), Z, feature_map)
        regimes = _regime_map(self.features_)
        self._unseen_features = Z if self.features_ else Z[:0]
        if regimes is not None:
            Z = regimes.conditioned(Z)
            if bounds == (None, None):  # which hold for y itself
                responses = regimes.standardised(responses)
        runs = self._learn_scales(Dataset(Z, responses, data.weight), rng_cover, bounds, robust=regimes is None)
        train = train_paper if self.recipe == "paper" else train_fast
        with fitting_threads(*runs.Z.shape):
            learnt = train(self, runs, rng_training, self._scaled_rival(rival, X, y))
        self.network_, self.settings_, self.history_ = learnt.network, learnt.settings, learnt.history
        self.spread_, self.relevance_, self._aside = learnt.spread, learnt.relevance, learnt.aside
        self.disagreement_ = self._measure_disagreement(data)
        self.failure_ = None
        if failed is not None:
            self.failure_ = learn_failures(self._checked(X), failed, weight, rng.spawn(1)[0])
        return self

    def _measure_disagreement(self, data: Dataset) -> float | None:
        """Typical standard deviation of the members' means at the runs, in units of the response's scale."""
        if self.recipe != "fast" or not self.knows_mean:
            return None
        some = np.linspace(0, len(data) - 1, min(len(data), MOST_TO_COMPARE)).astype(np.int64)
        q, probability = self._quantiles_at(self._features(data.X[some]))
        means = member_means(q, self.response_scaler_, probability)
        return float(np.sqrt(np.mean(means.var(axis=0, ddof=1)))) / self.response_scaler_.scale

    def predict_distribution(self, X: ArrayLike, of: Of = "run") -> PredictiveDistribution:
        """The predictive distribution at new inputs.

        Args:
            X: Inputs, shape (n, d), with the columns of `fit`.
            of: "run" for a new run at x; "mean" for what the ensemble knows of E[y | x], epistemic only. Of the recipe
                "paper", whose members all learn from all runs, it is the spread of the members: a lower bound.

        Returns:
            One distribution per row.
        """
        check_choice(of, "of", ["run", "mean"])
        return self._in_pieces(X, lambda X: self._predict_piece(X, of))

    def _predict_piece(self, X: ArrayLike, of: Of) -> QuantileFunction | Normal:
        q, probability = self._quantiles(X)
        if of == "run":
            return distribution_of_run(q, self.response_scaler_, probability)
        if not self.knows_mean:
            raise InvalidInput("n_members must be at least 2 for of='mean', got 1; fit again with n_members=5")
        typical = None if self.disagreement_ is None else self.disagreement_ * self.response_scaler_.scale
        return distribution_of_mean(member_means(q, self.response_scaler_, probability), typical)

    @property
    def knows_mean(self) -> bool:
        """Whether there are members to disagree, so that of="mean" is answered."""
        return self.network_.shape.n_members > 1

    def predict_members(self, X: ArrayLike) -> FloatArray:
        """Each member's median, in units of y, (n, d) -> (K, n)."""
        q, probability = self._quantiles(X)
        each = [distribution_of_run(q[:, j : j + 1], self.response_scaler_, probability) for j in range(q.shape[1])]
        return np.stack([member.median() for member in each])

    @property
    def knows_out_of_fold(self) -> bool:
        """Whether members hold rows out, and no feature map looks at the responses."""
        splits_only = not self.features or isinstance(self.features, BoundaryFeatures)
        return self.recipe == "fast" and splits_only and self.missing == "error"

    def predict_out_of_fold(self, X: ArrayLike, y: ArrayLike) -> tuple[IntArray, QuantileFunction]:
        """Rows that a member held out, and their distributions by that member, drawn towards the others.

        One member alone says less than all together. How much, `gain_of_pooling` tells without looking at y; its
        quantiles are moved towards the mean of the others, which have seen the row, by as much (`as_if_pooled`).

        Args:
            X: Inputs of `fit`, shape (n, d).
            y: Responses of `fit`, shape (n,).
        """
        X, y = self._checked(X), np.asarray(y, dtype=np.float64)
        number = merged_numbers(X, y)
        holder = np.full(int(number.max()) + 1, -1)
        for member in reversed(range(len(self._aside))):  # the first that held it out counts
            holder[self._aside[member]] = member
        rows = np.flatnonzero(holder[number] >= 0)
        if self.features_:
            return rows, self._out_of_fold_by_regime(number[rows], holder[number[rows]])
        Z = self.input_scaler_.transform(X)
        mirrored = mirrored_inputs(Z)
        q = member_quantiles(self.network_, Z[rows], self.spread_)
        fresh = None if mirrored is None else member_quantiles(self.network_, mirrored, self.spread_)
        t = torch.as_tensor(self.response_scaler_.transform(y[rows]), dtype=q.dtype)
        table = as_if_pooled(q, torch.as_tensor(holder[number[rows]]), t, fresh)
        table += CHOSEN_LENGTH / len(y) * (table[:, len(GRID) // 2] - t.double().numpy())[:, None]
        return rows, QuantileFunction(GRID, self.response_scaler_.inverse(table), support=self.response_scaler_.bounds)

    def _out_of_fold_by_regime(self, number: IntArray, holder: IntArray) -> QuantileFunction:
        """Distributions of rows of the merged runs by the members that held them out, regimes named out of fold."""
        Z, probability = self._unseen_features[number], None
        parts, regimes = [Z], _regime_map(self.features_)
        if regimes is not None:
            probability, parts = regimes.alternatives(Z)
        at = np.arange(len(number))
        found = [member_quantiles(self.network_, self.input_scaler_.transform(part), self.spread_) for part in parts]
        q = torch.stack([each[holder, at].unsqueeze(0) for each in found])
        if regimes is not None and self.response_scaler_.bounds == (None, None):
            q = undo_standardisation(q, regimes.levels(), self.response_scaler_)
        return distribution_of_run(q, self.response_scaler_, probability)

    def _scaled_rival(self, rival: ArrayLike | None, X: ArrayLike, y: ArrayLike) -> Rival | None:
        """A rival's CRPS on the scaled response, in the order of the merged runs; None where scales do not compare."""
        if rival is None or self.features or not self.response_scaler_.is_linear or self.missing != "error":
            return None
        number = merged_numbers(self._checked(X), np.asarray(y, dtype=np.float64))
        return Rival(rival, number, self.response_scaler_.scale)

    def predict_failure_probability(self, X: ArrayLike) -> FloatArray:
        """Probability that a run at x fails, by the runs of `fit` whose response was missing, (n, d) -> (n,).

        Needs `missing="regime"`; zeros where no run had failed.
        """
        check_is_fitted(self, "network_")
        if self.failure_ is None:
            raise InvalidInput(
                f"missing must be 'regime' for predict_failure_probability, got {self.missing!r}; "
                "fit again with missing='regime' and y NaN where a run failed"
            )
        return self.failure_.probability(self._checked(X))

    def map_regimes(self, *, names: Sequence[str] | None = None) -> RegimeMap | None:
        """Where `BoundaryFeatures` found regimes, runs coloured by the regime that is more probable; None for one."""
        check_is_fitted(self, "network_")
        for each in self.features_:
            if isinstance(each, BoundaryFeatures) and each.classifier_ is not None:
                X = self.input_scaler_.inverse(self.coverage_.inputs)[:, : each.n_inputs_]
                called, coded = names or self._input_names(), [coder.column for coder in self.coders_]
                return map_classifier(each.classifier_, X, None, called, coded) if X.shape[1] == len(called) else None
        return None

    def summary(self) -> dict[str, str]:
        """What was fitted and how, in words, for reports."""
        check_is_fitted(self, "network_")
        shape, training = self.settings_.shape, self.settings_.training
        w = self.weights_
        return {
            "recipe": self.recipe,
            "distinct runs": str(self.n_rows_),
            "inputs": str(self.n_features_in_),
            "members": str(shape.n_members),
            "hidden layers of f_x": " + ".join(str(width) for width in shape.widths),
            **({"Fourier features": str(shape.n_fourier)} if shape.n_fourier else {}),
            "loss weights": f"{w.location:g}, {w.order:g}, {w.quantile:g}",
            "dropout": f"{self.settings_.dropout:g}",
            "randomized prior": f"{self.settings_.prior_scale:g}",
            "epochs": f"{self.history_.epoch[-1]:.0f} of at most {training.most_epochs}",
            "spread factor": f"{self.spread_:.2f}",
            "training time": f"{self.history_.seconds:.1f} s",
            **({} if self.failure_ is None else {"failed runs": str(self.failure_.n_failed)}),
        }

    def to_state(self) -> State:
        """What the fitted surrogate keeps in its file: settings, scales, columns, data fingerprint, network."""
        check_is_fitted(self, "network_")
        table, mixture = self._shared_state(), self.bimodality_.mixture
        values: dict[str, Any] = {
            **table.values,
            "weights": asdict(self.weights_),
            "bimodality": [self.bimodality_.bic_gain, self.bimodality_.valley],
            "settings": asdict(self.settings_),
            "spread": self.spread_,
            "disagreement": self.disagreement_,
            "seconds": self.history_.seconds,
            "n_maps": len(self.features_),
        }
        arrays = {f"network.{name}": part.detach().cpu().numpy() for name, part in self.network_.state_dict().items()}
        arrays |= {**table.arrays, "relevance": self.relevance_}
        arrays |= {f"history.{name}": getattr(self.history_, name) for name in HISTORY_CURVES}
        arrays |= {"mixture": np.stack([mixture.share, mixture.mean, mixture.sd])}
        state = State("QuantileSurrogate", values, arrays)
        for i, each in enumerate(self.features_):
            state = state.with_part(f"map{i}", state_of_part(each, "feature map"))
        return state if self.failure_ is None else state.with_part("failure", self.failure_.to_state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The surrogate that a file describes; every part is checked against the others."""
        model = cls._from_shared(state)
        model.weights_ = state.typed("weights", LossWeights)
        bic_gain, valley = state.typed("bimodality", tuple[float, float])
        model.bimodality_ = Bimodality(bic_gain, valley, GaussianMixture(*state.array("mixture", (3, 2))))
        model.settings_ = restored_settings(state)
        parts = [state.nested(f"map{i}") for i in range(state.count("n_maps"))]
        model.features_ = [restore_part(part, FeatureMap, "feature map") for part in parts]
        width = model._features(model.input_scaler_.middle(model.n_features_in_)).shape[1]
        if width != model.input_scaler_.n_inputs:
            raise UnreadableFile(f"the feature maps in the model file must fit its scales, got {width} columns")
        if any(not isinstance(each, Identity) for each in model.features_):
            model.features = [clone(each) for each in model.features_]
        model.network_ = restored_network(model.settings_, state, model.input_scaler_)
        model.history_ = restored_history(state)
        model.spread_ = state.number("spread", positive=True)
        has_one = state.values.get("disagreement") is not None  # older files have none
        model.disagreement_ = state.number("disagreement", at_least=0.0, at_most=1e9) if has_one else None
        model.relevance_ = state.array("relevance", (model.input_scaler_.n_outputs,))
        is_regime = model.missing == "regime"
        model.failure_ = FailureModel.from_state(state.nested("failure"), model.n_features_in_) if is_regime else None
        return model

    def _check_settings(self) -> Bounds:
        """Every constructor argument but data-dependent ones, checked at the door; the bounds of y as a pair."""
        check_choice(self.recipe, "recipe", ["fast", "paper"])
        check_choice(self.device, "device", ["auto", "cpu", "cuda"])
        check_choice(self.missing, "missing", ["error", "regime"])
        for name in ("n_members", "n_hidden", "n_layers", "n_epochs", "batch_size", "n_fourier"):
            value: int | None = getattr(self, name)
            if value is not None:
                check_count(value, name, at_least=0 if name == "n_fourier" else 1)
        if self.learning_rate is not None:
            check_nonnegative(self.learning_rate, "learning_rate", strictly=True)
        if self.dropout is not None and not (isinstance(self.dropout, (int, float)) and 0 <= self.dropout < 1):
            raise InvalidInput(f"dropout must lie in [0, 1), got {self.dropout!r}")
        check_count(self.n_cosines, "n_cosines")
        check_nonnegative(self.prior_scale, "prior_scale")
        check_nonnegative(self.weight_decay, "weight_decay")
        return as_bounds(self.y_bounds)

    def _choose_weights(self, data: Dataset) -> LossWeights:
        named = {"default": DEFAULT, "quantile-dominant": QUANTILE_DOMINANT}
        self.bimodality_ = measure_bimodality(data.y, data.weight)
        weights = self.weights
        if weights is None:
            weights = "auto" if self.recipe == "fast" else "default"
        if isinstance(weights, str):
            check_choice(weights, "weights", [*named, "auto"])
            automatic = QUANTILE_DOMINANT if self.bimodality_.is_bimodal else DEFAULT
            return named.get(weights, automatic)
        try:
            values = np.asarray(weights, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.empty(0)
        if values.shape != (3,) or not np.isfinite(values).all() or (values < 0).any() or values[2] == 0:
            raise InvalidInput(
                f"weights must be three numbers of at least 0, the last positive, got {self.weights!r}; "
                "pass (0.3, 0.3, 0.4)"
            )
        return LossWeights(*values.tolist())

    def _quantiles(self, X: ArrayLike) -> tuple[Tensor, FloatArray | None]:
        """Quantiles of K members in each of k regimes, shape (k, K, n, m), and the regimes' probabilities, (n, k)."""
        check_is_fitted(self, "network_")
        return self._quantiles_at(self._features(self._checked(X)))

    def _quantiles_at(self, Z: FloatArray) -> tuple[Tensor, FloatArray | None]:
        """As `_quantiles`, at features Z, shape (n, p)."""
        probability: FloatArray | None = None
        parts, regimes = [Z], _regime_map(self.features_)
        if regimes is not None:
            probability, parts = regimes.alternatives(Z)
        found = [member_quantiles(self.network_, self.input_scaler_.transform(part), self.spread_) for part in parts]
        q = torch.stack(found) if len(found) > 1 else found[0].unsqueeze(0)  # one copy less of what may be large
        if regimes is not None and self.response_scaler_.bounds == (None, None):
            q = undo_standardisation(q, regimes.levels(), self.response_scaler_)
        return q, probability

    def _features(self, X: FloatArray) -> FloatArray:
        for feature_map in self.features_:
            X = _checked_features(feature_map.transform(X), X, feature_map)
        return X


def _copied_map(given: object) -> FeatureMap:
    """An unfitted copy of a feature map; what is none is refused."""
    if not isinstance(given, FeatureMap):
        raise InvalidInput(f"features must be None, a feature map or a list of them, got {given!r}")
    copy: FeatureMap = clone(given)
    return copy


def _regime_map(maps: Sequence[FeatureMap]) -> SplitsRegimes | None:
    """The fitted map that splits the runs into regimes, if there is one."""
    splitting = [each for each in maps if isinstance(each, SplitsRegimes) and len(each.levels()[0]) > 1]
    if len(splitting) > 1:
        names = " and ".join(type(each).__name__ for each in splitting)
        raise InvalidInput(
            f"features must hold at most one map that splits the runs into regimes, got {names}; "
            "pass mix=False to all but one"
        )
    return splitting[0] if splitting else None


def _checked_features(Z: FloatArray, X: FloatArray, feature_map: FeatureMap) -> FloatArray:
    """What a map returned for inputs X, shape (n, d), if it is finite, (n, p), and starts with X itself."""
    name, d = type(feature_map).__name__, X.shape[1]
    if Z.ndim != 2 or len(Z) != len(X) or Z.shape[1] < d or not np.array_equal(Z[:, :d], X):
        raise InvalidInput(
            f"features must return x followed by new columns, got shape {Z.shape} from {name} for {X.shape}"
        )
    return check_finite(Z, f"what {name} returns")
