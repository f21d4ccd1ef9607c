"""The training loop on a loss whose minimum is known: schedule, batches, members, held-out scores."""

import math
from collections.abc import Callable

import pytest
import torch

from genbayes.errors import TrainingDiverged
from genbayes.training import TrainingSettings, differentiate, minimise
from genbayes.training.loop import History, draw_batches, rate_at

TARGETS = torch.arange(10.0)
ALL = torch.arange(10)
CPU = torch.device("cpu")


def generators(n: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(j) for j in range(n)]


def quadratic(parameter: torch.nn.Parameter):
    """Each member pulls its single weight towards the mean of its rows."""

    def loss(rows: torch.Tensor) -> torch.Tensor:
        return ((parameter - TARGETS[rows]) ** 2).mean(dim=1)

    return loss


def train(
    n_members: int = 2, held_out: Callable[[torch.Tensor], torch.Tensor] | None = None, report=None, **settings
) -> tuple[torch.Tensor, History]:
    """Weights (K,) and history; `held_out` maps present weights (K,) to scores (K,)."""
    parameter = torch.nn.Parameter(torch.zeros(n_members, 1))
    chosen = TrainingSettings(**{"n_epochs": 300, "learning_rate": 0.1, **settings})

    def scores_of_one_row() -> tuple[torch.Tensor, torch.Tensor]:
        return held_out(parameter.detach()[:, 0]).reshape(-1, 1), torch.ones(n_members, 1)

    history = minimise(
        differentiate(quadratic(parameter)),
        [parameter],
        [ALL] * n_members,
        chosen,
        generators(n_members),
        held_out=None if held_out is None else scores_of_one_row,
        report=report,
    )
    return parameter.detach()[:, 0], history


def test_it_finds_the_minimum() -> None:
    weights, history = train()
    torch.testing.assert_close(weights, torch.full((2,), 4.5), atol=1e-2, rtol=0)
    assert history.loss[-1] < history.loss[0]
    assert history.epoch[-1] == 300
    assert len(history.held_out_crps) == 0
    assert not history.is_unfinished


@pytest.mark.parametrize("batch_size", [None, 3])
def test_a_member_trains_as_if_it_were_alone(batch_size: int | None) -> None:
    alone, _ = train(1, batch_size=batch_size, n_epochs=5)
    among, _ = train(3, batch_size=batch_size, n_epochs=5)
    torch.testing.assert_close(alone[0], among[0])


def test_the_rate_warms_up_and_anneals_along_a_cosine() -> None:
    settings = TrainingSettings(n_epochs=1, learning_rate=1.0, warmup=0.1)
    assert rate_at(0, 100, settings) == pytest.approx(0.1)
    assert rate_at(50, 100, settings) == pytest.approx(0.5)
    assert rate_at(99, 100, settings) == pytest.approx(0.5 * (1 + math.cos(math.pi * 0.99)))


def test_each_member_keeps_its_best_held_out_weights() -> None:
    best_at = torch.tensor([2.0, 4.0])  # on its way to 4.5 the first member passes its best and the second does not
    weights, history = train(held_out=lambda w: (w - best_at).abs() + 1, n_epochs=200, steps_between_checks=1)
    torch.testing.assert_close(weights, best_at, atol=0.1, rtol=0)
    assert len(history.held_out_crps) == len(history.held_out_epoch) == 200


def test_it_stops_when_patience_runs_out() -> None:
    _, history = train(1, held_out=torch.ones_like, n_epochs=100, steps_between_checks=1, patience=3)
    assert history.held_out_epoch[-1] == 4


def test_progress_is_reported_with_the_mean_loss_of_a_member() -> None:
    seen = []
    _, history = train(2, report=lambda *told: seen.append(told), n_epochs=5)
    assert [(step, steps) for step, steps, _ in seen] == [(i, 5) for i in range(1, 6)]
    assert seen[0][2] == history.loss[0] == pytest.approx(float((TARGETS**2).mean()))


def test_a_long_run_is_noted_now_and_then_and_at_its_end() -> None:
    _, history = train(1, n_epochs=500)
    assert (history.epoch[0], history.epoch[-1], len(history.epoch)) == (2, 500, 250)
    _, history = train(1, n_epochs=501)
    assert history.epoch[-1] == 501
    assert history.loss[-1] == pytest.approx(float(((TARGETS - 4.5) ** 2).mean()), rel=1e-3)  # of one step


def test_a_loss_that_turns_nan_is_reported_with_what_to_try() -> None:
    parameter = torch.nn.Parameter(torch.zeros(1, 1))
    with pytest.raises(TrainingDiverged, match="must stay finite, got nan at step 1 of 3; try a smaller learning_rate"):
        minimise(
            differentiate(lambda rows: (parameter * math.nan).sum(dim=1)),
            [parameter],
            [ALL],
            TrainingSettings(n_epochs=3),
            generators(1),
        )


