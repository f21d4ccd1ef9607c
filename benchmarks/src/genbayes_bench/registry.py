"""Registry: every problem, protocol and method by name, those of a user's own files among them.

A worker process finds what it is told to run by name, so a job is a few words however large its problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from genbayes.errors import InvalidInput
from genbayes.validation import suggest
from genbayes_bench.designs import DESIGNS
from genbayes_bench.methods import METHODS, Method
from genbayes_bench.offers import offers
from genbayes_bench.problems import PROBLEMS, PROTOCOLS
from genbayes_bench.problems.problem import PAPER, QUICK, Case, Problem, Protocol

__all__ = ["Registry", "check_known", "load_registry"]


@dataclass(frozen=True)
class Registry:
    """What there is to run.

    Attributes:
        problems: By name.
        protocols: By name of the problem and of the protocol; a quick one that nobody wrote is derived.
        methods: By name.
    """

    problems: dict[str, Problem]
    protocols: dict[tuple[str, str], Protocol]
    methods: dict[str, Method]

    def problem(self, name: str) -> Problem:
        """The problem of that name."""
        check_known(name, "problem", self.problems)
        return self.problems[name]

    def method(self, name: str) -> Method:
        """The method of that name."""
        if name in DESIGNS and name not in self.methods:
            raise InvalidInput(
                f"method must be one that is given its runs, got {name!r}, which chooses them; "
                "python -m genbayes_bench.studies.design run and pack, in the repository, make its records"
            )
        check_known(name, "method", self.methods)
        return self.methods[name]

    def protocol(self, problem: str, name: str) -> Protocol:
        """The protocol of that name, "paper" or "quick", for a problem."""
        found = self.protocols.get((problem, name))
        if found is None and name == QUICK:
            return self.protocol(problem, PAPER).quick()
        if found is None:
            raise InvalidInput(f"{problem} must have a Protocol, got none; write one beside its Problem")
        return found

    def case(self, problem: str, protocol: str, n_train: int) -> Case:
        """What a method is told of a job."""
        return Case(self.problem(problem), self.protocol(problem, protocol), n_train)


def load_registry(files: Sequence[str] = ()) -> Registry:
    """Everything of the package and of a user's own Python files.

    Args:
        files: Paths of Python files whose values of type `Problem`, `Protocol` and `Method` are added.

    Example:
        >>> load_registry().problem("bgp2").n_inputs
        2
        >>> load_registry().problem("bpg2")
        Traceback (most recent call last):
        ...
        genbayes.errors.InvalidInput: problem must be a known name, got 'bpg2'; did you mean 'bgp2'? ...
    """
    modules = [_load(str(Path(file).resolve())) for file in files]
    problems, methods = dict(PROBLEMS), dict(METHODS)
    protocols = {(p.problem, p.name): p for p in PROTOCOLS}
    for module in modules:
        problems |= {problem.name: problem for problem in offers(module, Problem)}
        methods |= {method.name: method for method in offers(module, Method)}
        protocols |= {(p.problem, p.name): p for p in offers(module, Protocol)}
    return Registry(problems, protocols, methods)


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


def check_known(name: str, what: str, known: Iterable[str]) -> None:
    """Refuse a name that is not among the known ones, with the nearest of them."""
    names = list(known)
    if name not in names:
        hint = suggest(name, names) or ";"
        raise InvalidInput(f"{what} must be a known name, got {name!r}{hint} genbayes bench list shows all")
