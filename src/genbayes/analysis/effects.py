"""Main effects: what each input does on its own to the predictive mean of any model.

The main effect of input j at a value v is the predictive mean averaged over the rows of a table with their
input j set to v (the partial dependence of Friedman 2001, section 8.2). How much of the variance of the
predictive mean it explains says how much the input matters by itself; interactions are not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genbayes.analysis.input_table import InputTable
from genbayes.arrays import AnyArray, FloatArray
from genbayes.models.protocols import Predicts
from genbayes.seeding import RandomState, as_generator
from genbayes.validation import check_count, check_level

N_GRID = 31
N_GRID_ALONE = 201  # a single input: its effect is the prediction itself, nothing is averaged
MOST_ROWS = 1_000  # rows whose predictions give the variances
MOST_AVERAGED = 200  # rows averaged over at each grid value; the error falls with their square root
FEWEST_AVERAGED = 30
MOST_PREDICTIONS = 20_000  # in all; with many inputs fewer rows are averaged over


@dataclass(frozen=True)
class MainEffect:
    """The main effect of one input; g values were tried.

    Attributes:
        name: The input.
        column: Its number in X.
        values: Values tried, numbers increasing or categories, shape (g,).
        mean: Average predictive mean at each, shape (g,).
        share: Variance of the effect over the rows, as a share of the variance of the predictive mean.
        categorical: Whether the values are categories.
    """

    name: str
    column: int
    values: AnyArray
    mean: FloatArray
    share: float
    categorical: bool


def main_effects(
    model: Predicts,
    X: ArrayLike,
    *,
    n_grid: int | None = None,
    n_averaged: int | None = None,
    random_state: RandomState = 0,
) -> tuple[MainEffect, ...]:
    """Main effects of all inputs on the predictive mean, the most important first.

    m_j(v) = mean_i E[y | x_i with x_ij = v] and share_j = var_i m_j(x_ij) / var_i E[y | x_i], with m_j
    interpolated between grid values. Inputs that vary independently and do not interact have shares that add up
    to 1. Interaction leaves less; inputs that vary together, as by chance in few rows, leave less or more.

    Args:
        model: Any fitted model with `predict_distribution`.
        X: Rows to average over, a frame or an array, shape (n, d); of many, a random selection is used.
        n_grid: Values of each input to try; None for 31, more where there is one input.
        n_averaged: Rows averaged over at each value; None for as many as keep the whole to seconds.
        random_state: Chooses the rows; the same ones each time unless changed.

    Returns:
        One effect an input, by falling share.

    Example:
        >>> from types import SimpleNamespace
        >>> line = lambda X: SimpleNamespace(mean=lambda: X @ np.array([1.0, 3.0]))
        >>> X = np.random.default_rng(0).uniform(size=(50, 2))
        >>> [effect.name for effect in main_effects(SimpleNamespace(predict_distribution=line), X)]
        ['x2', 'x1']
    """
    table = InputTable.of(X, model)
    usual = N_GRID if table.d > 1 else N_GRID_ALONE
    n_grid = usual if n_grid is None else check_count(n_grid, "n_grid", at_least=2)
    affordable = int(np.clip(MOST_PREDICTIONS // (n_grid * table.d), FEWEST_AVERAGED, MOST_AVERAGED))
    n_averaged = affordable if n_averaged is None else check_count(n_averaged, "n_averaged")
    if table.d == 1:
        n_averaged = 1
    order = as_generator(random_state).permutation(table.n)
    rows = table.take(np.sort(order[:MOST_ROWS]))
    averaged = table.take(np.sort(order[:n_averaged]))
    total = float(np.var(_mean(model, rows)))
    effects = [_main_effect(model, rows, averaged, j, table.grid(j, n_grid), total) for j in range(table.d)]
    return tuple(sorted(effects, key=lambda effect: -effect.share))


def _main_effect(
    model: Predicts, rows: InputTable, averaged: InputTable, j: int, values: AnyArray, total: float
) -> MainEffect:
    """The effect of column j, from one batch of len(values) copies of the rows averaged over."""
    g = len(values)
    copies = averaged.take(np.tile(np.arange(averaged.n), g)).replace(j, np.repeat(values, averaged.n))
    mean = _mean(model, copies).reshape(g, averaged.n).mean(axis=1)
    explained = float(np.var(_at_rows(rows, j, values, mean)))
    share = explained / total if total > 0 and g > 1 else 0.0
    return MainEffect(rows.names[j], j, values, mean, share, rows.categorical[j])


def _at_rows(rows: InputTable, j: int, values: AnyArray, mean: FloatArray) -> FloatArray:
    """m_j(x_ij) at the rows, (n,): interpolated, or looked up; rows of rare, untried categories are left out."""
    column = rows.column(j)
    if not rows.categorical[j]:
        return np.asarray(np.interp(column, values, mean))
    effect = {str(value): float(m) for value, m in zip(values, mean, strict=True)}
    return np.array([effect[str(value)] for value in column if str(value) in effect])


def _mean(model: Predicts, table: InputTable) -> FloatArray:
    return np.asarray(model.predict_distribution(table.X).mean(), dtype=np.float64)


N_SLICE_POINTS = 160
LEVELS = (0.5, 0.9)


@dataclass(frozen=True)
class Slice:
    """The predictive distribution along one input; g values were tried.

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
    values: AnyArray
    median: FloatArray
    bands: tuple[tuple[float, FloatArray, FloatArray], ...]
    categorical: bool


def slice_inputs(
    model: Predicts,
    X: ArrayLike,
    columns: Sequence[int],
    *,
    levels: Sequence[float] = LEVELS,
    n_grid: int = N_SLICE_POINTS,
) -> tuple[Slice, ...]:
    """The predictive distribution along each of some columns, other numbers at their median, categories at their mode.

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
