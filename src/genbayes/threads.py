"""How many threads a fit may use: a matter of its size, never of timing.

One thread inside a fit, so that the same seed gives the same answer on any machine and however busy it is; candidates
run beside each other instead. Only where runs are very many may all threads be used: sums then differ in the last
digits.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController

MANY_CELLS = 500_000  # rows times columns from which on a second thread is worth having


@contextmanager
def fitting_threads(n: int, p: int) -> Iterator[None]:
    """One thread of linear algebra and of torch inside the block for n rows of p columns, all where they are many.

    Example:
        >>> with fitting_threads(1_000, 10):
        ...     pass
    """
    if n * p >= MANY_CELLS:
        yield
        return
    with _thread_pools(len(sys.modules)).limit(limits=1), single_thread():
        yield


@lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> ThreadpoolController:
    """The libraries that have threads, looked for again (milliseconds) only after something was imported."""
    return ThreadpoolController()


@contextmanager
def single_thread() -> Iterator[None]:
    """One torch thread inside the block, the previous number after it; nothing where torch is not loaded.

    Example:
        >>> import torch
        >>> with single_thread():
        ...     torch.get_num_threads()
        1
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
