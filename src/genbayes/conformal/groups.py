"""Groups of rows that are calibrated apart, so that coverage holds within each.

Labels are the user's own, text or numbers; inside they are codes 0, 1, ... in the order of the labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import BoolArray, IntArray
from genbayes.errors import InvalidInput
from genbayes.validation import describe_rows, list_some

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
