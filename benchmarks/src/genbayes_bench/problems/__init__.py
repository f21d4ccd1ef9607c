"""Benchmark problems as values, each with its protocols."""

from collections.abc import Mapping

from genbayes_bench.problems import formulas, inference, jumps, tables
from genbayes_bench.problems.formulas import draw_exp2d, draw_friedman, friedman
from genbayes_bench.problems.jumps import draw_bgp, draw_phantom, draw_star
from genbayes_bench.problems.problem import Case, Problem, Protocol, Split
from genbayes_bench.problems.sampling import draws_of, split_rows
from genbayes_bench.problems.tables import draw_grace, draw_standin, draw_uci, split_motorcycle

__all__ = [
    "PROBLEMS",
    "PROTOCOLS",
    "Case",
    "Problem",
    "Protocol",
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
_ALL: tuple[Problem, ...] = (
    tables.MOTORCYCLE,
    *jumps.BGP,
    formulas.FRIEDMAN,
    formulas.SCALING,
    *jumps.LEVELS,
    formulas.MICHALEWICZ,
    *formulas.EXPONENTIALS,
    *formulas.ROCKETS,
    *tables.SATELLITES,
    formulas.PROXY,
    *formulas.ENGINEERING,
    jumps.JUMP,
    *(problem for problem, _ in tables.TABLES),
    *inference.PROBLEMS_OF_INFERENCE,
)
PROBLEMS: Mapping[str, Problem] = {problem.name: problem for problem in _ALL}
PROTOCOLS: tuple[Protocol, ...] = (
    tables.MOTORCYCLE_PROTOCOL,
    *jumps.BGP_PROTOCOLS,
    *formulas.FRIEDMAN_PROTOCOLS,
    *jumps.LEVELS_PROTOCOLS,
    formulas.MICHALEWICZ_PROTOCOL,
    *formulas.EXPONENTIAL_PROTOCOLS,
    *formulas.ROCKET_PROTOCOLS,
    *tables.SATELLITE_PROTOCOLS,
    formulas.PROXY_PROTOCOL,
    *formulas.ENGINEERING_PROTOCOLS,
    jumps.JUMP_PROTOCOL,
    *(protocol for _, protocol in tables.TABLES),
    *inference.PROTOCOLS_OF_INFERENCE,
)
