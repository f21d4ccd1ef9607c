"""Seconds of the first asks of a campaign with many runs told, as JSON; a process of its own, so that imports count.

python -m genbayes_bench.studies.design.asking 300 6
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time

from genbayes import Campaign

INPUTS = {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0)}


def simulate(x: dict[str, float]) -> float:
    """A smooth response: sin 5a + bc."""
    return math.sin(5 * x["a"]) + x["b"] * x["c"]


def time_asks(n_runs: int, n_asks: int) -> list[float]:
    """Seconds of n_asks asks after n_runs results, each told before the next ask; an SQLite file."""
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign.create(f"sqlite:///{folder}/a.db", "a", INPUTS, n_initial=n_runs, random_state=0)
        for trial in campaign.ask(n_runs):
            campaign.tell(trial, simulate(dict(trial.x)))
        for _ in range(n_asks):
            start = time.perf_counter()
            trial = campaign.ask()
            seconds.append(time.perf_counter() - start)
            campaign.tell(trial, simulate(dict(trial.x)))
    return seconds


if __name__ == "__main__":
    print(json.dumps(time_asks(*map(int, sys.argv[1:3]))))
