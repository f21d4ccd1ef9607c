"""Threads of a fit are a matter of its size; the process's own number is put back."""

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info

from genbayes import QuantileSurrogate
from genbayes.models import StationaryGP
from genbayes.threads import MANY_CELLS, fitting_threads, single_thread


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
