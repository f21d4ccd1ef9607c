"""What the tests of the runner share: a tiny file of problems and methods, and runs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from genbayes_bench.runner import Summary, run_benchmark

TINY = str(Path(__file__).with_name("tiny.py"))
COMMAND = [sys.executable, "-c", "from genbayes.cli.main import run; run()", "bench", "run", "--with", TINY]


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Summary]:
    """Run the tiny problem with its methods in an empty results folder."""

    def go(*names: str, **options: Any) -> Summary:
        options = {"results": tmp_path / "results", "files": [TINY], "n_jobs": 1, **options}
        return run_benchmark(names or ("tiny",), **options)

    return go


@pytest.fixture
def start(tmp_path: Path) -> Callable[..., subprocess.Popen[bytes]]:
    """Start `genbayes bench run` on the tiny problem in a process of its own; fits are logged to tmp_path/log."""
    env = {**os.environ, "TINY_LOG": str(tmp_path / "log"), "OMP_NUM_THREADS": "1"}

    def go(*words: str) -> subprocess.Popen[bytes]:
        command = [*COMMAND, "--results", str(tmp_path / "results"), *words]
        with (tmp_path / "err").open("a") as err:  # no pipe: a killed run's children may hold it open for a while
            return subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=err)

    return go
