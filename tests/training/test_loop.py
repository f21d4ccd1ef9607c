"""The training loop on a loss whose minimum is known: schedule, batches, members, held-out scores."""

import math

import pytest
import torch

from genbayes.errors import TrainingDiverged
from genbayes.training import TrainingSettings, minimise
from genbayes.training.loop import rate_at

TARGETS = torch.arange(10.0)
ALL = torch.arange(10)


def generators(n: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(j) for j in range(n)]


def quadratic(parameter: torch.nn.Parameter):
    """Each member pulls its single weight towards the mean of its rows."""

    def loss(rows: torch.Tensor) -> torch.Tensor:
        return ((parameter - TARGETS[rows]) ** 2).mean(dim=1)

    return loss


def train(n_members: int = 2, **settings):
    parameter = torch.nn.Parameter(torch.zeros(n_members, 1))
    chosen = TrainingSettings(**{"n_epochs": 300, "learning_rate": 0.1, **settings})
    return parameter, minimise(quadratic(parameter), [parameter], [ALL] * n_members, chosen, generators(n_members))


def test_it_finds_the_minimum() -> None:
    parameter, history = train()
    torch.testing.assert_close(parameter.detach(), torch.full((2, 1), 4.5), atol=1e-2, rtol=0)
    assert history.loss[-1] < history.loss[0]
    assert history.epoch[-1] == 300


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
    parameter = torch.nn.Parameter(torch.zeros(2, 1))
    best_at = torch.tensor([2.0, 4.0])  # on its way to 4.5 the first member passes its best and the second does not

    def held_out() -> torch.Tensor:
        return (parameter.detach()[:, 0] - best_at).abs() + 1

    settings = TrainingSettings(n_epochs=200, learning_rate=0.1, steps_between_checks=1)
    history = minimise(quadratic(parameter), [parameter], [ALL] * 2, settings, generators(2), held_out=held_out)
    torch.testing.assert_close(parameter.detach()[:, 0], best_at, atol=0.1, rtol=0)
    assert len(history.held_out_crps) == len(history.held_out_epoch) == 200


def test_it_stops_when_patience_runs_out() -> None:
    parameter = torch.nn.Parameter(torch.zeros(1, 1))
    settings = TrainingSettings(n_epochs=100, steps_between_checks=1, patience=3)
    history = minimise(
        quadratic(parameter), [parameter], [ALL], settings, generators(1), held_out=lambda: torch.ones(1)
    )
    assert history.held_out_epoch[-1] == 4


def test_progress_is_reported() -> None:
    parameter, seen = torch.nn.Parameter(torch.zeros(1, 1)), []
    minimise(
        quadratic(parameter), [parameter], [ALL], TrainingSettings(n_epochs=5), generators(1),
        report=lambda step, steps, loss: seen.append((step, steps, loss)),
    )  # fmt: skip
    assert [(step, steps) for step, steps, _ in seen] == [(i, 5) for i in range(1, 6)]


def test_a_loss_that_turns_nan_is_reported_with_what_to_try() -> None:
    parameter = torch.nn.Parameter(torch.zeros(1, 1))
    with pytest.raises(TrainingDiverged, match="must stay finite, got nan at step 1 of 3; try a smaller learning_rate"):
        minimise(
            lambda rows: (parameter * math.nan).sum(dim=1),
            [parameter],
            [ALL],
            TrainingSettings(n_epochs=3),
            generators(1),
        )


def test_averaged_weights_are_kept_where_asked_for() -> None:
    last, _ = train(1, batch_size=1, n_epochs=20)
    mean, _ = train(1, batch_size=1, n_epochs=20, averaging=0.9)
    assert not torch.equal(last, mean)
    torch.testing.assert_close(mean.detach(), torch.full((1, 1), 4.5), atol=0.5, rtol=0)


def test_a_member_that_is_done_is_not_changed_by_those_that_go_on() -> None:
    """The first member's score rises at once; what is kept of it is the same whether or not a second one goes on."""

    def kept(scores: list[list[float]]) -> torch.Tensor:
        parameter = torch.nn.Parameter(torch.zeros(len(scores), 1))
        calls = iter(zip(*scores, strict=True))
        settings = TrainingSettings(n_epochs=10, learning_rate=0.1, steps_between_checks=1, patience=2)
        minimise(
            quadratic(parameter), [parameter], [ALL] * len(scores), settings, generators(len(scores)),
            held_out=lambda: torch.tensor(next(calls)),
        )  # fmt: skip
        return parameter.detach()[0]

    dips_late = [1.0, 2.0, 2.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
    falls = [1.0 / (i + 1) for i in range(10)]
    torch.testing.assert_close(kept([dips_late]), kept([dips_late, falls]))


def scored(courses: list[list[float]], n_epochs: int = 4, n_rounds: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights that are kept, and epochs run, where members' held-out scores take these courses, one value an epoch."""
    parameter = torch.nn.Parameter(torch.zeros(len(courses), 1))
    calls = iter(zip(*courses, strict=True))
    settings = TrainingSettings(n_epochs=n_epochs, learning_rate=0.1, steps_between_checks=1, n_rounds=n_rounds)
    history = minimise(
        quadratic(parameter), [parameter], [ALL] * len(courses), settings, generators(len(courses)),
        held_out=lambda: torch.tensor(next(calls)),
    )  # fmt: skip
    return parameter.detach()[:, 0], history.held_out_epoch


FALLING = [10 * 0.9**epoch for epoch in range(28)]


@pytest.mark.parametrize(("n_rounds", "n_epochs"), [(1, 4), (2, 4 + 8), (3, 4 + 8 + 16)])
def test_a_member_that_is_still_improving_goes_on_twice_as_long(n_rounds: int, n_epochs: int) -> None:
    _, epoch = scored([FALLING], n_rounds=n_rounds)
    assert epoch[-1] == n_epochs


def test_a_member_that_has_settled_does_not_go_on() -> None:
    _, epoch = scored([[5.0, 3.0, 2.99, 2.98]])
    assert epoch[-1] == 4


def test_what_is_kept_of_a_member_that_has_settled_does_not_depend_on_those_that_go_on() -> None:
    settled = [5.0, 3.0, 2.99, 2.98] + [1.0] * 24  # would be better later, but is not asked any more
    alone, _ = scored([settled])
    among, epoch = scored([settled, FALLING])
    assert epoch[-1] == 28
    torch.testing.assert_close(among[0], alone[0])
    assert among[1] != scored([FALLING], n_rounds=1)[0][0]
