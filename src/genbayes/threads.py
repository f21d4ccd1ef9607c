"""How many threads a fit may use: a matter of its size, never of timing.

One thread inside a fit, so that the same seed gives the same answer on any machine and however busy it is; candidates
run beside each other instead. While fewer of these run than the user allows, a fit may hand parts of its work that do
not depend on each other to the idle threads (`share_out`): who computes a part does not change it. Only where runs are
very many may all threads be used inside a sum, which then differs in the last digits.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import lru_cache
from threading import Event, Lock, Semaphore, Thread
from typing import TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from genbayes.arrays import FloatArray

Result = TypeVar("Result")

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


class JobSlots:
    """As many threads as the user allows: a job takes one while it runs, and parts of a job those that are idle.

    In another process it counts no threads, and parts are computed one after another.

    Args:
        n: Threads.
    """

    def __init__(self, n: int) -> None:
        self._idle = Semaphore(n)

    def __reduce__(self) -> tuple[type[JobSlots], tuple[int]]:
        return JobSlots, (1,)

    @contextmanager
    def one_job(self) -> Iterator[None]:
        """A thread is busy inside the block; parts of what it computes find the idle ones."""
        self.take()
        token = _slots.set(self)
        try:
            yield
        finally:
            _slots.reset(token)
            self.give_back()

    def take(self) -> None:
        """Wait for an idle thread and take it, to be given back."""
        self._idle.acquire()

    def borrow(self) -> bool:
        """Take an idle thread, to be given back; whether there was one."""
        return self._idle.acquire(blocking=False)

    def give_back(self) -> None:
        """A thread is idle again."""
        self._idle.release()


class Awaited:
    """An array that another thread still computes: numpy waits for it, and a waiting job's thread is idle.

    Example:
        >>> scores = Awaited()
        >>> scores.is_known
        False
        >>> scores.give(np.array([1.0, 2.0]))
        >>> np.asarray(scores)
        array([1., 2.])
    """

    def __init__(self) -> None:
        self._known, self._value, self.waited = Event(), np.empty(0), 0.0

    @property
    def is_known(self) -> bool:
        """Whether it has been given."""
        return self._known.is_set()

    def give(self, value: FloatArray) -> None:
        """Say what it is; only the first call counts."""
        if not self.is_known:
            self._value = value
            self._known.set()

    def __array__(self, dtype: np.dtype[np.float64] | None = None, copy: bool | None = None) -> FloatArray:
        slots, begun = _slots.get(), time.perf_counter()
        if slots is None or self.is_known:
            self._known.wait()
        else:
            slots.give_back()
            self._known.wait()
            slots.take()
        self.waited += time.perf_counter() - begun
        return np.array(self._value, dtype=dtype)


_slots: ContextVar[JobSlots | None] = ContextVar("threads of the jobs around", default=None)


def share_out(call: Callable[..., Result], *items: Iterable[object]) -> list[Result]:
    """As `map` to a list, some of the results computed by idle threads of the jobs around.

    The calls must not depend on each other. What one raises is raised when all have ended.

    Example:
        >>> with JobSlots(2).one_job():
        ...     share_out(pow, [1, 2, 3], [2, 2, 2])
        [1, 4, 9]
    """
    waiting, slots = list(zip(*items, strict=True)), _slots.get()
    found: dict[int, Result] = {}
    failed: dict[int, BaseException] = {}
    numbers, lock = iter(range(len(waiting))), Lock()

    def work() -> None:
        while not failed:
            with lock:
                i = next(numbers, None)
            if i is None:
                return
            try:
                found[i] = call(*waiting[i])
            except BaseException as error:
                failed[i] = error

    def help_out(borrowed: JobSlots) -> None:
        if torch is not None:  # counts for each thread of its own
            torch.set_num_threads(n_threads)
        work()
        borrowed.give_back()

    torch = sys.modules.get("torch")
    n_threads = 1 if torch is None else torch.get_num_threads()
    helpers: list[Thread] = []
    if slots is not None:
        while len(helpers) < len(waiting) - 1 and slots.borrow():
            context = copy_context()  # a deadline goes with it
            helpers.append(Thread(target=context.run, args=(help_out, slots), daemon=True))
            helpers[-1].start()
    work()
    for helper in helpers:
        helper.join()
    if failed:
        raise failed[min(failed)]
    return [found[i] for i in range(len(waiting))]
