"""How many threads a training step may use: a matter of its size, never of timing.

One thread inside a fit, so that the same seed gives the same answer on any machine and however busy it is; members
share one thread, candidates run beside each other. Only where runs are very many are all threads of the process used:
their sums then differ in the last digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import torch

MANY_CELLS = 500_000  # rows times columns from which on a step is large enough for a second thread


@contextmanager
def training_threads(n: int, p: int) -> Iterator[None]:
    """One torch thread inside the block for n rows of p columns, all that the process has where they are many.

    Example:
        >>> with training_threads(1_000, 10):
        ...     torch.get_num_threads()
        1
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1 if n * p < MANY_CELLS else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def single_thread() -> AbstractContextManager[None]:
    """One torch thread inside the block, the previous number after it."""
    return training_threads(0, 0)
