"""Where regimes lie: their probabilities over the two inputs that matter most for them, for a picture.

Every model that has a classifier of regimes can be asked (`models.protocols.MapsRegimes`); drawn by `plotting.regimes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from genbayes.arrays import FloatArray, IntArray
from genbayes.errors import InvalidInput
from genbayes.models.regimes.classifier import RegimeClassifier

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from genbayes.plotting.regimes import RegimeMapLike

N_AVERAGED = 30  # runs whose other inputs a map of the regimes is averaged over
N_VALUES = 60  # of each input


@dataclass(frozen=True)
class RegimeMap:
    """Where regimes lie.

    Attributes:
        names: Names of the inputs, one or two.
        axes: Values of each on the grid, (g,) each.
        probability: Probability of each regime, (k, g) or (k, g, g): first input, then second.
        points: The runs' values of these inputs, (m, 1) or (m, 2).
        regime: The regime of each run, (m,).
    """

    names: tuple[str, ...]
    axes: tuple[FloatArray, ...]
    probability: FloatArray
    points: FloatArray
    regime: IntArray


def map_classifier(
    classifier: RegimeClassifier,
    X: FloatArray,
    regime: IntArray | None,
    names: Sequence[str],
    categorical: Sequence[int] = (),
    n_values: int = N_VALUES,
) -> RegimeMap | None:
    """Probabilities of the regimes over the two inputs that matter most; None where no input is a number.

    Averaged over the other inputs of some runs, so that a boundary that depends on those too looks as uncertain as it
    is if they are not known. Categories are averaged over as well.

    Args:
        classifier: Of the regimes, from inputs as they are given.
        X: Inputs of runs, categories coded, shape (m, d).
        regime: The regime of each, shape (m,); None for the one that the classifier names.
        names: Of the inputs, d of them.
        categorical: Columns that are categories.
        n_values: Values of each input.
    """
    columns = range(X.shape[1]) if classifier.front is None else classifier.front.numeric
    relevance = {j: r for j, r in zip(columns, classifier.relevance, strict=False) if j not in categorical}
    if not relevance:
        return None
    chosen = sorted(relevance, key=lambda j: -relevance[j])[:2]
    grid = np.linspace(X[:, chosen].min(axis=0), X[:, chosen].max(axis=0), n_values).T
    places = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1).reshape(-1, len(chosen))
    others = X[np.linspace(0, len(X) - 1, min(len(X), N_AVERAGED)).astype(np.int64)]
    probability = np.zeros((1, 1))
    for other in others:
        rows = np.tile(other, (len(places), 1))
        rows[:, chosen] = places
        probability = probability + classifier.probabilities(rows) / len(others)
    return RegimeMap(
        names=tuple(str(names[j]) for j in chosen),
        axes=tuple(grid),
        probability=probability.T.reshape(-1, *[n_values] * len(chosen)),
        points=X[:, chosen],
        regime=classifier.probabilities(X).argmax(axis=1) if regime is None else regime,
    )


def plot_map(found: RegimeMapLike | None, ax: Axes | None = None) -> Axes:
    """Draw regimes, their boundary and how sure it is; refused where there is one regime or no numeric input."""
    from genbayes.plotting import plot_regimes

    if found is None:
        raise InvalidInput(
            "plot() needs two regimes or more and a numeric input, got none to draw; "
            "predict_distribution(X).plot() draws the predictions"
        )
    return plot_regimes(found, ax=ax)
