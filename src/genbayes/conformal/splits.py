"""Which rows calibrate: groups that are calibrated apart, and the split or the folds that give each enough rows.

What is split are rows, or inputs where all runs of one count once (`unit="input"`). Labels of groups are the user's
own, text or numbers; inside they are codes 0, 1, ... in the order of the labels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import BoolArray, IntArray
from genbayes.conformal.recalibration import highest_level, require_support, rows_needed
from genbayes.data.folds import deal_folds
from genbayes.errors import InvalidInput
from genbayes.validation import describe_rows, list_some

SHARE = 0.25  # of the rows that calibrate if the user does not say
ENOUGH = 1_000  # calibration rows of a group: its coverage then varies by 1% (sd), and the model gains more by others

Label = str | int | float | bool


@dataclass(frozen=True)
class Groups:
    """Groups of rows that are calibrated apart, so that coverage holds within each (Mondrian: Vovk et al. 2005).

    They are kept in the order of their codes; none if all rows are calibrated together.

    Attributes:
        labels: Distinct names of the groups.
    """

    labels: tuple[Label, ...] = ()

    @classmethod
    def learn(cls, groups: ArrayLike | None, n: int) -> Groups:
        """The groups of n rows; None for no groups.

        Example:
            >>> Groups.learn(["b", "a", "b"], 3).labels
            ('a', 'b')
        """
        if groups is None:
            return cls()
        return cls(tuple(sorted(set(_as_labels(groups, n)), key=lambda label: (isinstance(label, str), label))))

    def __len__(self) -> int:
        return max(len(self.labels), 1)

    def encode(self, groups: ArrayLike | None, n: int) -> IntArray:
        """Number of the group of each of n rows, shape (n,); zeros if there are no groups.

        Example:
            >>> Groups(("a", "b")).encode(["b", "a", "b"], 3)
            array([1, 0, 1])
        """
        if groups is None and not self.labels:
            return np.zeros(n, dtype=np.int64)
        if groups is None:
            raise InvalidInput(
                f"groups must be given, since fit was given groups ({self._listed()}); pass one label per row"
            )
        if not self.labels:
            raise InvalidInput("groups must be left out, since fit was given none; fit again with groups")
        asked = _as_labels(groups, n)
        code_of = {label: code for code, label in enumerate(self.labels)}
        codes = np.array([code_of.get(label, -1) for label in asked], dtype=np.int64)
        unknown: BoolArray = codes < 0
        if unknown.any():
            first = asked[int(np.flatnonzero(unknown)[0])]
            raise InvalidInput(
                f"groups must be among those of fit ({self._listed()}), got {first!r} in {describe_rows(unknown)}; "
                "calibrate with rows of that group"
            )
        return codes

    def whose(self, code: int) -> str:
        """Words that say which group is meant, empty if there are no groups.

        Example:
            >>> Groups(("a", "b")).whose(1)
            " in group 'b'"
        """
        return f" in group {self.labels[code]!r}" if self.labels else ""

    def _listed(self) -> str:
        return list_some(self.labels)


def _as_labels(groups: ArrayLike, n: int) -> list[Label]:
    """One label per row as plain text or numbers."""
    raw = np.asarray(groups, dtype=object)
    if raw.shape != (n,):
        raise InvalidInput(f"groups must have shape ({n},), one label per row, got {raw.shape}")
    labels = [value.item() if isinstance(value, np.generic) else value for value in raw.tolist()]
    bad = np.array([not isinstance(label, Label) or label != label for label in labels], dtype=bool)
    if bad.any():
        first = labels[int(np.flatnonzero(bad)[0])]
        raise InvalidInput(f"groups must be text or numbers, got {first!r} in {describe_rows(bad)}; name them")
    return labels


def draw_split(
    member: BoolArray,
    groups: Groups,
    level: float,
    share: float | None,
    fewest: int,
    rng: np.random.Generator,
    what: str = "rows",
) -> BoolArray:
    """A random split of n rows, or of other units that count once.

    Args:
        member: Whether each row is in each group, shape (n, groups); a row may be in several.
        groups: Names of the groups.
        level: The level that calibration rows must support.
        share: Share of calibration rows; None for a quarter, at most 1,000, but as many as the level needs.
        fewest: Rows that the model needs at least.
        rng: Source of the split.
        what: What is split, for messages.

    Returns:
        Which rows calibrate, shape (n,).

    Example:
        >>> rng = np.random.default_rng(0)
        >>> int(draw_split(np.ones((60, 1), dtype=bool), Groups(), 0.9, None, 10, rng).sum())
        19
    """
    held_out = np.zeros(len(member), dtype=bool)
    if share is None:
        _require_rows(member, groups, level, fewest, what)
    for code in range(len(groups)):
        rows = np.flatnonzero(member[:, code])
        n_held = _count(len(rows), level) if share is None else round(share * len(rows))
        require_support(n_held, level, groups.whose(code))
        others = rng.permutation(rows)
        others = others[~held_out[others]]  # of groups before
        held_out[others[: max(0, n_held - (len(rows) - len(others)))]] = True
    if (~held_out).sum() < fewest:
        raise InvalidInput(
            f"X must leave at least {fewest} {what} to learn from, got {(~held_out).sum()} of {len(member)}; "
            "lower level or calibration_share, or give more rows"
        )
    return held_out


def draw_folds(
    member: BoolArray,
    groups: Groups,
    level: float,
    n_folds: int,
    fewest: int,
    rng: np.random.Generator,
    what: str = "rows",
) -> IntArray:
    """Random folds of n rows, of nearly equal sizes; arguments as in `draw_split`.

    Returns:
        Fold of each row, 0 to n_folds - 1, shape (n,).

    Example:
        >>> folds = draw_folds(np.ones((60, 1), dtype=bool), Groups(), 0.9, 5, 10, np.random.default_rng(0))
        >>> np.bincount(folds)
        array([12, 12, 12, 12, 12])
    """
    n = len(member)
    needed = max(n_folds, math.ceil(fewest * n_folds / (n_folds - 1)))
    if n < needed:
        raise InvalidInput(
            f"X must have at least {needed} {what} for method='cross' with {n_folds} folds, got {n}; give more"
        )
    require_support_in_each(member, groups, level)
    first = member.argmax(axis=1)
    order = np.concatenate([rng.permutation(np.flatnonzero(first == code)) for code in range(len(groups))])
    return deal_folds(order, n_folds)


def require_support_in_each(member: BoolArray, groups: Groups, level: float) -> None:
    """Refuse groups with fewer rows than the level needs; `member` says of each row which groups it is in."""
    for code, size in enumerate(member.sum(axis=0)):
        require_support(int(size), level, groups.whose(code))


def _count(n: int, level: float) -> int:
    """Calibration rows out of n: a quarter, not more than enough, not fewer than the level needs."""
    return max(min(math.ceil(SHARE * n), ENOUGH), rows_needed(level))


def _require_rows(member: BoolArray, groups: Groups, level: float, fewest: int, what: str) -> None:
    """Enough rows in each group for the level, and in all for the model."""
    n, need = len(member), rows_needed(level)
    if groups.labels:
        require_support_in_each(member, groups, level)
    if (member.sum(axis=1) > 1).any():
        return  # a row may calibrate several groups; how many are needed shows in the draw
    total = need * len(groups) + fewest
    if n < total:
        spare = (n - fewest) // len(groups)
        most = math.floor(1e4 * highest_level(max(spare, 0))) / 1e4
        rescue = f"lower level to {most:g} or use method='cross'" if most > 0 else f"give more {what}"
        calibrate = f"{need} to calibrate" + (" each group" if groups.labels else "")
        raise InvalidInput(
            f"X must have at least {total} {what} for method='split' at level {level!r} "
            f"({calibrate}, {fewest} to learn from), got {n}; {rescue}"
        )
