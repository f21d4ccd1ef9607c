"""Time of `import genbayes` in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from genbayes_bench.studies.speed.result import Result

__all__ = ["measure_import"]

PROBE = "import time; s = time.perf_counter(); import genbayes; print(time.perf_counter() - s)"


def measure_import(n_rounds: int = 5) -> Iterator[Result]:
    runs = [
        subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
        for _ in range(n_rounds)
    ]
    best = min(float(run.stdout) for run in runs)
    yield Result("import genbayes", f"{best:.3f} s", "under 0.3 s", best < 0.3)
