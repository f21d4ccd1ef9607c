"""Which rows a model learns from and which calibrate it: a random split or random folds, within each group.

Groups are split one by one, so that each keeps its share of calibration rows; within a group every row is equally
likely to be chosen, which is all that the coverage needs.
"""

from __future__ import annotations

import math

import numpy as np

from genbayes.arrays import BoolArray, IntArray
from genbayes.calibration.groups import Groups
from genbayes.calibration.ranks import highest_level, require_support, rows_needed
from genbayes.errors import InvalidInput

__all__ = ["draw_folds", "draw_split"]

SHARE = 0.25  # of the rows that calibrate if the user does not say
ENOUGH = 1_000  # calibration rows of a group: its coverage then varies by 1% (sd), and the model gains more by others


def draw_split(
    codes: IntArray, groups: Groups, level: float, share: float | None, fewest: int, rng: np.random.Generator
) -> BoolArray:
    """A random split of n rows.

    Args:
        codes: Group of each row, shape (n,).
        groups: Names of the groups.
        level: The level that calibration rows must support.
        share: Share of calibration rows; None for a quarter, at most 1,000, but as many as the level needs.
        fewest: Rows that the model needs at least.
        rng: Source of the split.

    Returns:
        Which rows calibrate, shape (n,).

    Example:
        >>> rng = np.random.default_rng(0)
        >>> int(draw_split(np.zeros(60, dtype=int), Groups(), 0.9, None, 10, rng).sum())
        19
    """
    held_out = np.zeros(len(codes), dtype=bool)
    if share is None:
        _require_rows(codes, groups, level, fewest)
    for code in range(len(groups)):
        rows = np.flatnonzero(codes == code)
        n_held = _count(len(rows), level) if share is None else round(share * len(rows))
        require_support(n_held, level, groups.whose(code))
        held_out[rng.permutation(rows)[:n_held]] = True
    if (~held_out).sum() < fewest:
        raise InvalidInput(
            f"X must leave at least {fewest} rows to learn from, got {(~held_out).sum()} of {len(codes)}; "
            "lower level or calibration_share, or give more rows"
        )
    return held_out


def draw_folds(
    codes: IntArray, groups: Groups, level: float, n_folds: int, fewest: int, rng: np.random.Generator
) -> IntArray:
    """Random folds of n rows, of nearly equal sizes; arguments as in `draw_split`.

    Returns:
        Fold of each row, 0 to n_folds - 1, shape (n,).

    Example:
        >>> folds = draw_folds(np.zeros(60, dtype=int), Groups(), 0.9, 5, 10, np.random.default_rng(0))
        >>> np.bincount(folds)
        array([12, 12, 12, 12, 12])
    """
    n = len(codes)
    needed = max(n_folds, math.ceil(fewest * n_folds / (n_folds - 1)))
    if n < needed:
        raise InvalidInput(
            f"X must have at least {needed} rows for method='cross' with {n_folds} folds, got {n}; give more rows"
        )
    for code, size in enumerate(np.bincount(codes, minlength=len(groups))):
        require_support(int(size), level, groups.whose(code))
    order = np.concatenate([rng.permutation(np.flatnonzero(codes == code)) for code in range(len(groups))])
    folds = np.empty(n, dtype=np.int64)
    folds[order] = np.arange(n) % n_folds
    return folds


def _count(n: int, level: float) -> int:
    """Calibration rows out of n: a quarter, not more than enough, not fewer than the level needs."""
    return max(min(math.ceil(SHARE * n), ENOUGH), rows_needed(level))


def _require_rows(codes: IntArray, groups: Groups, level: float, fewest: int) -> None:
    """Enough rows in each group for the level, and in all for the model."""
    n, need = len(codes), rows_needed(level)
    if groups.labels:
        for code, size in enumerate(np.bincount(codes, minlength=len(groups))):
            require_support(int(size), level, groups.whose(code))
    total = need * len(groups) + fewest
    if n < total:
        spare = (n - fewest) // len(groups)
        most = math.floor(1e4 * highest_level(max(spare, 0))) / 1e4
        rescue = f"lower level to {most:g} or use method='cross'" if most > 0 else "give more rows"
        calibrate = f"{need} to calibrate" + (" each group" if groups.labels else "")
        raise InvalidInput(
            f"X must have at least {total} rows for method='split' at level {level!r} "
            f"({calibrate}, {fewest} to learn from), got {n}; {rescue}"
        )
