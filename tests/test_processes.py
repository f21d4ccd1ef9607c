"""Tasks give the same answer whether a worker process takes them or not; what goes wrong there is told here."""

import os
import threading
import time

import joblib
import numpy as np
import pytest

from genbayes.deadline import OutOfTime, deadline, require_time
from genbayes.processes import Awaited, Task, WorkerDied, compute_all, count_workers, has_workers, worker_processes


def test_without_workers_a_task_is_computed_when_its_result_is_asked_for() -> None:
    done: list[int] = []
    task = Task(done.append, 1)
    assert not task.begin()
    compute_all([task])
    assert not done
    task.result()
    assert done == [1]


def test_a_worker_takes_what_was_begun_while_this_process_computes_the_rest() -> None:
    def where(seconds: float) -> int:
        time.sleep(seconds)
        return os.getpid()

    with worker_processes(1):
        assert has_workers()
        early = Task(where, 0.0)
        assert early.begin()
        tasks = [Task(where, 0.0), Task(where, 0.2)]
        compute_all(tasks)
        found = [task.result() for task in [early, *tasks]]
    assert found[0] != os.getpid() == found[1]
    assert not has_workers()


def test_what_a_task_raises_in_a_worker_is_raised_here() -> None:
    def fail() -> None:
        raise KeyError("there")

    with worker_processes(1):
        task = Task(fail)
        task.begin()
        with pytest.raises(KeyError, match="there"):
            task.result()


@pytest.mark.parametrize("argument", [threading.Lock(), None], ids=["argument", "result"])
def test_what_cannot_be_sent_is_computed_here(argument: object) -> None:
    def compute(given: object) -> tuple[int, object]:
        return os.getpid(), threading.Lock()

    with worker_processes(1):
        task = Task(compute, argument)
        task.begin()
        assert task.result()[0] == os.getpid()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_process_that_dies_fails_its_task_alone(n_workers: int) -> None:
    def die() -> None:
        time.sleep(0.1)
        os._exit(3)

    with worker_processes(n_workers):
        deadly, well = Task(die), Task(time.sleep, 0.2)
        for task in (deadly, well):
            task.begin()
        with pytest.raises(WorkerDied, match="its worker process died"):
            deadly.result()
        well.result()
    with worker_processes(1):
        later = Task(os.getpid)
        later.begin()
        assert later.result() != os.getpid()


def test_a_deadline_holds_in_a_worker() -> None:
    def go_on() -> None:
        while True:
            require_time()

    with worker_processes(1), deadline(0.2):
        task = Task(go_on)
        task.begin()
        with pytest.raises(OutOfTime, match="by its deadline"):
            task.result()


def test_numbers_are_told_to_a_task_that_has_begun() -> None:
    def ask(numbers: Awaited) -> tuple[bool, np.ndarray | None]:
        return numbers.get() is None, numbers.get(wait=True)

    with worker_processes(1):
        numbers = Awaited()
        task = Task(ask, numbers)
        task.begin()
        time.sleep(0.3)
        numbers.tell(np.arange(3.0))
        _, told = task.result()
    assert told is not None
    assert told.tolist() == [0, 1, 2]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # of loky's thread, which kills it
def test_a_block_that_fails_ends_what_its_workers_are_at() -> None:
    def interrupt() -> None:
        with worker_processes(1):
            Task(time.sleep, 60.0).begin()
            raise KeyboardInterrupt

    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        interrupt()
    with worker_processes(1):
        task = Task(os.getpid)
        task.begin()
        assert task.result() != os.getpid()
    assert time.perf_counter() - started < 30


def test_no_processes_within_processes_nor_under_a_backend_of_the_users(monkeypatch) -> None:
    monkeypatch.setattr(joblib, "effective_n_jobs", lambda n_jobs: 4 if n_jobs == -1 else n_jobs)
    assert [count_workers(n_jobs) for n_jobs in (1, 2, -1)] == [0, 1, 3]
    with joblib.parallel_config(backend="threading"):
        assert count_workers(2) == 0
    with worker_processes(1):
        task = Task(count_workers, 2)
        task.begin()
        assert task.result() == 0
    assert joblib.Parallel(n_jobs=2, backend="loky")([joblib.delayed(count_workers)(2)] * 2) == [0, 0]
