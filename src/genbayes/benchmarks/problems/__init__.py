"""Benchmark problems as data: one family per file, each with its protocols.

A file's values of type `Problem` and `Protocol`, alone or in tuples, are what it offers; `FAMILIES` lists the files.
"""

from collections.abc import Mapping
from importlib import import_module

from genbayes.benchmarks.offers import offers
from genbayes.benchmarks.problems.bgp import draw_bgp
from genbayes.benchmarks.problems.exponential import draw_exp2d
from genbayes.benchmarks.problems.formula import draws_of
from genbayes.benchmarks.problems.friedman import draw_friedman, friedman
from genbayes.benchmarks.problems.jumps import draw_phantom, draw_star
from genbayes.benchmarks.problems.motorcycle import split_motorcycle
from genbayes.benchmarks.problems.problem import Problem
from genbayes.benchmarks.problems.rows import split_rows
from genbayes.benchmarks.problems.satellite import draw_grace
from genbayes.benchmarks.problems.split import Split
from genbayes.benchmarks.problems.tables import draw_standin, draw_uci
from genbayes.benchmarks.protocol import Protocol

__all__ = [
    "PROBLEMS",
    "PROTOCOLS",
    "Problem",
    "Split",
    "draw_bgp",
    "draw_exp2d",
    "draw_friedman",
    "draw_grace",
    "draw_phantom",
    "draw_standin",
    "draw_star",
    "draw_uci",
    "draws_of",
    "friedman",
    "split_motorcycle",
    "split_rows",
]

# in the order of the paper, then those that are not in it
FAMILIES = (
    "motorcycle",
    "bgp",
    "friedman",
    "jumps",
    "michalewicz",
    "exponential",
    "rocket",
    "satellite",
    "functions",
    "tables",
)
_modules = [import_module(f"genbayes.benchmarks.problems.{name}") for name in FAMILIES]
PROBLEMS: Mapping[str, Problem] = {p.name: p for module in _modules for p in offers(module, Problem)}
PROTOCOLS: tuple[Protocol, ...] = tuple(p for module in _modules for p in offers(module, Protocol))
