"""The mixture of quantile tables against brute force."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from genbayes import QuantileFunction
from genbayes.distribution.pooling import pool_members
from genbayes.distribution.quantile_function import GRID

TAU = torch.as_tensor(GRID)


def pooled_by_hand(q: np.ndarray) -> np.ndarray:
    """Bisection of F = mean_k F_k, row by row and level by level."""
    laws = [QuantileFunction(GRID, member) for member in q]
    low, high = q.min(axis=0), q.max(axis=0)
    for _ in range(60):
        middle = (low + high) / 2
        is_low = np.mean([law.cdf(middle) for law in laws], axis=0) < GRID
        low, high = np.where(is_low, middle, low), np.where(is_low, high, middle)
    return high


def members(seed: int, n_members: int = 5, shift: float = 0.5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    steps = rng.exponential(size=(n_members, 7, len(GRID))) * np.gradient(np.log(GRID / (1 - GRID)))
    return np.cumsum(steps, axis=2) + shift * rng.standard_normal((n_members, 7, 1))


@pytest.mark.parametrize("shift", [0.0, 0.5, 30.0])
def test_it_is_the_mixture(shift: float) -> None:
    q = members(0, shift=shift)
    pooled = pool_members(torch.as_tensor(q), TAU).numpy()
    reached = np.mean([QuantileFunction(GRID, member).cdf(pooled) for member in q], axis=0)
    np.testing.assert_allclose(reached, np.broadcast_to(GRID, reached.shape), atol=5e-5)  # tails are chords here
    inner = slice(12, -12)
    if shift < 1:
        np.testing.assert_allclose(pooled[:, inner], pooled_by_hand(q)[:, inner], rtol=1e-4, atol=1e-3)


def test_equal_members_pool_to_themselves() -> None:
    q = np.repeat(members(1, n_members=1), 4, axis=0)
    np.testing.assert_allclose(pool_members(torch.as_tensor(q), TAU), q[0], rtol=1e-6, atol=1e-6)


def test_point_masses_pool_to_a_staircase() -> None:
    q = np.stack([np.full((1, len(GRID)), value) for value in (1.0, 2.0, 4.0, 8.0)])
    pooled = pool_members(torch.as_tensor(q), TAU)[0].numpy()
    at = [int(np.argmin(np.abs(GRID - u))) for u in (0.1, 0.4, 0.6, 0.9)]
    np.testing.assert_allclose(pooled[at], [1.0, 2.0, 4.0, 8.0], atol=1e-4)


def test_one_and_the_same_point_is_kept() -> None:
    q = np.full((3, 2, len(GRID)), 7.0)
    np.testing.assert_allclose(pool_members(torch.as_tensor(q), TAU), 7.0)


def test_a_row_does_not_depend_on_the_others() -> None:
    q = torch.as_tensor(members(2))
    alone = torch.cat([pool_members(q[:, i : i + 1], TAU) for i in range(q.shape[1])])
    assert torch.equal(alone, pool_members(q, TAU))


def test_no_rows_pool_to_no_rows() -> None:
    assert pool_members(torch.zeros(3, 0, len(GRID)), TAU).shape == (0, len(GRID))


@settings(deadline=None, max_examples=60)
@given(arrays.arrays(np.float32, (3, 2, len(GRID)), elements=st.floats(-1e6, 1e6, width=32)))
def test_quantiles_are_ordered_and_between_the_members(q: np.ndarray) -> None:
    q = np.sort(q, axis=-1)
    pooled = pool_members(torch.as_tensor(q), TAU).numpy()
    assert (np.diff(pooled, axis=1) >= 0).all()
    slack = 1e-4 * (q.max() - q.min() + 1)  # knots are kept a hair apart
    assert (pooled >= q.min(axis=0) - slack).all()
    assert (pooled <= q.max(axis=0) + slack).all()


def test_a_weight_of_two_thirds_equals_a_member_given_twice() -> None:
    q = torch.as_tensor(members(3, n_members=2))
    weight = torch.tensor([2 / 3, 1 / 3], dtype=torch.float64)[:, None].expand(2, q.shape[1])
    twice = pool_members(torch.cat([q[:1], q]), TAU)
    np.testing.assert_allclose(pool_members(q, TAU, weight), twice, atol=1e-6)


def test_weights_differ_from_row_to_row() -> None:
    q = torch.as_tensor(members(4, n_members=2))
    weight = torch.zeros(2, q.shape[1]).double()
    weight[0, ::2], weight[1, 1::2] = 1.0, 1.0  # one member for even rows, the other for odd ones
    pooled = pool_members(q, TAU, weight)
    np.testing.assert_allclose(pooled[::2], q[0, ::2], atol=1e-5)
    np.testing.assert_allclose(pooled[1::2], q[1, 1::2], atol=1e-5)
