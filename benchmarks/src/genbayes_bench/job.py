"""Job: one record to be made, named rather than held, so that it travels to any process; and the order of jobs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from genbayes_bench.record import Key

__all__ = ["Job", "in_order"]


@dataclass(frozen=True)
class Job:
    """One method on one replicate.

    Attributes:
        problem: Name of the problem.
        protocol: Name of the protocol.
        method: Name of the method.
        n_train: Runs to learn from.
        replicate: Number of the replicate.
        files: A user's own Python files that problem or method may come from.
    """

    problem: str
    protocol: str
    method: str
    n_train: int
    replicate: int
    files: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        """The key of its record."""
        return self.problem, self.protocol, self.method, self.n_train, self.replicate

    def __str__(self) -> str:
        return f"{self.problem} {self.method}, n = {self.n_train:,}, replicate {self.replicate}"


def in_order(jobs: Iterable[Job], slow: Iterable[str] = ()) -> list[Job]:
    """The order to run in: every first replicate before any second, the quick ones first within each.

    Args:
        jobs: What to run.
        slow: Methods that come last within a replicate.

    Example:
        >>> jobs = [Job("a", "paper", "gp", 10, 1), Job("b", "paper", "gp", 99, 0), Job("c", "paper", "gp", 10, 0)]
        >>> [job.problem for job in in_order(jobs)]
        ['c', 'b', 'a']
    """
    last = set(slow)
    return sorted(jobs, key=lambda job: (job.replicate, job.method in last, job.n_train))
