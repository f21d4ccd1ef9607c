"""Result: one measured line with its target, and the settings that all measurements share."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

__all__ = ["Result", "timed"]

T = TypeVar("T")


@dataclass(frozen=True)
class Result:
    """One line of the table.

    Attributes:
        what: What was measured.
        measured: The figure, with its standard error where it has one.
        target: What it must reach.
        met: Whether it does; None for a line without a target.
        detail: Figures behind the figure.
        series: Figures that can be drawn, by name.
    """

    what: str
    measured: str
    target: str
    met: bool | None
    detail: str = ""
    series: dict[str, list[float]] | None = None

    def to_dict(self) -> dict[str, Any]:
        plain = asdict(self) | {"met": None if self.met is None else bool(self.met)}
        if self.series is None:
            del plain["series"]
        return plain


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What the work returns, and its wall time in seconds."""
    start = time.perf_counter()
    return work(), time.perf_counter() - start
