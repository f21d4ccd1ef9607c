"""One record for each problem, method and replicate: its learning curve and its time, a line of JSON.

`pack` turns them into records of `genbayes bench`.
"""

from __future__ import annotations

import json
import time
import warnings
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from genbayes_bench.measurement import known_versions
from genbayes_bench.studies.design.methods import METHODS
from genbayes_bench.studies.design.problems import DesignProblem

__all__ = ["play", "read_records", "run_replicate"]

STREAM = 607


def read_records(path: str) -> list[dict[str, Any]]:
    """All records of a file; none if it does not exist. A half-written last line is left out."""
    file = Path(path)
    lines = file.read_text().splitlines() if file.exists() else []
    records = []
    for line in lines:
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            print(f"{path}: a damaged line is left out", flush=True)
    return records


def run_replicate(name: str, problem: DesignProblem, method: str, replicate: int, path: str) -> None:
    """Play one replicate unless its record is there."""
    known = {(r["problem"], r["method"], r["replicate"]) for r in read_records(path)}
    if (name, method, replicate) in known:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        record = {"problem": name, "method": method, "replicate": replicate, **play(problem, method, replicate)}
    record |= {"finished": datetime.now(UTC).isoformat(timespec="seconds"), "versions": known_versions()}
    with Path(path).open("a") as file:
        file.write(json.dumps(record) + "\n")
    print(
        name, method, replicate, f"{problem.metric} {record['error'][-1]:.4g} at {record['n'][-1]}",
        f"{record['seconds']:.0f} s", flush=True,
    )  # fmt: skip


def play(problem: DesignProblem, method: str, replicate: int) -> dict[str, Any]:
    """The learning curve of one method on one replicate."""
    game = problem.draw(replicate)
    rng = np.random.default_rng([STREAM, replicate, *method.encode()])
    player = METHODS[method](game, problem)
    last = {"random": problem.n_random, "deep-gp": problem.n_deep}.get(method, problem.n)
    X, y = game.X, game.y
    n, error, asks = [], [], []
    started = time.perf_counter()
    while True:
        if len(y) in problem.checkpoints:
            n.append(len(y))
            error.append(float(problem.score(player.predict(X, y, game.X_test, rng), game.y_test)))
        if len(y) >= last:
            break
        asked = time.process_time()
        u = player.choose(X, y, rng)
        asks.append(time.process_time() - asked)
        X, y = np.vstack([X, u]), np.append(y, game.simulate(u))
    detail = getattr(getattr(player, "proposer", None), "model_", None)
    return {
        "n": n,
        "error": error,
        "metric": problem.metric,
        "seconds": time.perf_counter() - started,
        "ask_seconds": {"mean": float(np.mean(asks)), "max": float(np.max(asks))},
        "scores": getattr(detail, "scores_", {}),
    }
