"""How strong must the classifier of GBC-Aug be (paper sections 4.2 and 6.2)? Weak ones, for this benchmark only.

A mixture on y labels the runs, a classifier learns the labels from x, and its probability becomes one more input of the
paper's network, in-sample as in the paper. Ours, a committee with out-of-fold probabilities, comes last.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from genbayes import BoundaryFeatures, QuantileSurrogate
from genbayes.arrays import FloatArray
from genbayes.models.regimes.mixture import fit_gaussians
from genbayes_bench.problems import Split, draw_phantom, draw_star
from genbayes_bench.studies.ablations.ablation import Ablation, Size, score_law

__all__ = ["CLASSIFIERS", "add_probability"]

N_EPOCHS = 8_000  # of the paper's GBC-Aug
N_PASSES = 3_000  # of the paper's classifier, at most
LAYERS: dict[str, tuple[int, ...]] = {"linear": (), "one layer of 16": (16,), "three layers of 256": (256, 256, 256)}


def make_classifier(layers: tuple[int, ...], seed: int, n_passes: int) -> Any:
    """A classifier of the regimes; without hidden layers, a linear one."""
    if not layers:
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))
    network = MLPClassifier(layers, max_iter=n_passes, random_state=seed, n_iter_no_change=50, tol=1e-6)
    return make_pipeline(StandardScaler(), network)


def add_probability(layers: tuple[int, ...], split: Split, seed: int, n_passes: int) -> tuple[Split, float]:
    """The split with the probability of the upper regime as a further input, and how often the classifier is right.

    Args:
        layers: Hidden layers of the classifier.
        split: The runs.
        seed: Seeds the classifier.
        n_passes: Passes over the rows, at most.

    Returns:
        The split, inputs of shape (n, d + 1), and the share of test runs whose regime is named rightly.
    """
    mixture = fit_gaussians(split.y_train, np.ones(len(split.y_train)), 2)
    label, held_out = (mixture.log_density(y).argmax(axis=1) for y in (split.y_train, split.y_test))
    classifier = make_classifier(layers, seed, n_passes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier.fit(split.X_train, label)

    def appended(X: FloatArray) -> FloatArray:
        return np.column_stack([X, classifier.predict_proba(X)[:, 1]])

    wider = Split(appended(split.X_train), split.y_train, appended(split.X_test), split.y_test)
    return wider, float(np.mean(classifier.predict(split.X_test) == held_out))


def network(size: Size, seed: int, features: BoundaryFeatures | None = None) -> QuantileSurrogate:
    n_epochs = size.epochs(N_EPOCHS)
    settings: dict[str, Any] = {"weights": "quantile-dominant", "n_epochs": n_epochs, "random_state": seed}
    return QuantileSurrogate(recipe="paper", features=features, **settings)


def with_classifier(layers: tuple[int, ...], split: Split, seed: int, size: Size) -> dict[str, float]:
    """The paper's GBC-Aug with a classifier of these layers."""
    wider, accuracy = add_probability(layers, split, seed, size.epochs(N_PASSES))
    model = network(size, seed).fit(wider.X_train, wider.y_train)
    return score_law(model.predict_distribution(wider.X_test), wider) | {"accuracy": accuracy}


def with_committee(mix: bool, split: Split, seed: int, size: Size) -> dict[str, float]:
    """The paper's network on the features of ours."""
    model = network(size, seed, BoundaryFeatures(n_regimes=2, mix=mix)).fit(split.X_train, split.y_train)
    found = score_law(model.predict_distribution(split.X_test), split)
    return found | {"accuracy": float(model.features_[0].accuracy_)}


def without(split: Split, seed: int, size: Size) -> dict[str, float]:
    """The paper's plain network."""
    return score_law(network(size, seed).fit(split.X_train, split.y_train).predict_distribution(split.X_test), split)


CLASSIFIERS = Ablation(
    title="Strength of the classifier in GBC-Aug",
    problems={"phantom": draw_phantom, "star": draw_star},
    variants={
        "none": without,
        **{name: partial(with_classifier, layers) for name, layers in LAYERS.items()},
        "our committee, shown": partial(with_committee, False),
        "our committee, mixed": partial(with_committee, True),
    },
    paper={
        ("phantom", "none"): "0.031",
        ("phantom", "one layer of 16"): "0.024 (82% right, width not given)",
        ("phantom", "three layers of 256"): "0.009 (99.98% right)",
        ("star", "none"): "0.045",
        ("star", "three layers of 256"): "0.013 (99.77% right)",
    },
    columns={"accuracy": "regime named rightly"},
    note=(
        "Phantom and Star are formulas in place of the paper's data. Accuracy is on test runs, for our committee on "
        "training runs that its members had not seen. As often right as the paper's weak classifier is the linear one."
    ),
)
