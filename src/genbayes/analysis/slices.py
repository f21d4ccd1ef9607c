"""Slices: the predictive law along one input, with the other inputs held where they usually are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from genbayes.analysis.inputs import InputTable
from genbayes.arrays import FloatArray
from genbayes.validation import check_count, check_level

__all__ = ["Slice", "slice_inputs"]

N_GRID = 160
LEVELS = (0.5, 0.9)


@dataclass(frozen=True)
class Slice:
    """The predictive law along one input; g values were tried.

    Attributes:
        name: The input.
        column: Its number in X.
        values: Values tried, numbers increasing or categories, shape (g,).
        median: Predictive medians, shape (g,).
        bands: One (level, lower, upper) a central interval, ends of shape (g,).
        categorical: Whether the values are categories.
    """

    name: str
    column: int
    values: Any
    median: FloatArray
    bands: tuple[tuple[float, FloatArray, FloatArray], ...]
    categorical: bool


def slice_inputs(
    model: Any, X: Any, columns: Sequence[int], *, levels: Sequence[float] = LEVELS, n_grid: int = N_GRID
) -> tuple[Slice, ...]:
    """The predictive law along each of the given columns, numbers elsewhere at their median, categories at their mode.

    Args:
        model: Any fitted model with `predict_distribution`.
        X: Rows that say where inputs usually are, a frame or an array, shape (n, d).
        columns: Numbers of the columns to slice along.
        levels: Nominal coverages of the bands.
        n_grid: Values of each input to try.

    Returns:
        One slice a column.

    Example:
        >>> from genbayes.distribution import Normal
        >>> from types import SimpleNamespace
        >>> bell = lambda X: Normal(loc=X.sum(axis=1), scale=np.ones(len(X)))
        >>> X = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 6.0]])
        >>> slice_inputs(SimpleNamespace(predict_distribution=bell), X, [0])[0].median
        array([5., 6., 7.])
    """
    table = InputTable.of(X, model)
    tail = np.array([(1 - check_level(level)) / 2 for level in levels])
    tau = np.r_[0.5, tail, 1 - tail]
    typical = table.typical_row()
    slices = []
    for j in columns:
        values = table.grid(j, check_count(n_grid, "n_grid", at_least=2))
        rows = typical.take(np.zeros(len(values), dtype=np.int64)).replace(j, values)
        median, *ends = model.predict_distribution(rows.X).ppf(tau).T
        lower, upper = ends[: len(tail)], ends[len(tail) :]
        bands = tuple(zip(levels, lower, upper, strict=True))
        slices.append(Slice(table.names[j], j, values, median, bands, table.categorical[j]))
    return tuple(slices)
