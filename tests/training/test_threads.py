"""The number of threads is chosen by timing, and always put back."""

from collections.abc import Iterator
from contextlib import closing

import pytest
import torch

from genbayes.training import threads as threads_module
from genbayes.training.threads import N_TRIALS, ThreadChooser, single_thread

pytestmark = pytest.mark.usefixtures("two_threads")


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


class Clock:
    """Time passes only when it is said to."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


def run_steps(monkeypatch: pytest.MonkeyPatch, *seconds: dict[int, float], n: int = 2 * (N_TRIALS + 1)) -> int:
    """Threads chosen after n steps of each of these durations, by the number of threads at the time."""
    clock = Clock()
    monkeypatch.setattr(threads_module, "time", clock)
    with closing(ThreadChooser()) as chooser:
        for duration in seconds:
            for _ in range(n):
                clock.now += duration[torch.get_num_threads()]
                chooser.end_step()
    return chooser.chosen


@pytest.mark.parametrize(
    ("seconds", "chosen"), [({1: 1.0, 2: 0.5}, 2), ({1: 1.0, 2: 0.95}, 1), ({1: 0.013, 2: 0.249}, 1)]
)
def test_two_threads_are_used_where_they_are_clearly_quicker(
    monkeypatch: pytest.MonkeyPatch, seconds: dict[int, float], chosen: int
) -> None:
    assert run_steps(monkeypatch, seconds) == chosen


def test_the_question_is_asked_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    quiet, busy = {1: 0.1, 2: 0.05}, {1: 0.1, 2: 5.0}  # another process takes the second core
    assert run_steps(monkeypatch, quiet, busy, n=150) == 1
    assert run_steps(monkeypatch, busy, quiet, n=150) == 2


def test_the_setting_of_the_process_is_put_back_even_after_an_error() -> None:
    with pytest.raises(RuntimeError, match="boom"), closing(ThreadChooser()):
        raise RuntimeError("boom")
    assert torch.get_num_threads() == 2


def test_single_thread_is_temporary() -> None:
    with single_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
