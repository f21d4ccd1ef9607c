"""Plan: which records a run is to make, in which order, and what it leaves out and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from genbayes.errors import InvalidInput
from genbayes_bench.job import Job, in_order
from genbayes_bench.methods import Method
from genbayes_bench.problems.problem import PAPER, QUICK, SLOW, Protocol
from genbayes_bench.registry import Registry, check_known

__all__ = ["LeftOut", "Plan", "choose_problems", "make_plan"]

GROUPS = ("emulation", "design", "all")


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


def choose_problems(registry: Registry, names: Sequence[str]) -> list[str]:
    """Names of problems from names and groups: "emulation" (also where nothing is named), "design" or "all".

    Example:
        >>> from genbayes_bench.registry import load_registry
        >>> choose_problems(load_registry(), ["bgp2", "star"])
        ['bgp2', 'star']
    """
    chosen: list[str] = []
    for name in names or ["emulation"]:
        if name in GROUPS:
            chosen += [p.name for p in registry.problems.values() if name in (p.kind, "all")]
        else:
            check_known(name, "problem", [*registry.problems, *GROUPS, PAPER, QUICK])
            chosen.append(name)
    return list(dict.fromkeys(chosen))


def make_plan(
    registry: Registry,
    names: Sequence[str],
    protocol: str,
    methods: Sequence[str] | None = None,
    replicates: range | None = None,
    files: Sequence[str] = (),
) -> Plan:
    """Every record that is asked for, whether it is there already or not.

    Args:
        registry: Where names are looked up.
        names: Problems or groups of them; none for all emulation problems.
        protocol: "paper" or "quick".
        methods: Names of methods; None for those of the protocol.
        replicates: Numbers of replicates; None for as many as the protocol and the method say.
        files: A user's own Python files, which workers must load too.

    Returns:
        Jobs in order, and what is left out.

    Example:
        >>> from genbayes_bench.registry import load_registry
        >>> len(make_plan(load_registry(), ["bgp2"], "paper", ["gp", "gbc"]).jobs)
        40
    """
    wanted = None if methods is None else [registry.method(name).name for name in methods]
    if wanted == []:
        raise InvalidInput("methods must name at least one, got none; genbayes bench list shows all")
    jobs: list[Job] = []
    left_out: list[LeftOut] = []
    for name in choose_problems(registry, names):
        absent = registry.problem(name).absent
        if absent is not None:
            left_out.append(LeftOut(name, None, absent))
            continue
        chosen = registry.protocol(name, protocol)
        for method in wanted if wanted is not None else chosen.methods:
            found, reasons = _of_method(registry, chosen, registry.method(method), replicates, tuple(files))
            jobs += found
            left_out += [LeftOut(name, method, reason) for reason in reasons]
    return Plan(tuple(in_order(dict.fromkeys(jobs), slow=SLOW)), tuple(left_out))


def _of_method(
    registry: Registry, protocol: Protocol, method: Method, replicates: range | None, files: tuple[str, ...]
) -> tuple[list[Job], list[str]]:
    """Jobs of one method on one problem, and why it does not apply at some sizes."""
    jobs: list[Job] = []
    refused: dict[str, list[int]] = {}
    for n_train in protocol.sizes:
        reason = method.why_not(registry.case(protocol.problem, protocol.name, n_train))
        if reason is None:
            numbers = _numbers(protocol, method, replicates)
            jobs += [Job(protocol.problem, protocol.name, method.name, n_train, r, files) for r in numbers]
        else:
            refused.setdefault(reason, []).append(n_train)
    return jobs, [_told(reason, sizes, protocol) for reason, sizes in refused.items()]


def _told(reason: str, sizes: list[int], protocol: Protocol) -> str:
    """The reason, with the sizes that it concerns where there are others."""
    if len(sizes) == len(protocol.sizes):
        return reason
    return f"n = {', '.join(f'{n:,}' for n in sizes)}: {reason}"


def _numbers(protocol: Protocol, method: Method, replicates: range | None) -> Iterator[int]:
    if replicates is not None:
        yield from replicates
    else:
        yield from range(min(protocol.n_replicates, method.most_replicates or protocol.n_replicates))
