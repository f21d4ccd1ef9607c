"""From records to the table: errors at the checkpoints that targets speak of, paired differences, runs saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from genbayes_bench.learning import Curves, runs_for_the_same
from genbayes_bench.studies.design.problems import PROBLEMS

__all__ = ["print_table"]

TARGETS = {"exp2d": ((100, 0.075),), "grace": ((200, 1.80), (500, 1.05))}


def print_table(records: Sequence[dict[str, Any]]) -> None:
    """Print the lines of every problem that has records."""
    for name, problem in PROBLEMS.items():
        mine = [r for r in records if r["problem"] == name]
        if not mine:
            continue
        curves = {method: curves_of(mine, method) for method in dict.fromkeys(r["method"] for r in mine)}
        print(f"\n{name}, {problem.metric} (replicates in parentheses)")
        for method, found in curves.items():
            seconds = np.mean([r["seconds"] for r in mine if r["method"] == method])
            ns = sorted({n for curve in found.values() for n in curve})
            told = "  ".join(f"{n}: {tell([c[n] for c in found.values() if n in c])}" for n in ns)
            print(f"  {method:11} ({len(found)}, {seconds:.0f} s)  {told}")
        if "auto" in curves:
            print_verdicts(name, curves)


def print_verdicts(name: str, curves: dict[str, Curves]) -> None:
    """Targets, paired differences against the others, and how many random runs buy the same."""
    ours, n = curves["auto"], PROBLEMS[name].n
    for at, limit in TARGETS.get(name, ()):
        values = [curve[at] for curve in ours.values()]
        met = "met" if np.mean(values) <= limit else "NOT MET"
        print(f"  target at n = {at}: {tell(values)} against at most {limit}: {met}")
    for method, found in curves.items():
        shared = sorted({k for c in found.values() for k in c} & {k for c in ours.values() for k in c})
        if method == "auto" or not shared:
            continue
        at = min(shared[-1], n)
        gaps = [found[r][at] - ours[r][at] for r in sorted(set(found) & set(ours)) if at in found[r] and at in ours[r]]
        if len(gaps) > 1:
            error = np.std(gaps, ddof=1) / np.sqrt(len(gaps))
            mean = np.mean(gaps)
            print(f"  auto is lower than {method} at n = {at} by {mean:.4g}, {mean / error:.1f} paired SE")
    if "random" in curves:
        same = runs_for_the_same(curves["random"], ours, n)
        print(f"  random runs that buy what auto has at n = {n}: {same or 'not known yet'}")


def curves_of(records: Sequence[dict[str, Any]], method: str) -> Curves:
    return {r["replicate"]: dict(zip(r["n"], r["error"], strict=True)) for r in records if r["method"] == method}


def tell(values: Sequence[float]) -> str:
    if len(values) < 2:
        return f"{values[0]:.4g}"
    return f"{np.mean(values):.4g} +- {np.std(values, ddof=1) / np.sqrt(len(values)):.2g}"
