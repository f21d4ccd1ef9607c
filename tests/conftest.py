"""What all tests share: names that are the same in every process, and no model that another test registered."""

import re

import pytest

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
