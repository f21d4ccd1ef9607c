"""QuantileSurrogate: a scikit-learn regressor that returns the whole predictive distribution (GBC of the paper).

`fit` takes data through one door, lets the feature map and the recipe decide, and keeps what was learnt in
attributes ending in an underscore. Everything it predicts is read from one law per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self

import numpy as np
import torch
from sklearn.base import clone
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from genbayes.arrays import FloatArray
from genbayes.data.dataset import Dataset
from genbayes.distribution import Normal, QuantileFunction
from genbayes.errors import InvalidInput
from genbayes.features import FeatureMap, Identity, measure_bimodality
from genbayes.network import DEFAULT, QUANTILE_DOMINANT, LossWeights
from genbayes.persistence import State
from genbayes.scaling import Bounds, as_bounds
from genbayes.seeding import RandomState, as_generator
from genbayes.surrogate.ensemble import at_levels, law_of_mean, law_over_alternatives, member_quantiles
from genbayes.surrogate.failure import FailureModel, GivenRuns, learn_failures, part_failures
from genbayes.surrogate.options import RecipeOptions
from genbayes.surrogate.recipes import train
from genbayes.surrogate.state import restore_fitted, state_of_fitted
from genbayes.tabular import TabularRegressor
from genbayes.validation import check_choice, check_count, check_finite, check_nonnegative

__all__ = ["QuantileSurrogate"]


class QuantileSurrogate(TabularRegressor):
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
        n_waves: Waves of the inputs that join them, for responses that change quickly along an input; 0 for none, None
            leaves it to the recipe.
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
        n_waves: int | None = None,
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
        self.n_waves = n_waves
        self.n_cosines = n_cosines
        self.dropout = dropout
        self.n_epochs = n_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.device = device
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the distribution of y given x from runs.

        Args:
            X: Inputs, shape (n, d): an array, or a pandas or polars frame whose column names are remembered.
            y: Responses, shape (n,); NaN for a failed run with `missing="regime"`.
            sample_weight: Weights, shape (n,); a weight of 2 equals giving the row twice, to the bit.

        Returns:
            The fitted surrogate.
        """
        options = self._check_settings()
        rng = as_generator(self.random_state)
        given = part_failures(X, y, sample_weight) if self.missing == "regime" else None
        runs_given = (X, y, sample_weight) if given is None else given.done
        data = self._take_runs(*runs_given, options.bounds)
        self.weights_ = self._choose_weights(data)
        self.features_ = _as_maps(self.features)
        rng_features, rng_cover, rng_training = rng.spawn(3)
        Z = data.X
        for feature_map, child in zip(self.features_, rng_features.spawn(len(self.features_)), strict=True):
            Z = _checked_features(feature_map.fit_transform(Dataset(Z, data.y, data.weight), child), Z, feature_map)
        for feature_map in self.features_:
            Z = feature_map.conditioned(Z)
        standardised = _level_map(self.features_, options.bounds).standardised(data.y)
        runs = self._learn_scales(Dataset(Z, standardised, data.weight), rng_cover, options.bounds)
        trained = train(runs, self.weights_, options, rng_training)
        self.network_, self.history_, self.settings_ = trained.network, trained.history, trained.settings
        self.spread_, self.relevance_ = trained.spread, trained.relevance
        self.failure_ = None if given is None else self._learn_failures(given, rng.spawn(1)[0])
        return self

    def predict_distribution(self, X: Any, of: Literal["run", "mean"] = "run") -> QuantileFunction | Normal:
        """The predictive distribution at new inputs.

        Args:
            X: Inputs, shape (n, d), with the columns of `fit`.
            of: "run" for a new run at x; "mean" for what the ensemble knows of E[y | x], epistemic only.

        Returns:
            One law per row.
        """
        check_choice(of, "of", ["run", "mean"])
        check_is_fitted(self, "network_")
        probability, parts = self._alternatives(self._features(self._checked(X)))
        inputs = [self.input_scaler_.transform(Z) for Z in parts]
        found = [member_quantiles(self.network_, Z, self.spread_) for Z in inputs]
        q = torch.stack(found) if len(found) > 1 else found[0].unsqueeze(0)  # one copy less of what may be large
        levels = _level_map(self.features_, self.response_scaler_.bounds).levels()
        q = at_levels(q, levels, self.response_scaler_)
        if of == "run":
            return law_over_alternatives(q, probability, self.response_scaler_)
        if q.shape[1] == 1:
            raise InvalidInput("n_members must be at least 2 for of='mean', got 1; fit again with n_members=5")
        return law_of_mean(q, probability, self.response_scaler_)

    def predict_failure_probability(self, X: Any) -> FloatArray:
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
            **({"waves of the inputs": str(shape.n_waves)} if shape.n_waves else {}),
            "loss weights": f"{w.location:g}, {w.order:g}, {w.quantile:g}",
            "dropout": f"{self.settings_.dropout:g}",
            "randomized prior": f"{self.settings_.prior_scale:g}",
            "epochs": f"{self.history_.epoch[-1]:.0f} of at most {training.most_epochs}",
            "spread factor": f"{self.spread_:.2f}",
            "training time": f"{self.history_.seconds:.1f} s on {self.history_.n_threads} thread(s)",
            **({} if self.failure_ is None else {"failed runs": str(self.failure_.n_failed)}),
        }

    def to_state(self) -> State:
        """What the fitted surrogate keeps in its file."""
        check_is_fitted(self, "network_")
        return state_of_fitted(self)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The surrogate that a file describes."""
        return restore_fitted(cls, state)

    def _check_settings(self) -> RecipeOptions:
        """Every constructor argument but data-dependent ones, checked at the door."""
        check_choice(self.recipe, "recipe", ["fast", "paper"])
        check_choice(self.device, "device", ["auto", "cpu", "cuda"])
        check_choice(self.missing, "missing", ["error", "regime"])
        chosen = {name: getattr(self, name) for name in ("n_members", "n_hidden", "n_layers", "n_epochs", "batch_size")}
        counts = {name: None if value is None else check_count(value, name) for name, value in chosen.items()}
        counts["n_waves"] = None if self.n_waves is None else check_count(self.n_waves, "n_waves", at_least=0)
        rate = self.learning_rate
        if rate is not None:
            rate = check_nonnegative(rate, "learning_rate", strictly=True)
        if self.dropout is not None and not (isinstance(self.dropout, (int, float)) and 0 <= self.dropout < 1):
            raise InvalidInput(f"dropout must lie in [0, 1), got {self.dropout!r}")
        return RecipeOptions(
            recipe=self.recipe,
            n_cosines=check_count(self.n_cosines, "n_cosines"),
            prior_scale=check_nonnegative(self.prior_scale, "prior_scale"),
            weight_decay=check_nonnegative(self.weight_decay, "weight_decay"),
            learning_rate=rate,
            dropout=None if self.dropout is None else float(self.dropout),
            device=self.device,
            verbose=bool(self.verbose),
            bounds=as_bounds(self.y_bounds),
            **counts,
        )

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

    def _learn_failures(self, given: GivenRuns, rng: np.random.Generator) -> FailureModel:
        X = self._checked(given.X)
        weight = np.ones(len(X))
        if given.weight is not None:
            weight = _check_sample_weight(given.weight, X, dtype=np.float64, ensure_non_negative=True)
        return learn_failures(X, given.failed, weight, rng)

    def _alternatives(self, Z: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        """Probabilities of what the maps leave open, (n, k), and features under each alternative, k of (n, p)."""
        probability, parts = np.ones((len(Z), 1)), [Z]
        for feature_map in self.features_:
            split = [feature_map.alternatives(part) for part in parts]
            probability = np.column_stack([weight * probability[:, [j]] for j, (weight, _) in enumerate(split)])
            parts = [part for _, under in split for part in under]
        return probability, parts

    def _features(self, X: FloatArray) -> FloatArray:
        for feature_map in self.features_:
            X = _checked_features(feature_map.transform(X), X, feature_map)
        return X


def _as_maps(features: FeatureMap | Sequence[FeatureMap] | None) -> list[FeatureMap]:
    """Unfitted copies of the feature maps, in order."""
    if features is None:
        return [Identity()]
    maps = list(features) if isinstance(features, (list, tuple)) else [features]
    for each in maps:
        if not isinstance(each, FeatureMap):
            raise InvalidInput(f"features must be None, a feature map or a list of them, got {each!r}")
    return [clone(each) for each in maps]


def _level_map(maps: Sequence[FeatureMap], bounds: Bounds) -> FeatureMap:
    """The map that tells levels apart; none where there are several such maps, or bounds, which hold for y itself."""
    telling = [each for each in maps if len(each.levels()[0]) > 1]
    return telling[0] if len(telling) == 1 and bounds == (None, None) else Identity()


def _checked_features(Z: FloatArray, X: FloatArray, feature_map: FeatureMap) -> FloatArray:
    """What a map returned for inputs X, shape (n, d), if it is finite, (n, p), and starts with X itself."""
    name, d = type(feature_map).__name__, X.shape[1]
    if Z.ndim != 2 or len(Z) != len(X) or Z.shape[1] < d or not np.array_equal(Z[:, :d], X):
        raise InvalidInput(
            f"features must return x followed by new columns, got shape {Z.shape} from {name} for {X.shape}"
        )
    return check_finite(Z, f"what {name} returns")
