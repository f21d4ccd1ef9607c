"""Records of ablations: a line of JSON each, added as soon as it is known, so that a run can be stopped and resumed."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from genbayes_bench.studies.ablations.ablation import Ablation, Size

__all__ = ["key_of", "read_records", "run_ablation"]

Record = dict[str, Any]
Key = tuple[str, str, str, int, str]  # ablation, problem, variant, replicate, size


def key_of(record: Mapping[str, Any]) -> Key:
    return record["ablation"], record["problem"], record["variant"], record["replicate"], record["size"]


def read_records(path: Path) -> list[Record]:
    """All records of a file, each key once, the last counting; a line that was cut off is left out, with a word."""
    found: dict[Key, Record] = {}
    lines = path.read_text().splitlines() if path.exists() else []
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            found[key_of(record)] = record
        except (ValueError, KeyError, TypeError):
            print(f"line {number} of {path} holds no record and is left out", flush=True)
    return list(found.values())


def run_ablation(
    name: str,
    ablation: Ablation,
    replicates: Iterable[int],
    path: Path,
    size: Size,
    problems: Iterable[str] | None = None,
) -> int:
    """Run what is missing, one replicate of everything before the next; returns how many records were added."""
    known, added = {key_of(record) for record in read_records(path)}, 0
    for replicate in replicates:
        for problem in problems or ablation.problems:
            split = None
            for variant, measure in ablation.variants.items():
                if (name, problem, variant, replicate, size.name) in known:
                    continue
                split = size.cut(ablation.problems[problem](replicate)) if split is None else split
                started = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of models that are weak on purpose
                    scores = measure(split, replicate, size)
                record = {"ablation": name, "problem": problem, "variant": variant, "replicate": replicate}
                record |= {"size": size.name, "seconds": round(time.perf_counter() - started, 2), **scores}
                append(path, record)
                added += 1
                print(f"{name} {problem} {replicate} {variant}: CRPS {scores['crps']:.4g}", flush=True)
    return added


def append(path: Path, record: Record) -> None:
    """Add one line, on a line of its own even where the one before was cut off."""
    torn = path.exists() and path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
    with path.open("a") as file:
        file.write("\n" * torn + json.dumps(record) + "\n")
