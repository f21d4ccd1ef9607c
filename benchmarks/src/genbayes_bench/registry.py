"""Registry: every problem, protocol, method and study by name, those of a user's own files among them.

A worker process finds what it is told to run by name, so a job is a few words however large its problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from genbayes.errors import InvalidInput
from genbayes.validation import suggest
from genbayes_bench.designs import DESIGNS, Design
from genbayes_bench.inference import INFERRERS, Inferrer
from genbayes_bench.methods import METHODS, Method, registered_methods
from genbayes_bench.problems import PROBLEMS, PROTOCOLS
from genbayes_bench.problems.problem import PAPER, PART, QUICK, Case, Problem, Protocol
from genbayes_bench.studies import STUDIES, VARIANTS, Study

GROUPS = ("emulation", "design", "all")  # those of inference are a study
AnyMethod = Method | Design | Inferrer
T = TypeVar("T")


@dataclass(frozen=True)
class Registry:
    """What there is to run.

    Attributes:
        problems: By name.
        protocols: By name of the problem and of the protocol; a smaller one that nobody wrote is derived.
        methods: By name.
        studies: By name of a study, its problems with their methods.
    """

    problems: dict[str, Problem]
    protocols: dict[tuple[str, str], Protocol]
    methods: dict[str, AnyMethod]
    studies: Mapping[str, Mapping[str, Sequence[str]]]

    def problem(self, name: str) -> Problem:
        """The problem of that name."""
        _check_known(name, "problem", self.problems)
        return self.problems[name]

    def method(self, name: str) -> AnyMethod:
        """The method of that name."""
        _check_known(name, "method", self.methods)
        return self.methods[name]

    def protocol(self, problem: str, name: str) -> Protocol:
        """The protocol of that name, "paper", "part" or "quick", for a problem."""
        found = self.protocols.get((problem, name))
        if found is None and name in (PART, QUICK):
            full = self.protocol(problem, PAPER)
            return full.part() if name == PART else full.quick()
        if found is None:
            raise InvalidInput(f"{problem} must have a Protocol, got none; write one beside its Problem")
        return found

    def case(self, problem: str, protocol: str, n_train: int) -> Case:
        """What a method is told of a job."""
        return Case(self.problem(problem), self.protocol(problem, protocol), n_train)

    def choose(self, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Problems from names of problems, groups and studies; of a study with its methods, else with none.

        The groups are "emulation" (also where nothing is named), "design" and "all".

        Example:
            >>> load_registry().choose(["bgp2", "star"])
            {'bgp2': (), 'star': ()}
        """
        chosen: dict[str, tuple[str, ...]] = {}
        for name in names or ["emulation"]:
            if name in self.studies:
                for problem, methods in self.studies[name].items():
                    chosen[problem] = tuple(dict.fromkeys((*chosen.get(problem, ()), *methods)))
            elif name in GROUPS:
                chosen |= {p.name: () for p in self.problems.values() if name in (p.kind, "all")}
            else:
                _check_known(name, "problem", [*self.problems, *GROUPS, *self.studies, PAPER, PART, QUICK])
                chosen[name] = ()
        return chosen


def load_registry(files: Sequence[str] = ()) -> Registry:
    """Everything of the package and of a user's own Python files.

    Args:
        files: Paths of Python files whose values of type `Problem`, `Protocol`, `Method` and `Inferrer` are added.

    Example:
        >>> load_registry().problem("bgp2").n_inputs
        2
        >>> load_registry().problem("bpg2")
        Traceback (most recent call last):
        ...
        genbayes.errors.InvalidInput: problem must be a known name, got 'bpg2'; did you mean 'bgp2'? ...
    """
    problems = dict(PROBLEMS)
    protocols = {(p.problem, p.name): p for p in PROTOCOLS}
    studies = {name: _plan_of(own) for name, own in STUDIES.items()}
    modules = [_load(str(Path(file).resolve())) for file in files]
    methods: dict[str, AnyMethod] = {**METHODS, **registered_methods(), **DESIGNS, **INFERRERS, **VARIANTS}
    for module in modules:
        problems |= {problem.name: problem for problem in values_of(module, Problem)}
        methods |= {method.name: method for method in values_of(module, Method)}
        methods |= {inferrer.name: inferrer for inferrer in values_of(module, Inferrer)}
        protocols |= {(p.problem, p.name): p for p in values_of(module, Protocol)}
    return Registry(problems, protocols, methods, studies)


def _plan_of(studies: Sequence[Study]) -> dict[str, tuple[str, ...]]:
    """Problems of some studies, each with the methods of all that ask for it."""
    found: dict[str, tuple[str, ...]] = {}
    for study in studies:
        for problem in study.problems:
            found[problem] = (*found.get(problem, ()), *study.names)
    return found


def values_of(module: ModuleType, kind: type[T]) -> Iterator[T]:
    """Values of class `kind` among the names of a module, alone or in tuples and lists, each once.

    Example:
        >>> module = ModuleType("example")
        >>> module.ONE, module.MORE = 1, (2, 3, "four")
        >>> list(values_of(module, int))
        [1, 2, 3]
    """
    found = {}
    for value in vars(module).values():
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(part, kind):
                found[id(part)] = part
    yield from found.values()


@cache
def _load(path: str) -> ModuleType:
    """The module in a file, run once a process."""
    file = Path(path)
    if not file.is_file() or file.suffix != ".py":
        raise InvalidInput(f"--with must name a Python file, got {path!r}; check the path")
    spec = spec_from_file_location(f"genbayes_bench_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InvalidInput(
            f"--with must name a file that runs, got {path!r}: {type(error).__name__}: {error}"
        ) from error
    return module


def _check_known(name: str, what: str, known: Iterable[str]) -> None:
    """Refuse a name that is not among the known ones, with the nearest of them."""
    names = list(known)
    if name not in names:
        hint = suggest(name, names) or ";"
        raise InvalidInput(f"{what} must be a known name, got {name!r}{hint} genbayes bench list shows all")
