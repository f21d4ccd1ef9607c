"""Statistics of records: means with standard errors, paired differences, and who wins, ties or loses.

Everything is paired by replicate: two methods are compared on the replicates that both have, since these share their
runs. What all problems say together (ratios, ranks) is in `overall`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from genbayes.errors import InvalidInput
from genbayes_bench.designs import is_sequential
from genbayes_bench.record import Record

__all__ = ["Contest", "Difference", "Estimate", "Results", "Verdict", "compare", "estimate", "note_of"]

Verdict = Literal["win", "tie", "loss"]

MOST_BEHIND = 0.02  # of the rival's mean: what is further behind is no tie, significant or not
LEVEL = 0.95  # of Student's interval that a difference must lie outside of to be called one
OTHER_DRAWS = 1_000_000  # what is added to the numbers of replicates that were drawn otherwise
FEWEST_REPLICATES = 3  # fewer say nothing about their own spread, so nobody wins by them


@dataclass(frozen=True, order=True)
class Contest:
    """A problem at one size: what methods are compared on."""

    problem: str
    n_train: int


@dataclass(frozen=True)
class Estimate:
    """Mean of a score over replicates.

    Attributes:
        mean: The mean.
        se: Its standard error; None for one replicate.
        n: Number of replicates.
    """

    mean: float
    se: float | None
    n: int


@dataclass(frozen=True)
class Difference:
    """A score of one method minus that of a rival, on the same replicates; below zero is better.

    Attributes:
        mean: Mean paired difference.
        se: Its standard error; None for one replicate.
        n: Replicates that both have.
        relative: The mean over the rival's mean score.
        n_better: Replicates on which the method scored lower.
        verdict: "win", "tie" or "loss" of the method.
    """

    mean: float
    se: float | None
    n: int
    relative: float
    n_better: int
    verdict: Verdict

    @property
    def relative_se(self) -> float | None:
        """Standard error of `relative`, the rival's mean taken as known."""
        return None if self.se is None or self.mean == 0 else abs(self.se * self.relative / self.mean)


def estimate(values: Iterable[float]) -> Estimate:
    """Mean and standard error s / sqrt(n) of some values.

    Example:
        >>> estimate([1.0, 2.0, 3.0]).mean, round(estimate([1.0, 2.0, 3.0]).se, 4)
        (2.0, 0.5774)
    """
    found = np.array(list(values), dtype=np.float64)
    se = float(found.std(ddof=1) / math.sqrt(len(found))) if len(found) > 1 else None
    return Estimate(float(found.mean()), se, len(found))


def compare(ours: Mapping[int, float], rival: Mapping[int, float]) -> Difference | None:
    """Two methods on the replicates that both have; None if there is none.

    A win is a mean paired difference below zero whose 95% interval, by Student's t, leaves zero out. A tie is one whose
    interval holds zero and that is less than 2% of the rival's mean behind. Everything else is a loss, so doubt counts
    against us; with fewer than three replicates nobody wins.

    Args:
        ours: Score of the method by replicate, less is better.
        rival: Score of the rival by replicate.

    Returns:
        The difference and the verdict.

    Example:
        >>> compare({0: 1.0, 1: 1.1, 2: 0.9}, {0: 2.0, 1: 2.2, 2: 1.9, 3: 2.0}).verdict
        'win'
    """
    both = sorted(set(ours) & set(rival))
    if not both:
        return None
    gap = np.array([ours[r] - rival[r] for r in both])
    found, level = estimate(gap), float(np.mean([rival[r] for r in both]))
    relative = found.mean / level if level else math.copysign(math.inf, found.mean) if found.mean else 0.0
    verdict = _judge(found, relative)
    return Difference(found.mean, found.se, found.n, relative, int((gap < 0).sum()), verdict)


def _judge(gap: Estimate, relative: float) -> Verdict:
    enough = gap.se is not None and gap.n >= FEWEST_REPLICATES
    # of three replicates Student's factor is 4.3, of twenty 2.1: a handful must agree well to prove anything
    margin = float(stdtrit(gap.n - 1, (1 + LEVEL) / 2)) * (gap.se or 0.0) if enough else math.inf
    if gap.mean < -margin:
        return "win"
    return "tie" if gap.mean <= margin and relative < MOST_BEHIND else "loss"


