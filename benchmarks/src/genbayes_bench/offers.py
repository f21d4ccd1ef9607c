"""What a file offers: its values of a kind, alone or in tuples; so a problem or a method is added by one short file."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import TypeVar

__all__ = ["offers"]

T = TypeVar("T")


def offers(module: ModuleType, kind: type[T]) -> Iterator[T]:
    """Values of class `kind` among the names of a module, alone or in tuples and lists, each once.

    Example:
        >>> module = ModuleType("example")
        >>> module.ONE, module.MORE = 1, (2, 3, "four")
        >>> list(offers(module, int))
        [1, 2, 3]
    """
    seen = set()
    for value in vars(module).values():
        for part in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(part, kind) and id(part) not in seen:
                seen.add(id(part))
                yield part
