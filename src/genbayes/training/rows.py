"""Rows of one mini-batch after another, each member in its own order and from its own rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

__all__ = ["draw_batches"]


def draw_batches(
    learn: Sequence[Tensor], batch_size: int | None, generators: Sequence[torch.Generator], device: torch.device
) -> Iterator[Tensor]:
    """Row numbers of one mini-batch after another, shape (K, b), without end.

    A member sees each of its rows once per epoch; a short last batch is filled from the next epoch. Without a batch
    size, or with one as large as the rows, every batch is all of them, in order.

    Args:
        learn: Row numbers that each member learns from, of equal length.
        batch_size: Rows of a mini-batch.
        generators: One per member, for its order.
        device: Where the row numbers are needed.

    Example:
        >>> next(draw_batches([torch.arange(3)], None, [torch.Generator()], torch.device("cpu")))
        tensor([[0, 1, 2]])
    """
    everything = torch.stack(list(learn))
    if batch_size is None or batch_size >= everything.shape[1]:
        everything = everything.to(device)
        while True:
            yield everything
    waiting = torch.empty(len(learn), 0, dtype=torch.int64)
    while True:
        if waiting.shape[1] < batch_size:
            orders = [rows[torch.randperm(len(rows), generator=g)] for rows, g in zip(learn, generators, strict=True)]
            waiting = torch.cat([waiting, torch.stack(orders)], dim=1)
        yield waiting[:, :batch_size].to(device)
        waiting = waiting[:, batch_size:]
