"""How many threads a training step deserves, found by timing a few.

Small networks gain little from a second thread, and lose an order of magnitude when another process holds the
core it was meant for. So the first steps are timed with one thread and with all, the quicker way goes on, and now
and then the question is asked again. The process's own setting is put back at the end, whatever happens.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

import torch

N_TRIALS = 3  # steps timed for each choice; the best of them counts, so one hiccup decides nothing
SECONDS_BETWEEN = 3.0  # after this long the load of the machine may have changed: ask again
ADVANTAGE = 0.9  # all threads must take at most this share of the time of one


@contextmanager
def single_thread() -> Iterator[None]:
    """One torch thread inside the block, the previous number after it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class ThreadChooser:
    """Context in which each `step()` is timed and the number of threads chosen.

    Example:
        >>> with ThreadChooser() as threads:
        ...     for _ in range(10):
        ...         with threads.step():
        ...             pass
        >>> threads.chosen in (1, torch.get_num_threads())
        True
    """

    def __init__(self) -> None:
        self.available = torch.get_num_threads()
        self.chosen = self.available
        self._trials: list[tuple[int, float]] = []
        self._asked_at = 0.0

    def __enter__(self) -> ThreadChooser:
        self._ask_again()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        torch.set_num_threads(self.available)

    @contextmanager
    def step(self) -> Iterator[None]:
        """Run one training step, timed while the question is open."""
        if self.available == 1:
            yield
            return
        start = time.perf_counter()
        if not self._undecided and start - self._asked_at > SECONDS_BETWEEN:
            self._ask_again()
            start = time.perf_counter()
        yield
        if self._undecided:
            self._note(time.perf_counter() - start)

    @property
    def _undecided(self) -> bool:
        return len(self._trials) < 2 * (N_TRIALS + 1)

    def _ask_again(self) -> None:
        self._trials = []
        self._use(1)

    def _note(self, seconds: float) -> None:
        """Keep one timing; one warm-up and N_TRIALS steps with one thread, then as many with all, then decide."""
        self._trials.append((self.chosen, seconds))
        if len(self._trials) == N_TRIALS + 1:
            self._use(self.available)
        if not self._undecided:
            one = min(s for n, s in self._trials[1 : N_TRIALS + 1])
            many = min(s for n, s in self._trials[N_TRIALS + 2 :])
            self._use(self.available if many < ADVANTAGE * one else 1)
            self._asked_at = time.perf_counter()

    def _use(self, n_threads: int) -> None:
        self.chosen = n_threads
        torch.set_num_threads(n_threads)
