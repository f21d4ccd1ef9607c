"""What all tests share: the same names in every process, no model of another test, patience, a terminal."""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from genbayes.cli.main import answer
from genbayes.distribution import Normal
from genbayes.models import registry


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test whose name holds an address in memory: it differs from worker to worker, who compare names."""
    changing = [item.nodeid for item in items if re.search(r"0x[0-9a-f]{6,}", item.nodeid)]
    if changing:
        raise pytest.UsageError(f"names of tests must not hold addresses, got {changing[0]}; pass ids= to parametrize")


@pytest.fixture(autouse=True)
def _registry_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_models", "_parts", "_own", "_seen_plugins"):
        monkeypatch.setattr(registry, name, getattr(registry, name).copy())


@pytest.fixture(scope="session")
def make_model() -> Callable[..., Any]:
    """A fitted model with distribution N(f(X), scale^2) and any further attributes."""

    def make(f: Callable[[Any], Any], scale: float = 1.0, **attributes: Any) -> Any:
        def predict_distribution(X: Any) -> Normal:
            return Normal(loc=np.asarray(f(X), dtype=float), scale=np.full(len(X), scale))

        return SimpleNamespace(predict_distribution=predict_distribution, **attributes)

    return make


@pytest.fixture
def wait_for() -> Callable[..., None]:
    """Wait until something holds; a busy machine needs some of the minute that it has."""

    def wait(condition: Callable[[], object], seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "it must happen in time"
            time.sleep(0.02)

    return wait


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
    return lambda *words: Answer(answer(words), *capfd.readouterr())
