"""Protocol: sizes, replicates, seeds and settings of one problem's measurement, as one frozen value.

"paper" is what the paper did, or what it would have done had it had the problem; "quick" is a small version of it
that shows in minutes whether everything works.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

__all__ = ["MAIN", "PAPER", "QUICK", "Protocol"]

PAPER, QUICK = "paper", "quick"
MAIN = ("gbc", "gbc-aug", "auto", "gp", "het-gp", "jump-gp", "boosted")  # methods of every problem where they apply
SLOW = ("gbc-paper", "gbc-paper-single")  # last within a replicate, and not in the quick version
QUICK_REPLICATES = 2
QUICK_RUNS = 200  # to learn from, and to test on: every method then takes seconds
QUICK_EPOCHS = 100  # a tenth of what the recipe would take on so few runs
QUICK_SECONDS = 5.0  # that AutoSurrogate may take


@dataclass(frozen=True)
class Protocol:
    """How a problem is measured.

    Attributes:
        problem: Name of the problem.
        n_train: Runs to learn from.
        n_test: Runs to score on.
        n_replicates: Replicates, numbered from 0.
        name: "paper" or "quick".
        source: Table, figure or section of the paper.
        more_n_train: Further numbers of runs to learn from, for a study of scale.
        seed: Added to the replicate's number, seeds the method.
        metrics: Scores that tables show, the first one decides.
        methods: Methods to run unless others are named; those that do not apply are left out with a reason.
        paper_settings: Settings of the paper's recipe on this problem.
        n_paper: Largest number of runs the paper learnt from here; its recipe is not asked for more. None for any.
        time_limit: Seconds that AutoSurrogate may take; None for as long as it needs.
        n_epochs: Most epochs of our networks; None leaves it to their recipe.

    Example:
        >>> Protocol("bgp2", n_train=1600, n_test=400, n_replicates=20).quick().n_replicates
        2
    """

    problem: str
    n_train: int
    n_test: int
    n_replicates: int
    name: str = PAPER
    source: str = "not in the paper"
    more_n_train: tuple[int, ...] = ()
    seed: int = 0
    metrics: tuple[str, ...] = ("crps", "rmse", "coverage")
    methods: tuple[str, ...] = (*MAIN, "gbc-paper")
    paper_settings: Mapping[str, Any] = field(default_factory=dict)
    n_paper: int | None = None
    time_limit: float | None = None
    n_epochs: int | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """Every number of runs to learn from."""
        return (self.n_train, *self.more_n_train)

    def quick(self) -> Protocol:
        """The small version: two replicates, few runs and epochs, no recipe of the paper's, a time limit."""
        return replace(
            self,
            name=QUICK,
            n_train=min(self.n_train, QUICK_RUNS),
            more_n_train=(),
            n_test=min(self.n_test, QUICK_RUNS),
            n_replicates=QUICK_REPLICATES,
            methods=tuple(name for name in self.methods if name not in SLOW),
            time_limit=QUICK_SECONDS,
            n_epochs=QUICK_EPOCHS,
        )
