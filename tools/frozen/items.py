"""The items, by name: functions without arguments that return named arrays of numbers or words, each on its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

TAU = np.array([0.001, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999])

Values = dict[str, Any]
ITEMS: dict[str, Callable[[], Values]] = {}


def item(name: str) -> Callable[[Callable[[], Values]], Callable[[], Values]]:
    """Register a function as an item; a key that ends in ~ is a note, which is not compared."""

    def add(function: Callable[[], Values]) -> Callable[[], Values]:
        ITEMS[name] = function
        return function

    return add
