"""Mini-batches: every member sees each of its rows once an epoch, in its own order."""

import torch

from genbayes.training.loop import draw_batches

CPU = torch.device("cpu")


def generators(n: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(j) for j in range(n)]


def test_every_row_is_seen_once_an_epoch_by_every_member() -> None:
    batches = draw_batches([torch.arange(10)] * 2, 4, generators(2), CPU)
    seen = torch.cat([next(batches) for _ in range(5)], dim=1)  # five batches of four are two epochs
    for member in seen:
        assert sorted(member[:10].tolist()) == sorted(member[10:].tolist()) == list(range(10))
    assert not torch.equal(seen[0], seen[1])


def test_a_member_draws_only_its_own_rows() -> None:
    batches = draw_batches([torch.arange(5), torch.arange(5, 10)], 2, generators(2), CPU)
    seen = torch.cat([next(batches) for _ in range(20)], dim=1)
    assert set(seen[0].tolist()) == set(range(5))
    assert set(seen[1].tolist()) == set(range(5, 10))


def test_a_batch_as_large_as_the_data_is_all_of_it_in_order() -> None:
    batches = draw_batches([torch.arange(10)], 10, generators(1), CPU)
    assert next(batches).tolist() == next(batches).tolist() == [list(range(10))]


def test_a_member_s_order_does_not_depend_on_the_others() -> None:
    alone = next(draw_batches([torch.arange(10)], 4, generators(1), CPU))
    among = next(draw_batches([torch.arange(10)] * 3, 4, generators(3), CPU))
    assert torch.equal(alone[0], among[0])
