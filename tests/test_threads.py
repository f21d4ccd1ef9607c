"""Threads of a fit are a matter of its size; the process's own number is put back."""

import pickle
import threading
import time
from contextlib import nullcontext

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from genbayes import QuantileSurrogate
from genbayes.deadline import OutOfTime, deadline, require_time
from genbayes.models import StationaryGP
from genbayes.threads import MANY_CELLS, JobSlots, fitting_threads, share_out, single_thread


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("n", "p", "threads"), [(1_000, 10, 1), (MANY_CELLS // 10 - 1, 10, 1), (MANY_CELLS, 1, 2)])
def test_one_thread_unless_rows_times_columns_are_many(two_threads, n: int, p: int, threads: int) -> None:
    with fitting_threads(n, p):
        assert torch.get_num_threads() == threads
        blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        assert threads == 2 or set(blas) <= {1}
    assert torch.get_num_threads() == 2


def test_an_error_in_the_middle_puts_the_number_back(two_threads) -> None:
    def fail() -> None:
        assert torch.get_num_threads() == 1
        raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"), single_thread():
        fail()
    assert torch.get_num_threads() == 2


def test_helpers_use_as_many_torch_threads_as_the_one_they_help(two_threads) -> None:
    together, found = threading.Barrier(2), []

    def share(_: int) -> None:
        together.wait(timeout=10)
        found.append(torch.get_num_threads())

    for n, block in ((1, single_thread()), (2, nullcontext())):
        found.clear()
        with JobSlots(2).one_job(), block:
            share_out(share, range(2))
        assert found == [n, n]


@pytest.mark.parametrize(
    "model", [QuantileSurrogate(n_epochs=30, random_state=0), StationaryGP(random_state=0)], ids=["network", "gp"]
)
def test_the_same_seed_gives_the_same_answer_with_one_thread_and_with_two(two_threads, model) -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(250, 4))
    y = np.sin(5 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(250)
    two = model.fit(X, y).predict_quantiles(X, [0.1, 0.9])
    torch.set_num_threads(1)
    one = model.fit(X, y).predict_quantiles(X, [0.1, 0.9])
    np.testing.assert_allclose(one, two, rtol=1e-6)


def test_idle_threads_take_a_share_and_results_keep_their_order() -> None:
    together, most = threading.Barrier(2), []
    running = 0
    lock = threading.Lock()

    def square(x: int) -> int:
        nonlocal running
        with lock:
            running += 1
            most.append(running)
        if x < 2:
            together.wait(timeout=10)  # passes only if two are computed at once
        with lock:
            running -= 1
        return x * x

    with JobSlots(2).one_job():
        assert share_out(square, range(20)) == [x * x for x in range(20)]
    assert max(most) == 2


def test_without_an_idle_thread_one_thread_computes_all() -> None:
    slots, names = JobSlots(2), set()
    with slots.one_job():
        assert slots.borrow()
        share_out(lambda _: names.add(threading.current_thread().name), range(5))
        slots.give_back()
    share_out(lambda _: names.add(threading.current_thread().name), range(5))
    with pickle.loads(pickle.dumps(slots)).one_job():  # in another process, whose cores are not ours to count
        share_out(lambda _: names.add(threading.current_thread().name), range(5))
    assert names == {threading.current_thread().name}


def test_an_error_of_a_share_is_raised_once_all_have_ended_and_the_threads_are_idle_again() -> None:
    slots = JobSlots(3)

    def fail(x: int) -> None:
        raise ValueError(f"share {x}")

    with slots.one_job():
        with pytest.raises(ValueError, match="share"):
            share_out(fail, range(9))
        assert slots.borrow()
        assert slots.borrow()
        assert not slots.borrow()


def test_shares_keep_the_deadline_and_share_out_themselves() -> None:
    def expensive(x: int) -> int:
        require_time()
        return x

    with JobSlots(2).one_job():
        with deadline(0.0), pytest.raises(OutOfTime):
            share_out(expensive, range(3))
        assert share_out(lambda k: share_out(pow, range(k), [2] * k), range(4)) == [[], [0], [0, 1], [0, 1, 4]]


def test_an_idle_thread_works_again_as_soon_as_its_share_is_done() -> None:
    slots, seen, together = JobSlots(2), [], threading.Barrier(2)

    def share(_: int) -> None:
        together.wait(timeout=10)
        if threading.current_thread() is threading.main_thread():
            time.sleep(0.2)  # the other thread has no more to do by now
            seen.append(slots.borrow())

    with slots.one_job():
        share_out(share, range(2))
    assert seen == [True]
