"""Benchmarks: problems, methods and studies as values, one runner, one report.

Names are imported when first used, so that a report loads neither torch nor the runner.
"""

from typing import TYPE_CHECKING

from genbayes.lazy import lazy_names

if TYPE_CHECKING:
    from genbayes_bench.methods import METHODS, Method
    from genbayes_bench.problems import PROBLEMS, Problem, Protocol, Split
    from genbayes_bench.record import Record, read_records
    from genbayes_bench.runner import run_benchmark

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
        "problems": ["PROBLEMS", "Problem", "Protocol", "Split"],
        "record": ["Record", "read_records"],
        "runner": ["run_benchmark"],
    },
)
