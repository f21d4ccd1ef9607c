"""Splits and folds of rows, all drawn from the generator that is handed in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from genbayes.arrays import BoolArray, FloatArray, IntArray
from genbayes.data.dataset import number_inputs, number_runs
from genbayes.errors import InvalidInput
from genbayes.seeding import RandomState, as_generator
from genbayes.validation import check_level

ALWAYS_LEARNT = -1  # fold of rows that are never held out
MOST_HELD_OUT = 2_000  # rows of a member: enough to see an improvement of a percent
FEWEST_TO_GROUP = 10  # distinct inputs that can be held out by tenths
RUNS_AN_INPUT = 2.0  # on average, from which on repeated inputs are taken to be a design and not chance


def hold_out(n: int, share: float, random_state: RandomState) -> tuple[IntArray, IntArray]:
    """Row numbers of a random split: (1 - share) of n rows to learn from, `share` to score on, each sorted.

    Example:
        >>> [len(part) for part in hold_out(10, 0.2, 0)]
        [8, 2]
    """
    order = as_generator(random_state).permutation(n)
    n_held = max(1, round(check_level(share) * n))
    return np.sort(order[n_held:]), np.sort(order[:n_held])


def hold_out_unseen(
    X: FloatArray, y: FloatArray, share: float, random_state: RandomState, categorical: Sequence[int] = ()
) -> tuple[IntArray, IntArray]:
    """As `hold_out`, but no held-out row has its like among the rows to learn from, or a category that they lack.

    What is held out are the units of `number_units`, as many as fit into `share` of the rows, one at least. Where every
    row is a unit and no category is rare, the split is that of `hold_out`.

    Args:
        X: Inputs as numbers, such as by `code_values`, shape (n, d).
        y: Responses, shape (n,).
        share: Share of the rows to hold out.
        random_state: Seed of the split.
        categorical: Columns that are categories.

    Returns:
        Row numbers to learn from, and to score on, each sorted.

    Example:
        >>> X = np.arange(10.0).repeat(3)[:, None]
        >>> hold_out_unseen(X, X[:, 0], 0.2, 0)[1]
        array([ 6,  7,  8, 21, 22, 23])
    """
    unit = number_units(X, y)
    count, first = np.bincount(unit), np.unique(unit, return_index=True)[1]
    order = as_generator(random_state).permutation(len(y))
    order = unit[order[np.isin(order, first)]]
    n_held = max(1, int((np.cumsum(count[order]) <= max(1, round(check_level(share) * len(y)))).sum()))
    fold = np.where(np.isin(unit, order[:n_held]), 0, ALWAYS_LEARNT)
    fold = learn_rare_categories(fold, X, categorical)
    if (fold == ALWAYS_LEARNT).all():
        raise InvalidInput(
            "categorical must leave rows to be held out, got categories that no other rows have; give more rows of each"
        )
    return np.flatnonzero(fold == ALWAYS_LEARNT), np.flatnonzero(fold != ALWAYS_LEARNT)


def deal_folds(order: IntArray, n_folds: int) -> IntArray:
    """Folds dealt out in turn to n things in this order, of nearly equal sizes: the fold of each, shape (n,).

    Example:
        >>> deal_folds(np.array([2, 0, 1]), 2)
        array([1, 0, 0])
    """
    fold = np.empty(len(order), dtype=np.int64)
    fold[order] = np.arange(len(order)) % n_folds
    return fold


def are_repeated_on_purpose(n_rows: int, n_inputs: int) -> bool:
    """Whether so many rows of so many distinct inputs are a design; else new runs will repeat inputs as often.

    Example:
        >>> are_repeated_on_purpose(300, 30), are_repeated_on_purpose(300, 290)
        (True, False)
    """
    return n_rows >= RUNS_AN_INPUT * n_inputs


def number_units(X: FloatArray, y: FloatArray) -> IntArray:
    """Which rows are held out together: those of a unit have one number, from 0 by first appearance, (n,).

    Where inputs are repeated on purpose a unit is a whole input, since a surrogate is asked where nothing was run; else
    it is a row with its copies, the rows of equal inputs and response.

    Args:
        X: Inputs as numbers, shape (n, d).
        y: Responses, shape (n,).

    Example:
        >>> X, y = np.array([[1.0], [1.0], [1.0], [2.0], [3.0]]), np.array([5.0, 5.0, 6.0, 7.0, 8.0])
        >>> number_units(X[:4], y[:4]), number_units(X, y)
        (array([0, 0, 0, 1]), array([0, 0, 1, 2, 3]))
    """
    inputs = number_inputs(X)
    return inputs if are_repeated_on_purpose(len(y), int(inputs.max()) + 1) else number_runs(X, y)


def learn_rare_categories(fold: IntArray, X: FloatArray, categorical: Sequence[int]) -> IntArray:
    """Folds with `ALWAYS_LEARNT` for rows of a category that one fold alone has, which others could not predict, (n,).

    Args:
        fold: Fold of each row, shape (n,).
        X: Inputs, categories coded, shape (n, d).
        categorical: Columns that are categories.

    Example:
        >>> learn_rare_categories(np.array([0, 0, 1]), np.array([[7.0], [8.0], [8.0]]), [0])
        array([-1,  0,  1])
    """
    fold = fold.copy()
    for column in categorical:
        for level in np.unique(X[:, column]):
            rows = X[:, column] == level
            if len(np.unique(fold[rows])) == 1:
                fold[rows] = ALWAYS_LEARNT
    return fold


def draw_folds(
    X: FloatArray, y: FloatArray, n_folds: int, categorical: Sequence[int], fewest: int, rng: np.random.Generator
) -> IntArray:
    """Random folds, each of which is new to the rows outside it, as new inputs will be.

    Rows of a unit stay together (`number_units`), and rare categories are never held out (`learn_rare_categories`).

    Args:
        X: Inputs, categories coded, shape (n, d).
        y: Responses, shape (n,).
        n_folds: Number of folds wanted; few distinct inputs get one each.
        categorical: Columns that are categories.
        fewest: Rows that must be left to learn from.
        rng: Draws the folds.

    Returns:
        Fold of each row, `ALWAYS_LEARNT` for rows that no fold may hold out, shape (n,).

    Example:
        >>> x = np.arange(20.0)
        >>> folds = draw_folds(x[:, None], x, 5, (), 10, np.random.default_rng(0))
        >>> np.bincount(folds)
        array([4, 4, 4, 4, 4])
    """
    unit = number_units(X, y)
    fold = deal_folds(rng.permutation(int(unit.max()) + 1), n_folds)[unit]
    fold = learn_rare_categories(fold, X, categorical)
    held_out = fold >= 0
    if not held_out.any():
        raise InvalidInput("categorical must leave rows to be held out, got categories that each occur in one fold")
    if len(X) - int(np.bincount(fold[held_out]).max()) < fewest:
        needed = -(-fewest * n_folds // (n_folds - 1))
        raise InvalidInput(
            f"X must have at least {needed} distinct inputs to be split into {n_folds} folds with {fewest} rows to "
            f"learn from, got {len(np.unique(X, axis=0))} in {len(X)} rows; give more runs"
        )
    fold[held_out] = np.unique(fold[held_out], return_inverse=True)[1]  # no fold is empty
    return fold


def draw_stratified_folds(Z: FloatArray, label: IntArray, rng: np.random.Generator) -> list[IntArray]:
    """Folds with equal shares of every label; rows of one input stay together, so that a fold is new to the others.

    Five folds, or ten of fewer than 200 distinct inputs, which cannot spare a fifth of them.

    Args:
        Z: Inputs, shape (n, p).
        label: Label of each row, such as its regime, shape (n,).
        rng: Draws the order.

    Returns:
        Row numbers of each fold, sorted.

    Example:
        >>> folds = draw_stratified_folds(np.arange(400.0)[:, None], np.arange(400) % 2, np.random.default_rng(0))
        >>> [len(fold) for fold in folds]
        [80, 80, 80, 80, 80]
    """
    _, first, group = np.unique(Z, axis=0, return_index=True, return_inverse=True)
    n_folds = min(5 if len(first) >= 200 else 10, len(first))
    order = rng.permutation(len(first))
    order = order[np.argsort(label[first][order], kind="stable")]
    fold = deal_folds(order, n_folds)[group.reshape(-1)]
    return [np.flatnonzero(fold == j) for j in range(n_folds)]


def draw_member_folds(n: int, n_members: int, rng: np.random.Generator) -> IntArray:
    """Rows that each member of an ensemble holds out: a random fifth, member j the fold j mod 5.

    At most 2,000 rows each, enough to see an improvement of a percent; a handful of rows has fewer folds.

    Returns:
        Row numbers, sorted, shape (K, a).

    Example:
        >>> aside = draw_member_folds(10, 6, np.random.default_rng(0))
        >>> aside.shape, sorted(aside[:5].ravel().tolist()) == list(range(10)), (aside[0] == aside[5]).all()
        ((6, 2), True, np.True_)
    """
    size = max(1, min(n // 5, MOST_HELD_OUT))
    order = rng.permutation(n)
    starts = [(j % min(5, n)) * size for j in range(n_members)]
    return np.stack([np.sort(order[start : start + size]) for start in starts])


def draw_member_folds_by_input(
    Z: FloatArray, n_members: int, rng: np.random.Generator, blocks: Sequence[tuple[int, int]] = ()
) -> IntArray:
    """Rows that each member holds out where runs were repeated on purpose: all runs of a tenth of the inputs.

    Members are asked where nothing was run, and runs kept of an input that they learn say nothing of that. Half of a
    fifth, since inputs are few and every one that is held out is missed. At most 2,000 rows each, and never all runs of
    a category.

    Args:
        Z: Scaled inputs, shape (n, p).
        n_members: Number of members K.
        rng: Draws the order of the inputs.
        blocks: One-hot blocks (start, stop) among the columns, which do not make inputs distinct.

    Returns:
        Row numbers, sorted, shape (K, a); members that hold out fewer than a rows have some of them twice. Where inputs
        are not repeated on purpose, or are fewer than ten, as `draw_member_folds`.

    Example:
        >>> Z = np.repeat(np.arange(20.0), 3)[:, None]
        >>> draw_member_folds_by_input(Z, 5, np.random.default_rng(0)).shape
        (5, 6)
    """
    numeric = np.setdiff1d(np.arange(Z.shape[1]), [j for start, stop in blocks for j in range(start, stop)])
    distinct, group = np.unique(Z[:, numeric], axis=0, return_inverse=True)
    if len(distinct) < FEWEST_TO_GROUP or not are_repeated_on_purpose(len(Z), len(distinct)):
        return draw_member_folds(len(Z), n_members, rng)
    order, count = rng.permutation(len(distinct)), np.bincount(group.reshape(-1))
    held = []
    for j in range(n_members):
        inputs = order[j % 10 :: 10]
        inputs = inputs[: max(1, int(np.sum(np.cumsum(count[inputs]) <= MOST_HELD_OUT)))]  # whole inputs only
        rows = np.flatnonzero(np.isin(group.reshape(-1), inputs))
        held.append(rows[_leaves_some(Z, rows, blocks)])
    size = max(len(rows) for rows in held)
    if min(len(rows) for rows in held) == 0:
        return draw_member_folds(len(Z), n_members, rng)
    return np.stack([np.sort(np.resize(rows, size)) for rows in held])


def _leaves_some(Z: FloatArray, rows: IntArray, blocks: Sequence[tuple[int, int]]) -> BoolArray:
    """Which of these rows, (r,), can be held out together so that every category is left somewhere, (r,)."""
    can = np.ones(len(rows), dtype=bool)
    for start, stop in blocks:
        for column in range(start, stop):
            has = Z[:, column] == Z[:, column].max()
            if has.sum() == has[rows].sum():
                can &= ~has[rows]
    return can


def assign_member_folds(n: int, n_members: int) -> IntArray:
    """Rows that each member holds out where rows keep being added: member j every fifth from the j-th.

    A row stays held out for the same member for ever, however many follow.

    Returns:
        Row numbers, sorted, shape (K, n // 5).

    Example:
        >>> assign_member_folds(11, 2)
        array([[0, 5],
               [1, 6]])
    """
    return np.arange(n_members)[:, None] % 5 + 5 * np.arange(n // 5)


def held_out_folds(n: int, rng: np.random.Generator) -> list[tuple[IntArray, IntArray]]:
    """Row numbers to learn from and to hold out, each sorted: five folds, or one of them when rows abound.

    Example:
        >>> folds = held_out_folds(12, np.random.default_rng(0))
        >>> [len(held_out) for _, held_out in folds], len(folds[0][0])
        ([3, 3, 2, 2, 2], 9)
    """
    parts = [np.sort(part) for part in np.array_split(rng.permutation(n), min(n, 5))]  # a handful has fewer
    rows = np.arange(n)
    used = parts[:1] if n > 10_000 else parts  # one held-out fifth then tells as much as is worth knowing
    return [(np.setdiff1d(rows, part), part) for part in used]
