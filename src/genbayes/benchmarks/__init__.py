"""Benchmarks: problems as data, run and told honestly.

Names are imported when first used, so that a report loads neither torch nor the runner.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from genbayes.benchmarks.methods import METHODS, Method
    from genbayes.benchmarks.problems import PROBLEMS, Problem, Split
    from genbayes.benchmarks.protocol import Protocol
    from genbayes.benchmarks.record import Record, read_records
    from genbayes.benchmarks.runner import run_benchmark

__all__ = [
    "METHODS",
    "PROBLEMS",
    "Method",
    "Problem",
    "Protocol",
    "Record",
    "Split",
    "read_records",
    "run_benchmark",
]

_HOME = {
    "METHODS": "methods",
    "PROBLEMS": "problems",
    "Method": "methods",
    "Problem": "problems",
    "Protocol": "protocol",
    "Record": "record",
    "Split": "problems",
    "read_records": "record",
    "run_benchmark": "runner",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"genbayes.benchmarks.{_HOME[name]}"), name)
    raise AttributeError(f"module 'genbayes.benchmarks' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
