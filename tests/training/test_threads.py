"""The number of threads is chosen by timing, and always put back."""

import pytest
import torch

from genbayes.training import threads as threads_module
from genbayes.training.threads import N_TRIALS, ThreadChooser, single_thread


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


class Clock:
    """Time passes only when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


def run_steps(monkeypatch: pytest.MonkeyPatch, seconds: dict[int, float], n: int = 2 * (N_TRIALS + 1)) -> ThreadChooser:
    clock = Clock()
    monkeypatch.setattr(threads_module, "time", clock)
    with ThreadChooser() as chooser:
        for _ in range(n):
            with chooser.step():
                clock.now += seconds[torch.get_num_threads()]
    return chooser


@pytest.mark.usefixtures("two_threads")
def test_two_threads_are_used_where_they_are_quicker(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_steps(monkeypatch, {1: 1.0, 2: 0.5}).chosen == 2


@pytest.mark.usefixtures("two_threads")
def test_one_thread_is_used_where_two_are_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_steps(monkeypatch, {1: 0.013, 2: 0.249}).chosen == 1


@pytest.mark.usefixtures("two_threads")
def test_the_question_is_asked_again_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, seconds = Clock(), {1: 0.1, 2: 0.05}
    monkeypatch.setattr(threads_module, "time", clock)
    with ThreadChooser() as chooser:
        for step in range(300):
            if step == 50:
                seconds[2] = 5.0  # another process takes the second core
            with chooser.step():
                clock.now += seconds[torch.get_num_threads()]
    assert chooser.chosen == 1


@pytest.mark.usefixtures("two_threads")
def test_the_setting_of_the_process_is_put_back_even_after_an_error() -> None:
    with pytest.raises(RuntimeError, match="boom"), ThreadChooser():
        raise RuntimeError("boom")
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
def test_single_thread_is_temporary() -> None:
    with single_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
