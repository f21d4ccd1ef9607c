"""A deadline that long computations keep: they ask now and then, and `OutOfTime` ends them once it has passed.

Whoever has a time budget opens the block; loops of training and of parameter searches call `require_time`. Nothing is
passed through the layers between them, and nothing outside the block, or in another thread, is touched.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from genbayes.errors import GenBayesError

_end: ContextVar[float | None] = ContextVar("end of the time budget", default=None)


class OutOfTime(GenBayesError, TimeoutError):
    """A computation was stopped because its time was up."""


def now() -> float:
    """Seconds on the clock that deadlines are kept by."""
    return time.perf_counter()


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """Give the block so many seconds from now, never more than a block around it has left; None sets no limit.

    Example:
        >>> with deadline(60.0):
        ...     require_time()
        >>> with deadline(0.0):
        ...     require_time()
        Traceback (most recent call last):
        ...
        genbayes.deadline.OutOfTime: the computation must end by its deadline, got no time left
    """
    outer = _end.get()
    own = None if seconds is None else now() + seconds
    known = [end for end in (outer, own) if end is not None]
    token = _end.set(min(known) if known else None)
    try:
        yield
    finally:
        _end.reset(token)


def require_time() -> None:
    """Raise `OutOfTime` if the deadline of a block around this call has passed."""
    end = _end.get()
    if end is not None and now() >= end:
        raise OutOfTime("the computation must end by its deadline, got no time left")
