"""What all tests share: names that are the same in every process, since workers compare what they have collected."""

import re

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test whose name holds an address in memory: it differs from worker to worker."""
    changing = [item.nodeid for item in items if re.search(r"0x[0-9a-f]{6,}", item.nodeid)]
    if changing:
        raise pytest.UsageError(f"names of tests must not hold addresses, got {changing[0]}; pass ids= to parametrize")