def test_averaged_weights_are_kept_where_asked_for() -> None:
    last, _ = train(1, batch_size=1, n_epochs=20)
    mean, _ = train(1, batch_size=1, n_epochs=20, averaging=0.9)
    assert not torch.equal(last, mean)
    torch.testing.assert_close(mean, torch.full((1,), 4.5), atol=0.5, rtol=0)


def test_scores_are_those_of_the_averaged_weights_and_training_goes_on_from_the_last() -> None:
    plain, _ = train(1, n_epochs=30)
    scored_at = []
    train(1, n_epochs=30, averaging=0.9, steps_between_checks=10, held_out=lambda w: scored_at.append(w.clone()) or w)
    _, unchecked = train(1, n_epochs=30, averaging=0.9)
    _, checked = train(1, n_epochs=30, averaging=0.9, steps_between_checks=10, held_out=lambda w: -w)
    assert (checked.loss == unchecked.loss).all()
    assert 0 < scored_at[0] < scored_at[1] < scored_at[2] < plain  # a mean lags behind


def scored(courses: list[list[float]], **settings) -> tuple[torch.Tensor, History]:
    """Weights that are kept where members' held-out scores take these courses, one value an epoch."""
    calls = iter(zip(*courses, strict=True))
    return train(len(courses), held_out=lambda _: torch.tensor(next(calls)), steps_between_checks=1, **settings)


def test_a_member_that_is_done_is_not_changed_by_those_that_go_on() -> None:
    """The first member's score rises at once; what is kept of it is the same whether or not a second one goes on."""
    dips_late = [1.0, 2.0, 2.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
    falls = [1.0 / (i + 1) for i in range(10)]
    alone, among = (scored(courses, n_epochs=10, patience=2)[0] for courses in ([dips_late], [dips_late, falls]))
    torch.testing.assert_close(alone[0], among[0])


FALLING = [10 * 0.9**epoch for epoch in range(28)]


@pytest.mark.parametrize(("n_late", "last"), [(0, 10), (1, 3)])
def test_the_last_members_need_not_be_waited_for(n_late: int, last: int) -> None:
    rises, falls = [1.0, *[2.0] * 9], FALLING[:10]
    weights, history = scored([rises, rises, falls], n_epochs=10, patience=2, n_late=n_late)
    assert history.held_out_epoch[-1] == last
    torch.testing.assert_close(weights[0], scored([rises], n_epochs=10, patience=2)[0][0])


@pytest.mark.parametrize(("n_rounds", "n_epochs"), [(1, 4), (2, 4 + 8), (3, 4 + 8 + 16)])
def test_a_member_that_is_still_improving_goes_on_twice_as_long(n_rounds: int, n_epochs: int) -> None:
    _, history = scored([FALLING], n_epochs=4, n_rounds=n_rounds)
    assert history.held_out_epoch[-1] == n_epochs
    assert history.is_unfinished


def test_what_is_kept_of_a_member_that_has_settled_does_not_depend_on_those_that_go_on() -> None:
    settled = [5.0, 3.0, 2.99, 2.98] + [1.0] * 24  # would be better later, but is not asked any more
    alone, short = scored([settled], n_epochs=4, n_rounds=3)
    among, long = scored([settled, FALLING], n_epochs=4, n_rounds=3)
    assert (short.held_out_epoch[-1], long.held_out_epoch[-1]) == (4, 28)
    assert not short.is_unfinished
    torch.testing.assert_close(among[0], alone[0])
    assert among[1] != scored([FALLING], n_epochs=4, n_rounds=1)[0][0]


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


@pytest.mark.parametrize("size", [None, 4, 99])
def test_members_of_unequal_numbers_of_rows_see_all_of_theirs_about_equally_often(size: int | None) -> None:
    batches = draw_batches([torch.arange(10), torch.arange(10, 17)], size, generators(2), CPU)
    seen = torch.cat([next(batches) for _ in range(200)], dim=1)
    for member, (first, end) in zip(seen, [(0, 10), (10, 17)], strict=True):
        count = torch.bincount(member, minlength=17)
        assert count.sum() == count[first:end].sum()
        assert count[first:end].min() > 0.8 * count[first:end].max()


def test_a_batch_as_large_as_the_data_is_all_of_it_in_order() -> None:
    batches = draw_batches([torch.arange(10)], 10, generators(1), CPU)
    assert next(batches).tolist() == next(batches).tolist() == [list(range(10))]


def test_a_member_s_order_does_not_depend_on_the_others() -> None:
    alone = next(draw_batches([torch.arange(10)], 4, generators(1), CPU))
    among = next(draw_batches([torch.arange(10)] * 3, 4, generators(3), CPU))
    assert torch.equal(alone[0], among[0])
