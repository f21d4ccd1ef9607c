"""Quantiles of a network put in order."""

import numpy as np
import torch

from genbayes.distribution.quantile import GRID
from genbayes.models.network.ensemble import put_in_order


def test_ordered_rows_are_left_alone_to_the_bit() -> None:
    q = torch.as_tensor(np.sort(np.random.default_rng(0).standard_normal((5, len(GRID))))).float()
    assert torch.equal(put_in_order(q), q)


def test_putting_in_order_brings_the_quantiles_nearer_to_the_true_ones() -> None:
    true = np.log(GRID / (1 - GRID))
    rough = true + np.random.default_rng(5).standard_normal((200, len(GRID)))
    ordered = put_in_order(torch.as_tensor(rough)).numpy()
    assert (np.diff(ordered, axis=1) >= 0).all()
    error, before = (((q - true) ** 2 @ np.gradient(GRID)).mean() for q in (ordered, rough))
    assert error < 0.5 * before


def test_a_wild_tail_does_not_move_the_middle() -> None:
    q = torch.as_tensor(np.log(GRID / (1 - GRID)))
    wild = q.clone()
    wild[:3], wild[-2:] = 50.0, -50.0
    ordered = put_in_order(wild)
    assert torch.equal(ordered[5:-5], q[5:-5])
    assert (ordered.diff() >= 0).all()
