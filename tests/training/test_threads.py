"""Threads of a fit are a matter of its size; the process's own number is put back."""

import pytest
import torch

from genbayes.training.threads import MANY_CELLS, single_thread, training_threads


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("n", "p", "threads"), [(1_000, 10, 1), (MANY_CELLS // 10 - 1, 10, 1), (MANY_CELLS, 1, 2)])
def test_one_thread_unless_rows_times_columns_are_many(two_threads, n: int, p: int, threads: int) -> None:
    with training_threads(n, p):
        assert torch.get_num_threads() == threads
    assert torch.get_num_threads() == 2


def test_an_error_in_the_middle_puts_the_number_back(two_threads) -> None:
    def fail() -> None:
        assert torch.get_num_threads() == 1
        raise RuntimeError("boom")

    with pytest.raises(RuntimeError, match="boom"), single_thread():
        fail()
    assert torch.get_num_threads() == 2
