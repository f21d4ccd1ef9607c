"""Benchmark problems as data: one family per file."""

from genbayes.benchmarks.problems.bgp import draw_bgp
from genbayes.benchmarks.problems.friedman import draw_friedman, friedman
from genbayes.benchmarks.problems.jumps import draw_phantom, draw_star
from genbayes.benchmarks.problems.motorcycle import split_motorcycle
from genbayes.benchmarks.problems.split import Split

__all__ = ["Split", "draw_bgp", "draw_friedman", "draw_phantom", "draw_star", "friedman", "split_motorcycle"]
