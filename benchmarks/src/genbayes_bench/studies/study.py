"""Study: a question as a value, and the methods on problems that answer it.

`genbayes bench run NAME` makes its records like any others; `python -m genbayes_bench.studies NAME` prints its table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from genbayes_bench.methods import Method


@dataclass(frozen=True)
class Study:
    """One question.

    Attributes:
        title: What is asked.
        problems: Names of problems.
        methods: What is compared: methods of its own, or names of others; differences are taken to the first.
        paper: What the paper reports of a problem and method, in its words.
        columns: Scores to show beside the CRPS, by name.
        targets: Highest mean of a score of the first method, by problem and score.
        note: What a reader of the table should know.
        score: What decides: "crps", or "c2st" of posteriors, whose tables are others.
    """

    title: str
    problems: tuple[str, ...]
    methods: tuple[Method | str, ...]
    paper: Mapping[tuple[str, str], str] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    targets: Mapping[tuple[str, str], float] = field(default_factory=dict)
    note: str = ""
    score: Literal["crps", "c2st"] = "crps"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the methods; the first comes first."""
        return tuple(method if isinstance(method, str) else method.name for method in self.methods)
