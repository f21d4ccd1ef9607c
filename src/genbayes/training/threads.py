"""How many threads a training step deserves, found by timing a few.

Small networks gain little from a second thread, and lose an order of magnitude when another process holds the
core it was meant for. So the first steps are timed with one thread and with all, the quicker way goes on, and now
and then the question is asked again. The process's own setting is put back at the end, whatever happens.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

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
    """Asked at the end of each step, it sets the number of threads of the next; `close` puts back what was set before.

    Example:
        >>> from contextlib import closing
        >>> with closing(ThreadChooser()) as threads:
        ...     for _ in range(10):
        ...         threads.end_step()
        >>> threads.chosen in (1, torch.get_num_threads())
        True
    """

    def __init__(self) -> None:
        self.available = torch.get_num_threads()
        self.chosen = 1
        self._seconds: list[float] = []  # of the steps timed since the question was last asked
        self._started = time.perf_counter()
        torch.set_num_threads(1)

    def end_step(self) -> None:
        """One warm-up and N_TRIALS steps with one thread, then as many with all, then decide, until asked again."""
        if self.available == 1:
            return
        now = time.perf_counter()
        n_timed, each = len(self._seconds), N_TRIALS + 1
        if n_timed < 2 * each:
            self._seconds.append(now - self._started)
            if n_timed + 1 == each:
                self.chosen = self.available
            elif n_timed + 1 == 2 * each:
                one, many = min(self._seconds[1:each]), min(self._seconds[each + 1 :])
                self.chosen = self.available if many < ADVANTAGE * one else 1
                self._decided = now
        elif now - self._decided > SECONDS_BETWEEN:
            self._seconds, self.chosen = [], 1
        torch.set_num_threads(self.chosen)
        self._started = time.perf_counter()

    def close(self) -> None:
        """The number of threads of the process as it was."""
        torch.set_num_threads(self.available)
