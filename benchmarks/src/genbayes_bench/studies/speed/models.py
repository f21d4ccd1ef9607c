"""Fit and prediction time of every model against the number of rows: n = 100, ... as far as each gets in 60 s.

Friedman's function in ten inputs; prediction is of 1,000 new rows, mean and 90% interval. Each model runs in a process
of its own and is stopped when one fit takes longer than the limit.
`python -m genbayes_bench.studies.speed models --plot FILE` also draws them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from genbayes_bench.studies.speed.result import Result

__all__ = ["MODELS", "Timing", "measure_models", "time_model"]

SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
LIMIT = 60.0
GRACE = 30.0  # for start-up, prediction and drawing the data
MODELS = {
    "QuantileSurrogate": "genbayes.models.network",
    "StationaryGP": "genbayes.baselines",
    "HeteroskedasticGP": "genbayes.baselines",
    "ModularJumpGP": "genbayes.baselines",
    "DeepGP": "genbayes.baselines",
    "SparseGP": "genbayes.baselines",
    "BoostedQuantiles": "genbayes.baselines",
    "QuantileForest": "genbayes.baselines",
    "NaturalGradientBoosting": "genbayes.baselines",
}
PROBE = """
import importlib, json, sys, time
from genbayes_bench.problems import draw_friedman
home, name, *sizes = sys.argv[1:]
make = getattr(importlib.import_module(home), name)
warm = draw_friedman(1, 50, 10)
for n in sizes:
    split = draw_friedman(0, int(n), 1000)
    print(json.dumps(["start", int(n)]), flush=True)
    begin = time.perf_counter()
    model = make(random_state=0).fit(split.X_train, split.y_train)
    fitted = time.perf_counter()
    law = model.predict_distribution(split.X_test)
    law.mean(), law.interval(0.9)
    done = time.perf_counter()
    print(json.dumps(["done", int(n), fitted - begin, done - fitted]), flush=True)
"""


@dataclass(frozen=True)
class Timing:
    """Seconds of one model at one size."""

    model: str
    n: int
    fit: float
    predict: float


def time_model(name: str, sizes: tuple[int, ...] = SIZES, limit: float = LIMIT) -> list[Timing]:
    """Timings of a model at growing sizes, until a fit takes longer than the limit."""
    command = [sys.executable, "-W", "ignore", "-c", PROBE, MODELS[name], name, *map(str, sizes)]
    found: list[Timing] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        watch = threading.Timer(limit + GRACE, process.kill)
        watch.start()
        assert process.stdout is not None
        for line in process.stdout:
            watch.cancel()
            event, n, *seconds = json.loads(line)
            if event == "done":
                found.append(Timing(name, n, *seconds))
                if seconds[0] > limit:
                    process.kill()
            watch = threading.Timer(limit + GRACE, process.kill)
            watch.start()
        watch.cancel()
    return [timing for timing in found if timing.fit <= limit]


def measure_models() -> Iterator[Result]:
    for name in MODELS:
        timings = time_model(name)
        fit = ", ".join(f"n={t.n:,}: {t.fit:.2g} s" for t in timings)
        predict = ", ".join(f"{t.predict:.2g} s" for t in timings)
        reached = f"n = {timings[-1].n:,}" if timings else "nothing"
        detail = f"fit {fit}; 1,000 rows predicted in {predict}"
        series = {"n": [t.n for t in timings], "fit": [t.fit for t in timings], "predict": [t.predict for t in timings]}
        yield Result(f"{name}: largest n fitted within {LIMIT:.0f} s", reached, "reported", None, detail, series)
