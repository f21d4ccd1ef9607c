"""Scripts of `tools` as modules, forgotten after the test."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ModuleType]]:
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(TOOLS))
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(TOOLS):
            del sys.modules[name]
