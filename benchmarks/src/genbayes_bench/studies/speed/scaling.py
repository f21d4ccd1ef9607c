"""Growth of time and memory with the number of rows, at equal epochs; each size in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import numpy as np

from genbayes_bench.studies.speed.result import Result

__all__ = ["measure_scaling"]

SIZES = (2_000, 6_000, 20_000, 90_000)
PROBE = """
import json, resource, sys, time
import numpy as np
import torch
from genbayes import QuantileSurrogate
from genbayes_bench.problems import draw_friedman
n, epochs = int(sys.argv[1]), int(sys.argv[2])
warm = draw_friedman(0, 500, 10)
QuantileSurrogate(n_epochs=1, random_state=0).fit(warm.X_train, warm.y_train)
split = draw_friedman(0, n, 10)
data = split.X_train.nbytes + split.y_train.nbytes
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
start = time.perf_counter()
QuantileSurrogate(n_epochs=epochs, random_state=0).fit(split.X_train, split.y_train)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([seconds, (peak - before) / 2**20, data / 2**20]))
"""


def measure_scaling(n_epochs: int = 10) -> Iterator[Result]:
    seconds, memory, data = [], [], []
    for n in SIZES:
        out = subprocess.run(
            [sys.executable, "-c", PROBE, str(n), str(n_epochs)], capture_output=True, text=True, check=True
        )
        s, grown, held = json.loads(out.stdout)
        seconds.append(s)
        memory.append(grown)
        data.append(held)
    exponent = float(np.log(seconds[-1] / seconds[0]) / np.log(SIZES[-1] / SIZES[0]))
    course = ", ".join(f"n={n:,}: {s:.1f} s" for n, s in zip(SIZES, seconds, strict=True))
    yield Result(
        "time growth, n = 2,000 to 90,000, equal epochs: exponent", f"{exponent:.2f}", "at most 1.05",
        exponent <= 1.05, course,
    )  # fmt: skip
    extra = memory[-1] - data[-1]
    yield Result(
        "memory of a fit beyond the data, n = 90,000", f"{max(extra, 0):.0f} MB", "at most 300 MB", extra <= 300,
        f"grew by {memory[-1]:.0f} MB, data {data[-1]:.0f} MB",
    )  # fmt: skip
