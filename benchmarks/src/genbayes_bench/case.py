"""Case: a problem under a protocol at one number of runs; what a method may know before it sees any."""

from __future__ import annotations

from dataclasses import dataclass

from genbayes_bench.problems.problem import Problem
from genbayes_bench.protocol import Protocol

__all__ = ["Case"]


@dataclass(frozen=True)
class Case:
    """What a method is about to be measured on.

    Attributes:
        problem: The problem.
        protocol: How it is measured.
        n_train: Runs to learn from.
    """

    problem: Problem
    protocol: Protocol
    n_train: int
