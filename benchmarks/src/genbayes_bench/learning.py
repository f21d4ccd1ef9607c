"""Learning curves of sequential designs: read from records, and how many random runs buy what chosen ones do.

A record keeps its curve in `Record.detail["curve"]`: {"n": [...], "rmse": [...]} or any other score by name. Chosen and
random runs of one replicate begin with the same runs and are scored on the same test set, so they are paired.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from genbayes_bench.designs import is_sequential
from genbayes_bench.record import Record, is_finite_number

__all__ = [
    "Curves",
    "curve_fault",
    "curves_of",
    "leave_out_malformed",
    "runs_for_the_same",
    "scores_at",
    "shared_sizes",
]

LONGEST_SHOWN = 60  # characters of a curve that is none
Curves = Mapping[int, Mapping[int, float]]  # replicate to number of runs to score


def curves_of(records: Iterable[Record], problem: str, metric: str) -> dict[str, dict[int, dict[int, float]]]:
    """Learning curves of a problem by method and replicate, each from the number of runs to the score.

    A malformed curve, or one without a point, is left out; `leave_out_malformed` tells which.
    """
    found: dict[str, dict[int, dict[int, float]]] = {}
    for record in records:
        curve = record.detail.get("curve")
        if record.problem != problem or curve_fault(record) is not None:
            continue
        if isinstance(curve, Mapping) and {"n", metric} <= set(curve):
            pairs = zip(curve["n"], curve[metric], strict=True)
            own = {int(n): float(score) for n, score in pairs if score is not None}  # NaN is null in JSON
            if own:
                found.setdefault(record.method, {})[record.replicate] = own
    return found


def leave_out_malformed(records: Iterable[Record]) -> tuple[list[Record], list[str]]:
    """The records without those whose learning curve cannot be read, and a sentence for each of these."""
    sound, complaints = [], []
    for record in records:
        fault = curve_fault(record)
        if fault is None:
            sound.append(record)
        else:
            whose = f"{record.method!r} on {record.problem!r}, replicate {record.replicate}"
            complaints.append(f"The record of {whose}, was left out: {fault}")
    return sound, complaints


def curve_fault(record: Record) -> str | None:
    """What is wrong with the learning curve of a sequential design; None for a sound one, or where there is none."""
    curve = record.detail.get("curve")
    if curve is None or not is_sequential(record):
        return None
    if not isinstance(curve, Mapping) or "n" not in curve:
        return f"curve must be an object with the list 'n', got {_shown(curve)}"
    if not isinstance(curve["n"], list) or not all(_is_count(n) for n in curve["n"]):
        return f"curve must be over runs: 'n' must be a list of positive whole numbers, got {_shown(curve['n'])}"
    n_sizes = len(curve["n"])
    for name, scores in curve.items():
        if not isinstance(scores, list) or not all(score is None or is_finite_number(score) for score in scores):
            return f"curve must be of scores: {name!r} must be a list of finite numbers, got {_shown(scores)}"
        if len(scores) != n_sizes:
            return f"curve must have as many values of {name!r} as numbers of runs, got {len(scores)} and {n_sizes}"
    return None


def _is_count(value: Any) -> bool:
    return is_finite_number(value) and value >= 1 and value == int(value)


def _shown(value: Any) -> str:
    """The value, or its beginning where it is long."""
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def scores_at(curves: Curves, n: int) -> dict[int, float]:
    """The score after n runs by replicate, where it is known.

    Example:
        >>> scores_at({0: {50: 0.2, 60: 0.1}, 1: {50: 0.3}}, 60)
        {0: 0.1}
    """
    return {replicate: curve[n] for replicate, curve in curves.items() if n in curve}


def shared_sizes(curves: Curves) -> list[int]:
    """Numbers of runs that every replicate was scored at, in order.

    Example:
        >>> shared_sizes({0: {50: 0.2, 60: 0.1}, 1: {50: 0.3}})
        [50]
    """
    return sorted(set.intersection(*(set(curve) for curve in curves.values()))) if curves else []


def runs_for_the_same(random: Curves, ours: Curves, n: int) -> str | None:
    """How many random runs buy what n chosen ones do.

    Where the mean curve of random runs first reaches our mean score after n, both over the replicates that both have;
    between its points on logarithmic axes, log n being linear in log score.

    Args:
        random: Curves on random runs.
        ours: Curves on chosen runs.
        n: Number of chosen runs.

    Returns:
        The number in words, since it may lie beyond either end of the curve; None where too little is known.

    Example:
        >>> runs_for_the_same({0: {100: 0.4, 400: 0.1}}, {0: {100: 0.2}}, 100)
        '200'
        >>> runs_for_the_same({0: {100: 0.4, 400: 0.3}}, {0: {100: 0.2}}, 100)
        'more than 400'
    """
    ours = {r: curve for r, curve in ours.items() if n in curve and r in random}
    sizes = shared_sizes({r: random[r] for r in ours})
    if not sizes:
        return None
    goal = np.mean([curve[n] for curve in ours.values()])
    score = [np.mean([random[r][size] for r in ours]) for size in sizes]
    i = next((i for i, reached in enumerate(score) if reached <= goal), None)
    if i is None:
        return f"more than {sizes[-1]:,}"
    if i == 0:
        return f"at most {sizes[0]:,}"
    share = np.log(score[i - 1] / goal) / np.log(score[i - 1] / score[i])
    return f"{sizes[i - 1] * (sizes[i] / sizes[i - 1]) ** share:,.0f}"
