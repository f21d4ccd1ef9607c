"""What AutoSurrogate tried, what it chose and why, as one value that prints as a table and goes into a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from genbayes.arrays import FloatArray

__all__ = ["Entry", "SelectionReport", "sparse_regions"]

EDGE = 0.2  # of an input's range, at either end, is looked at for thin coverage
THIN = 0.25  # share of the rows that an even design would have there, below which it is called thin
ROUNDING = 1e-6  # a difference of this share of a score is the rounding of a computation


@dataclass(frozen=True)
class Entry:
    """One candidate.

    Attributes:
        name: Its key.
        title: What it is.
        crps: Mean out-of-fold CRPS, None if it has none.
        crps_se: Its standard error.
        n_scored: Rows it was scored on.
        behind: Mean paired difference to the best candidate's score, on the rows both were scored on.
        behind_se: Standard error of that difference.
        seconds: Time of all its fits.
        weight: Its weight in the model, 0 if it has none.
        note: Why it was given up; empty if it was not.
    """

    name: str
    title: str
    crps: float | None
    crps_se: float | None
    n_scored: int
    behind: float | None
    behind_se: float | None
    seconds: float
    weight: float
    note: str = ""

    @property
    def lag(self) -> str:
        """How far it is behind the best, with the standard error: "+0.012 +- 0.003"; "best" for the best itself."""
        if self.behind is None or self.behind_se is None or self.crps is None:
            return "-"
        if self.behind == self.behind_se == 0:
            return "best"
        is_twin = abs(self.behind) + self.behind_se < ROUNDING * self.crps
        return "the same" if is_twin else f"{self.behind:+.2g} +- {self.behind_se:.1g}"


@dataclass(frozen=True)
class SelectionReport:
    """The account of one selection.

    Attributes:
        entries: The candidates, best first.
        kind: How those with a weight are joined: "single", "average" or "pool".
        crps: Out-of-fold CRPS of the result, with weights that had not seen the row.
        crps_se: Its standard error.
        n_scored: Rows behind it.
        reason: Why it was chosen, in plain words.
        trust: How far its intervals can be trusted, in plain words.
        thin: Where in x few runs lie, a line for each input.
        diagnostics: Calibration of the result on rows it had not seen, as plain values.
        seconds: Time of the whole selection.
    """

    entries: tuple[Entry, ...]
    kind: str
    crps: float
    crps_se: float
    n_scored: int
    reason: str
    trust: str
    thin: tuple[str, ...] = ()
    diagnostics: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def chosen(self) -> tuple[str, ...]:
        """Names of the candidates with a weight, the largest first."""
        return tuple(entry.name for entry in sorted(self.entries, key=lambda e: -e.weight) if entry.weight > 0)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> SelectionReport:
        """The report that `to_dict` described."""
        entries = tuple(Entry(**entry) for entry in values["entries"])
        return cls(**{**values, "entries": entries, "thin": tuple(values["thin"])})

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("candidate", "CRPS", "+- SE", "behind", "rows", "seconds", "weight", "")]
        rows += [_line(entry) for entry in self.entries]
        width = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
        table = [
            "  ".join(cell.ljust(width[j]) if j in (0, 7) else cell.rjust(width[j]) for j, cell in enumerate(row))
            for row in rows
        ]
        told = [f"chosen: CRPS {self.crps:.4g} +- {self.crps_se:.2g} on {self.n_scored} unseen rows", self.reason]
        return "\n".join([line.rstrip() for line in [*table, "", *told, self.trust, *self.thin]])


def _line(entry: Entry) -> tuple[str, ...]:
    scored = entry.crps is not None
    return (
        f"{entry.title} ({entry.name})",
        f"{entry.crps:.4g}" if scored else "-",
        f"{entry.crps_se:.2g}" if scored else "-",
        entry.lag,
        str(entry.n_scored) if scored else "-",
        f"{entry.seconds:.1f}",
        f"{entry.weight:.0%}" if entry.weight > 0 else "",
        entry.note,
    )


def sparse_regions(X: FloatArray, numeric: Sequence[int], names: Sequence[str]) -> tuple[str, ...]:
    """Ends of the inputs' ranges that hold few runs.

    Args:
        X: Inputs, shape (n, d).
        numeric: Columns that are not categories.
        names: Names of all columns.

    Returns:
        A sentence for each end of an input's range that holds less than a quarter of the runs of an even design.

    Example:
        >>> X = np.append(np.linspace(0, 1, 99), 10.0)[:, None]
        >>> sparse_regions(X, [0], ["pressure"])
        ('pressure above 8: 1 of 100 runs',)
    """
    told = []
    for j in numeric:
        low, high = float(X[:, j].min()), float(X[:, j].max())
        if low == high or len(np.unique(X[:, j])) < 5:  # a few settings are a design, not a range
            continue
        for side, cut in (("below", low + EDGE * (high - low)), ("above", high - EDGE * (high - low))):
            n_there = int(np.sum(X[:, j] < cut) if side == "below" else np.sum(X[:, j] > cut))
            if n_there < THIN * EDGE * len(X):
                told.append(f"{names[j]} {side} {cut:.3g}: {n_there} of {len(X)} runs")
    return tuple(told)
