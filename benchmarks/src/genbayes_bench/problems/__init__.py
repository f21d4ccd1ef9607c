"""Benchmark problems as data: one family per file, each with its protocols.

A file's values of type `Problem` and `Protocol`, alone or in tuples, are what it offers; `FAMILIES` lists the files.
"""

from collections.abc import Mapping
from importlib import import_module

from genbayes_bench.offers import offers
from genbayes_bench.problems.bgp import draw_bgp
from genbayes_bench.problems.exponential import draw_exp2d
from genbayes_bench.problems.formula import draws_of
from genbayes_bench.problems.friedman import draw_friedman, friedman
from genbayes_bench.problems.jumps import draw_phantom, draw_star
from genbayes_bench.problems.motorcycle import split_motorcycle
from genbayes_bench.problems.problem import Problem
from genbayes_bench.problems.rows import split_rows
from genbayes_bench.problems.satellite import draw_grace
from genbayes_bench.problems.split import Split
from genbayes_bench.problems.tables import draw_standin, draw_uci
from genbayes_bench.protocol import Protocol

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
_modules = [import_module(f"genbayes_bench.problems.{name}") for name in FAMILIES]
PROBLEMS: Mapping[str, Problem] = {p.name: p for module in _modules for p in offers(module, Problem)}
PROTOCOLS: tuple[Protocol, ...] = tuple(p for module in _modules for p in offers(module, Protocol))
