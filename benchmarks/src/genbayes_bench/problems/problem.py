"""Problem: where runs come from and what is known of them, as one frozen value; how many is for the protocol to say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from genbayes_bench.problems.shared import why_absent
from genbayes_bench.problems.split import Split

__all__ = ["Draw", "Problem"]

Draw = Callable[[int, int, int], Split]  # replicate, n_train, n_test


@dataclass(frozen=True)
class Problem:
    """A problem that methods are measured on.

    Attributes:
        name: Its key in records and on the command line.
        title: What it is, for people.
        n_inputs: Inputs of a run, d.
        draw: Replicate, n_train and n_test to a split; the same for the same arguments, whatever else is drawn.
        source: Where its definition comes from.
        standin: What it stands in for, as a sentence; None if it is the real thing.
        kind: "emulation", or "design" if its paper chooses the runs one by one; it may still be run as emulation, on
            runs that nobody chose.
        jumps: Whether the response has regimes between which it jumps.
        needs: File below the shared folder without which it cannot be drawn, or None.

    Example:
        >>> import numpy as np
        >>> def draw(replicate: int, n_train: int, n_test: int) -> Split:
        ...     X = np.random.default_rng(replicate).uniform(size=(n_train + n_test, 1))
        ...     return Split(X[:n_train], X[:n_train, 0] ** 2, X[n_train:], X[n_train:, 0] ** 2)
        >>> Problem("square", "x squared", n_inputs=1, draw=draw, source="these docs").draw(0, 5, 3).y_test.shape
        (3,)
    """

    name: str
    title: str
    n_inputs: int
    draw: Draw
    source: str
    standin: str | None = None
    kind: Literal["emulation", "design"] = "emulation"
    jumps: bool = False
    needs: str | None = None

    @property
    def absent(self) -> str | None:
        """Why it cannot be drawn here, or None if it can."""
        return None if self.needs is None else why_absent(self.needs)
