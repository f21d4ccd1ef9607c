"""Tables from records: means with standard errors, paired differences, and whether AutoSurrogate wins or ties.

"Ties" means that the mean paired difference is below two paired standard errors and below 2% of the rival's mean.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["print_tables"]

TARGETS: dict[str, list[tuple[str, float]]] = {
    "bgp2": [("ratio", 1.045)],
    "bgp3": [("ratio", 1.065)],
    "bgp4": [("ratio", 1.09)],
    "friedman": [("crps", 0.575), ("rmse_f", 0.16)],
    "motorcycle": [("crps", 11.9)],
    "grace": [("rmspe", 1.05)],
}
MOST_BEHIND = 0.02  # of a tie


def print_tables(records: Sequence[dict[str, Any]], path: str | None = None) -> None:
    """Print one line for each problem and rival, and for each target."""
    rows = [row for name in dict.fromkeys(r["problem"] for r in records) for row in rows_of(name, records)]
    for row in rows:
        print(f"{row['problem']:16} {row['what']:34} {row['measured']:22} {row['against']:24} {row['verdict']}")
    if path is not None:
        Path(path).write_text(json.dumps(rows, indent=1) + "\n")


def rows_of(name: str, records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Lines of one problem."""
    own = {r["replicate"]: r for r in records if r["problem"] == name and r["method"] == "AutoSurrogate"}
    rows = []
    for key, limit in TARGETS.get(name, []):
        values = [r[key] for r in own.values()]
        met = "met" if np.mean(values) <= limit else "NOT MET"
        rows.append(line(name, f"{key}, {len(values)} replicates", told(values), f"at most {limit}", met))
    for rival in dict.fromkeys(r["method"] for r in records if r["problem"] == name and r["method"] != "AutoSurrogate"):
        other = {r["replicate"]: r for r in records if r["problem"] == name and r["method"] == rival}
        both = sorted(set(own) & set(other))
        if both:
            rows.append(against(name, rival, [own[r]["crps"] for r in both], [other[r]["crps"] for r in both]))
    seconds = [r["seconds"] for r in own.values()]
    if seconds:
        rows.append(line(name, "seconds a fit", told(seconds), "", ""))
    return rows


def against(name: str, rival: str, ours: list[float], theirs: list[float]) -> dict[str, Any]:
    """AutoSurrogate and one rival on the same replicates."""
    gap = np.array(ours) - np.array(theirs)
    error = float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else float("inf")
    mean, level = float(gap.mean()), float(np.mean(theirs))
    if mean <= 0:
        verdict = "better" if mean < -2 * error else "ties, lower"
    else:
        verdict = "ties" if mean < 2 * error and mean < MOST_BEHIND * level else "WORSE"
    told_gap = f"{verdict} ({mean / level:+.1%} +- {error / level:.1%})"
    return line(name, f"CRPS against {rival}, {len(gap)}", told(ours), told(theirs), told_gap)


def line(problem: str, what: str, measured: str, against: str, verdict: str) -> dict[str, Any]:
    return {"problem": problem, "what": what, "measured": measured, "against": against, "verdict": verdict}


def told(values: Sequence[float]) -> str:
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else float("nan")
    return f"{np.mean(values):.4g} +- {error:.2g}"
