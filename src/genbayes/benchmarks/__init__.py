"""Benchmarks: problems as data, run and told honestly.

Names are imported when first used, so that a report loads neither torch nor the runner.
"""

from typing import TYPE_CHECKING

from genbayes.lazy import lazy_names

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

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "methods": ["METHODS", "Method"],
        "problems": ["PROBLEMS", "Problem", "Split"],
        "protocol": ["Protocol"],
        "record": ["Record", "read_records"],
        "runner": ["run_benchmark"],
    },
)
