"""Plan: which records a run is to make, in which order, what it leaves out and why, and how long it may take.

A job is named rather than held, so that it travels to any process.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from genbayes.errors import InvalidInput
from genbayes_bench.inference import Inferrer
from genbayes_bench.problems.problem import SLOW, Case, Protocol
from genbayes_bench.record import Key, Record
from genbayes_bench.registry import AnyMethod, Registry


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


@dataclass(frozen=True)
class LeftOut:
    """What is not run, and why; `method` is None where the whole problem is left out.

    Example:
        >>> str(LeftOut("yacht", "jump-gp", "the response does not jump"))
        'jump-gp on yacht: the response does not jump'
    """

    problem: str
    method: str | None
    reason: str

    def __str__(self) -> str:
        return f"{self.problem if self.method is None else f'{self.method} on {self.problem}'}: {self.reason}"


@dataclass(frozen=True)
class Plan:
    """The jobs of a run, in order, and what is left out."""

    jobs: tuple[Job, ...]
    left_out: tuple[LeftOut, ...]


def make_plan(
    registry: Registry,
    names: Sequence[str],
    protocol: str,
    methods: Sequence[str] | None = None,
    replicates: range | None = None,
    files: Sequence[str] = (),
) -> Plan:
    """Every record that is asked for, whether it is there already or not.

    Every first replicate comes before any second; within each, small problems and quick methods come first.

    Args:
        registry: Where names are looked up.
        names: Problems, groups of them, or studies; none for all emulation problems.
        protocol: "paper", "part" or "quick".
        methods: Names of methods; None for those of the study or of the protocol.
        replicates: Numbers of replicates; None for as many as the protocol and the method say.
        files: A user's own Python files, which workers must load too.

    Example:
        >>> from genbayes_bench.registry import load_registry
        >>> len(make_plan(load_registry(), ["bgp2"], "paper", ["gp", "gbc"]).jobs)
        40
    """
    if methods is not None and not methods:
        raise InvalidInput("methods must name at least one, got none; genbayes bench list shows all")
    for name in methods or ():
        registry.method(name)
    jobs: list[Job] = []
    left_out: list[LeftOut] = []
    for problem, own in registry.choose(names).items():
        absent = registry.problem(problem).absent
        if absent is not None:
            left_out.append(LeftOut(problem, None, absent))
            continue
        chosen = registry.protocol(problem, protocol)
        for method in methods or own or chosen.methods:
            found, reasons = _jobs_of(registry, chosen, registry.method(method), replicates, tuple(files))
            jobs += found
            left_out += [LeftOut(problem, method, reason) for reason in reasons]
    ordered = sorted(dict.fromkeys(jobs), key=lambda job: (job.replicate, job.method in SLOW, job.n_train))
    return Plan(tuple(ordered), tuple(left_out))


def _jobs_of(
    registry: Registry, protocol: Protocol, method: AnyMethod, replicates: range | None, files: tuple[str, ...]
) -> tuple[list[Job], list[str]]:
    """Jobs of one method on one problem, and why it does not apply at some sizes."""
    most = method.most_replicates or protocol.n_replicates
    numbers = range(min(protocol.n_replicates, most)) if replicates is None else replicates
    jobs: list[Job] = []
    refused: dict[str, list[int]] = {}
    sizes = method.sizes(registry.case(protocol.problem, protocol.name, protocol.n_train))
    for n_train in sizes:
        reason = _why_not(method, registry.case(protocol.problem, protocol.name, n_train))
        if reason is None:
            jobs += [Job(protocol.problem, protocol.name, method.name, n_train, r, files) for r in numbers]
        else:
            refused.setdefault(reason, []).append(n_train)
    return jobs, [
        reason if len(own) == len(sizes) else f"n = {', '.join(f'{n:,}' for n in own)}: {reason}"
        for reason, own in refused.items()
    ]


def _why_not(method: AnyMethod, case: Case) -> str | None:
    """Why a method does not apply: parameters are inferred by methods of their own."""
    if case.problem.kind == "inference" and not isinstance(method, Inferrer):
        return "its parameters are to be inferred, which this method cannot"
    return method.why_not(case)


class Forecast:
    """Expected seconds of a job: the mean of what is known of the same problem, method and size, else of the method.

    Example:
        >>> Forecast().seconds_left([Job("bgp2", "paper", "gp", 1600, 0)], n_jobs=1) is None
        True
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._known: dict[tuple[object, ...], list[float]] = defaultdict(list)
        for record in records:
            self.learn(record)

    def learn(self, record: Record) -> None:
        """Take a finished job into account."""
        for group in self._groups(record):
            self._known[group].append(record.fit_seconds + record.predict_seconds)

    def seconds_left(self, jobs: Iterable[Job], n_jobs: int) -> float | None:
        """Time until `n_jobs` at once have done these, or None while nothing is known."""
        if not self._known:
            return None
        total = 0.0
        for job in jobs:
            like = next(self._known[group] for group in self._groups(job) if group in self._known)
            total += sum(like) / len(like)
        return total / n_jobs

    @staticmethod
    def _groups(of: Job | Record) -> tuple[tuple[object, ...], ...]:
        """From the narrowest group of jobs alike to all jobs."""
        return (of.problem, of.protocol, of.n_train, of.method), (of.protocol, of.method), ()


def format_time(seconds: float | None) -> str:
    """A time as people say it.

    Example:
        >>> [format_time(s) for s in (None, 40, 400, 9_000)]
        ['unknown time', '40 s', '7 min', '2 h 30 min']
    """
    if seconds is None:
        return "unknown time"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
