"""One record for each problem, method and replicate, added to a file of JSON lines as soon as it is known."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from genbayes import AutoSurrogate, BoundaryFeatures, QuantileSurrogate
from genbayes import models as baselines
from genbayes.metrics import coverage, crps_normal, rmse, rmspe
from genbayes_bench.problems import Split
from genbayes_bench.studies.auto.problems import Problem

__all__ = ["read_records", "run_problem"]

MAKERS: dict[str, Callable[[int], Any]] = {
    "AutoSurrogate": lambda seed: AutoSurrogate(random_state=seed),
    "QuantileSurrogate": lambda seed: QuantileSurrogate(random_state=seed),
    "GBC-Aug": lambda seed: QuantileSurrogate(features=BoundaryFeatures(), random_state=seed),
}


def make(method: str, seed: int) -> Any:
    """An unfitted model."""
    if method in MAKERS:
        return MAKERS[method](seed)
    return getattr(baselines, method)(random_state=seed)


def read_records(path: str) -> list[dict[str, Any]]:
    """All records of a file; none if it does not exist."""
    file = Path(path)
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def run_problem(name: str, problem: Problem, replicate: int, path: str) -> None:
    """Run the methods whose record of this replicate is missing."""
    known = {(r["problem"], r["method"], r["replicate"]) for r in read_records(path)}
    split = None
    for method in ("AutoSurrogate", *problem.rivals):
        if (name, method, replicate) in known:
            continue
        split = problem.draw(replicate) if split is None else split
        record = {"problem": name, "method": method, "replicate": replicate, **measure(method, split, replicate)}
        with Path(path).open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(name, replicate, method, f"CRPS {record['crps']:.4g}", f"{record['seconds']:.1f} s", flush=True)


def measure(method: str, split: Split, seed: int) -> dict[str, Any]:
    """Scores of one method on one split."""
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(method, seed).fit(split.X_train, split.y_train)
    seconds = time.perf_counter() - started
    law = model.predict_distribution(split.X_test)
    mean = law.mean()
    record: dict[str, Any] = {
        "crps": float(law.crps(split.y_test).mean()),
        "rmse": rmse(mean, split.y_test),
        "coverage": coverage(*law.interval(0.9), split.y_test),
        "seconds": seconds,
    }
    if (split.y_test != 0).all():
        record["rmspe"] = rmspe(mean, split.y_test)
    if split.f_test is not None:
        record["rmse_f"] = rmse(mean, split.f_test)
        if split.noise_sd is not None:
            truth = crps_normal(split.f_test, np.full(len(mean), split.noise_sd), split.y_test)
            record["ratio"] = record["crps"] / float(np.mean(truth))
    if method == "AutoSurrogate":
        report = model.report_
        record["weights"] = {entry.name: round(entry.weight, 3) for entry in report.entries if entry.weight > 0}
        record["kind"] = report.kind
        record["out_of_fold"] = {entry.name: entry.crps for entry in report.entries}
    return record
