"""Main effects: what each input does on its own to the predictive mean of any model.

The main effect of input j at a value v is the predictive mean averaged over the rows of a table with their
input j set to v (the partial dependence of Friedman 2001, section 8.2). How much of the variance of the
predictive mean it explains says how much the input matters by itself; interactions are not seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from genbayes.analysis.inputs import InputTable
from genbayes.arrays import FloatArray
from genbayes.seeding import RandomState, as_generator
from genbayes.validation import check_count

__all__ = ["MainEffect", "main_effects"]

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
    values: Any
    mean: FloatArray
    share: float
    categorical: bool


def main_effects(
    model: Any,
    X: Any,
    *,
    n_grid: int | None = None,
    n_averaged: int | None = None,
    random_state: RandomState = 0,
) -> tuple[MainEffect, ...]:
    """Main effects of all inputs on the predictive mean, the most important first.

    m_j(v) = mean_i E[y | x_i with x_ij = v] and share_j = var_i m_j(x_ij) / var_i E[y | x_i], with m_j
    interpolated between grid values. Inputs that vary independently and do not interact have shares that add up
    to 1; what is missing is interaction.

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


def _main_effect(model: Any, rows: InputTable, averaged: InputTable, j: int, values: Any, total: float) -> MainEffect:
    """The effect of column j, from one batch of len(values) copies of the rows averaged over."""
    g = len(values)
    copies = averaged.take(np.tile(np.arange(averaged.n), g)).replace(j, np.repeat(values, averaged.n))
    mean = _mean(model, copies).reshape(g, averaged.n).mean(axis=1)
    explained = float(np.var(_at_rows(rows, j, values, mean)))
    share = explained / total if total > 0 and g > 1 else 0.0
    return MainEffect(rows.names[j], j, values, mean, share, rows.categorical[j])


def _at_rows(rows: InputTable, j: int, values: Any, mean: FloatArray) -> FloatArray:
    """m_j(x_ij) at the rows, (n,): interpolated, or looked up; rows of rare, untried categories are left out."""
    column = rows.column(j)
    if not rows.categorical[j]:
        return np.asarray(np.interp(column, values, mean))
    effect = {str(value): float(m) for value, m in zip(values, mean, strict=True)}
    return np.array([effect[str(value)] for value in column if str(value) in effect])


def _mean(model: Any, table: InputTable) -> FloatArray:
    return np.asarray(model.predict_distribution(table.X).mean(), dtype=np.float64)