class Results:
    """Records of one protocol, looked up by contest, method and metric.

    Sequential designs chose their runs, so they take part in no contest; they are kept apart in `designs`. Records
    whose runs were drawn otherwise (`detail["note"]` tells how) are replicates of their own, and pair with one another
    only.

    Args:
        records: Records of any protocol.
        protocol: The one to keep; None for "paper" if there is any record of it, or else the first.
    """

    def __init__(self, records: Sequence[Record], protocol: str | None = None) -> None:
        there = list(dict.fromkeys(record.protocol for record in records))
        if not there:
            raise InvalidInput("records must not be empty, got none; run genbayes bench run quick first")
        if protocol is not None and protocol not in there:
            raise InvalidInput(f"protocol must be one of the records' ({', '.join(there)}), got {protocol!r}")
        self.protocol = protocol or ("paper" if "paper" in there else there[0])
        own = [record for record in records if record.protocol == self.protocol]
        self.records = tuple(record for record in own if record.error is None)
        self.failures = tuple(record for record in own if record.error is not None)
        self.designs = tuple(record for record in self.records if is_sequential(record))
        ways = ["", *sorted({note_of(record) for record in self.records} - {""})]
        self._by_key: dict[tuple[Contest, str], dict[int, Record]] = {}
        for record in (record for record in self.records if not is_sequential(record)):
            key = Contest(record.problem, record.n_train), record.method
            number = record.replicate + OTHER_DRAWS * ways.index(note_of(record))
            self._by_key.setdefault(key, {})[number] = record

    @property
    def contests(self) -> list[Contest]:
        """Problems and sizes that have a score, by name and size."""
        return sorted({contest for contest, _ in self._by_key})

    def of_problem(self, problem: str) -> list[Contest]:
        """The sizes of one problem."""
        return [contest for contest in self.contests if contest.problem == problem]

    def methods(self, contest: Contest) -> list[str]:
        """Methods with a score of this contest, by name."""
        return sorted(method for known, method in self._by_key if known == contest)

    def runs(self, contest: Contest, method: str) -> dict[int, Record]:
        """Records by replicate; none if there are none."""
        return self._by_key.get((contest, method), {})

    def scores(self, contest: Contest, method: str, metric: str) -> dict[int, float]:
        """A score by replicate, where it is known; "seconds" is the time to fit, "memory" the peak in MB."""
        found = {replicate: _score(record, metric) for replicate, record in self.runs(contest, method).items()}
        return {replicate: value for replicate, value in found.items() if value is not None}

    def estimate(self, contest: Contest, method: str, metric: str) -> Estimate | None:
        """Mean of a score; None if there is none."""
        values = self.scores(contest, method, metric).values()
        return estimate(values) if values else None

    def compare(self, contest: Contest, ours: str, rival: str, metric: str) -> Difference | None:
        """A method and a rival on the replicates that both have."""
        return compare(self.scores(contest, ours, metric), self.scores(contest, rival, metric))

    def strongest(self, contest: Contest, among: Iterable[str], metric: str) -> str | None:
        """The method of the lowest mean score on the replicates that the candidates share; None if none was run.

        Chosen with hindsight, which flatters it. A candidate with fewer than half the replicates of the fullest one is
        left out, lest the comparison shrink to those.
        """
        found = {method: self.scores(contest, method, metric) for method in among}
        most = max((len(scores) for scores in found.values()), default=0)
        full = {method: scores for method, scores in found.items() if scores and 2 * len(scores) >= most}
        if not full:
            return None
        shared = set.intersection(*(set(scores) for scores in full.values()))
        means = {m: np.mean([s[r] for r in shared] if shared else list(s.values())) for m, s in full.items()}
        return min(sorted(means), key=lambda method: means[method])


def note_of(record: Record) -> str:
    """How the runs of a record were drawn, where that is not the usual way; else nothing."""
    note = record.detail.get("note")
    return note if isinstance(note, str) else ""


def _score(record: Record, metric: str) -> float | None:
    if metric == "seconds":
        return record.fit_seconds
    if metric == "memory":
        return record.peak_memory_mb
    return record.scores.get(metric)
