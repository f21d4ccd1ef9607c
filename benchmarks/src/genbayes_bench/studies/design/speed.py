"""How long a campaign thinks: the next trial after 300 runs, and 250 acquisitions of the ensemble one at a time."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console

from genbayes import Box
from genbayes.arrays import FloatArray
from genbayes.design import ModelProposer
from genbayes.design.ensemble import RandomizedPriors
from genbayes.errors import UnwritableFile
from genbayes.writing import check_writable, write_atomically
from genbayes_bench.studies.speed.result import Result, timed
from genbayes_bench.studies.speed.table import as_table, describe_machine

__all__ = ["N_ACQUISITIONS", "OUTPUT", "measure_acquisitions", "measure_ask", "measure_speed"]

OUTPUT = Path("benchmarks/results/design-speed.json")
N_RUNS, N_LATER = 300, 5  # told before the first ask that is timed; asks after it
N_FIRST, N_ACQUISITIONS = 50, 250  # as in the paper's rocket problem
N_NETWORKS = 3  # of the ensemble, paper section 4.3
SPACE = Box.unit(3)


def measure_ask(n_runs: int = N_RUNS, n_later: int = N_LATER) -> Iterator[Result]:
    """The first ask of a fresh process, which has everything to import and to fit, and those that follow."""
    command = [sys.executable, "-m", "genbayes_bench.studies.design.asking", str(n_runs), str(1 + n_later)]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    first, *later = json.loads(out)
    about = f"ask with {n_runs} runs told, 3 inputs"
    yield Result(f"{about}: the first", f"{first:.2f} s", "", None, "imports and the first fit included")
    spread = ", ".join(f"{taken:.2f}" for taken in later)
    yield Result(f"{about}: those after it", f"{median(later):.2f} s", "", None, f"median of {spread}")


def jumping(X: FloatArray) -> FloatArray:
    """A smooth response with a step, sin 5a + bc + 1{a > 1/2}, (n, 3) -> (n,)."""
    return np.asarray(np.sin(5 * X[:, 0]) + X[:, 1] * X[:, 2] + (X[:, 0] > 0.5))


def measure_acquisitions(n: int = N_ACQUISITIONS) -> Iterator[Result]:
    """Runs chosen by the ensemble one at a time, each told before the next is chosen; the simulator costs nothing."""
    rng, nothing = np.random.default_rng(0), np.empty((0, SPACE.d))
    proposer = ModelProposer(RandomizedPriors(N_NETWORKS))
    X = SPACE.latin_hypercube(N_FIRST, rng)
    y, seconds = jumping(X), []
    for _ in range(n):
        U, taken = timed(lambda X=X, y=y: proposer.propose(SPACE, X, y, nothing, 1, rng))
        X, y = np.vstack([X, U]), np.append(y, jumping(U))
        seconds.append(taken)
    yield Result(
        f"{n} acquisitions one at a time from {N_FIRST} runs, 3 inputs, {N_NETWORKS} networks",
        f"{sum(seconds):.0f} s", "", None,
        f"{median(seconds):.2f} s each (median), {max(seconds):.2f} s at most",
        {"runs": list(range(N_FIRST, N_FIRST + n)), "seconds": [round(taken, 3) for taken in seconds]},
    )  # fmt: skip


def measure_speed(n_acquisitions: int, path: Path) -> None:
    """Measure both, print a table and write the figures to a file, whose folder is made if it is not there."""
    _make_folder(path.parent)
    check_writable(path)  # before minutes of measuring, so that none are lost
    console, machine = Console(width=180), describe_machine()
    results = []
    for part in (measure_ask(), measure_acquisitions(n_acquisitions)):
        for result in part:
            results.append(result)
            console.print(f"{result.what}: {result.measured} ({result.detail})", highlight=False)
    console.print(as_table(results, f"design on {machine}"))
    figures = {"machine": machine, "results": [result.to_dict() for result in results]}
    write_atomically(path, (json.dumps(figures, indent=1, ensure_ascii=False) + "\n").encode())


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritableFile(f"path must lie in a folder, got {str(folder)!r}; {error.strerror}") from error
