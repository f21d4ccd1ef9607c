"""Tables of ablations: one row a problem and variant, with the paired difference to the first variant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from genbayes_bench.labels import problem_title
from genbayes_bench.studies.ablations.ablation import Ablation, Size
from genbayes_bench.summary import compare, estimate
from genbayes_bench.table import NONE, Table, estimate_text, relative_text, to_markdown

__all__ = ["make_table", "make_tables", "put_into"]

BEGIN, END = "<!-- tables: begin -->", "<!-- tables: end -->"
Records = list[dict[str, Any]]


def make_tables(ablations: Mapping[str, Ablation], records: Records, size: Size) -> str:
    """Markdown of every ablation that has records of this size."""
    parts = []
    for name, ablation in ablations.items():
        own = [record for record in records if record["ablation"] == name and record["size"] == size.name]
        if own:
            parts.append(to_markdown(make_table(ablation, own, size.told())))
    return "\n\n".join(parts)


def make_table(ablation: Ablation, records: Records, spent: str = "") -> Table:
    """One ablation; `spent` says what a fit was given, where that is less than in the paper."""
    head = ["problem", "variant", "CRPS", "against the first", "RMSE", "90% coverage", *ablation.columns.values()]
    rows = []
    for problem in ablation.problems:
        first = next(iter(ablation.variants))
        base = scores_of(records, problem, first, "crps")
        for variant in ablation.variants:
            own = scores_of(records, problem, variant, "crps")
            if not own:
                continue
            difference = compare(own, base) if variant != first else None
            told = [cell(scores_of(records, problem, variant, m), m) for m in ("rmse", "coverage", *ablation.columns)]
            against = NONE if difference is None else relative_text(difference)
            paper = ablation.paper.get((problem, variant), NONE)
            seconds = cell(scores_of(records, problem, variant, "seconds"), "seconds")
            name = problem_title(problem)
            rows.append([name, variant, cell(own, "crps"), against, *told, seconds, str(len(own)), paper])
    notes = [note for note in (spent, ablation.note) if note]
    return Table(ablation.title, [*head, "seconds", "replicates", "paper: CRPS"], rows, notes)


def scores_of(records: Iterable[dict[str, Any]], problem: str, variant: str, metric: str) -> dict[int, float]:
    """A score by replicate."""
    own = [r for r in records if (r["problem"], r["variant"]) == (problem, variant) and metric in r]
    return {record["replicate"]: record[metric] for record in own}


def cell(scores: Mapping[int, float], metric: str) -> str:
    if not scores:
        return NONE
    found = estimate(scores.values())
    return f"{found.mean:.3g}" if metric == "seconds" else estimate_text(found, metric)


def put_into(page: Path, tables: str) -> None:
    """Replace what stands between the two marks of a page."""
    text = page.read_text()
    if BEGIN not in text or END not in text:
        raise SystemExit(f"{page} must hold the marks {BEGIN} and {END}")
    block = f"{BEGIN}\n{tables}\n{END}"
    page.write_text(re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: block, text, flags=re.DOTALL))
