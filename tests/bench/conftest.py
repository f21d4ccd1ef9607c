"""What the tests of the runner share: a tiny file of problems and methods, and runs in processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from genbayes.cli.main import answer
from genbayes_bench.runner import Summary, run_benchmark

TINY = str(Path(__file__).with_name("tiny.py"))


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

    def go(*words: str) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-c",
            "from genbayes.cli.main import run; run()",
            "bench",
            "run",
            *words,
            "--with",
            TINY,
        ]
        environment = {**os.environ, "TINY_LOG": str(tmp_path / "log"), "OMP_NUM_THREADS": "1"}
        with (tmp_path / "err").open("a") as err:  # no pipe: a killed run's children may hold it open for a while
            return subprocess.Popen(
                [*command, "--results", str(tmp_path / "results")],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=err,
            )

    return go


@dataclass
class Answer:
    """What a command line came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def lines(self) -> str:
        """Standard output without the line breaks of a narrow terminal."""
        return " ".join(self.out.split())


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run a command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*words: str) -> Answer:
        code = answer(words)
        out, err = capfd.readouterr()
        return Answer(code, out, err)

    return run
