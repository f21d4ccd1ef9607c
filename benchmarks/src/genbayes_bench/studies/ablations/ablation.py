"""Ablation: one question as data, the variants that answer it, and what the paper found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from genbayes.metrics import coverage, rmse
from genbayes_bench.problems import Split

__all__ = ["SIZES", "Ablation", "Size", "Variant", "score_law"]


@dataclass(frozen=True)
class Size:
    """How much is spent on a fit.

    Attributes:
        name: "full" as in the paper, "part" to compare variants within minutes a fit, "small" to see that all works.
        most_rows: Rows to learn from and to score on, at most; None for all.
        most_epochs: Passes over the rows, at most; None for as many as the paper's.
    """

    name: str
    most_rows: int | None = None
    most_epochs: int | None = None

    def cut(self, split: Split) -> Split:
        """The first rows of either part, which are a random part of them."""
        if self.most_rows is None:
            return split
        rows = slice(self.most_rows)
        f_test = None if split.f_test is None else split.f_test[rows]
        learnt = replace(split, X_train=split.X_train[rows], y_train=split.y_train[rows])
        return replace(learnt, X_test=split.X_test[rows], y_test=split.y_test[rows], f_test=f_test)

    def told(self) -> str:
        """What was spent, for a table; empty where it is what the paper spent."""
        if self.most_rows is None:
            return ""
        return f"At most {self.most_rows:,} runs to learn from and {self.most_epochs:,} epochs a fit."

    def epochs(self, wanted: int) -> int:
        """The paper's number of passes, or the most that is allowed."""
        return wanted if self.most_epochs is None else min(wanted, self.most_epochs)


SIZES = {
    size.name: size
    for size in (
        Size("full"),
        Size("part", most_rows=1_000, most_epochs=2_000),
        Size("small", most_rows=200, most_epochs=20),
    )
}

Variant = Callable[[Split, int, Size], dict[str, float]]  # split, seed and size to scores


@dataclass(frozen=True)
class Ablation:
    """One question.

    Attributes:
        title: What is asked.
        problems: Name of a problem to its draw, a function of the replicate's number.
        variants: What is compared, by name; differences are taken to the first.
        paper: What the paper reports of a problem and variant, in its words.
        columns: Scores to show beside the CRPS, by name.
        note: What a reader of the table should know.
    """

    title: str
    problems: Mapping[str, Callable[[int], Split]]
    variants: Mapping[str, Variant]
    paper: Mapping[tuple[str, str], str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


def score_law(law: Any, split: Split) -> dict[str, float]:
    """CRPS, RMSE and 90% coverage on the test runs."""
    return {
        "crps": float(law.crps(split.y_test).mean()),
        "rmse": float(rmse(law.mean(), split.y_test)),
        "coverage": float(coverage(*law.interval(0.9), split.y_test)),
    }
