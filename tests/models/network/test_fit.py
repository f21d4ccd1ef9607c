"""Tests of fit_iqn: rows held out, going on from where training stopped, row weights and penalties."""

from typing import Any

import torch

from genbayes.models.network import DEFAULT, IQNSettings, NetworkShape, PriorIQN, Rows, fit_iqn, held_out_scores
from genbayes.training import TrainingSettings

ASIDE = torch.stack([torch.arange(first, 60, 5) for first in (0, 1)])
SETTINGS = IQNSettings(
    NetworkShape(1, 2, 8, 1, 8), DEFAULT, TrainingSettings(n_epochs=60, batch_size=None, learning_rate=1e-2), n_tau=2
)


def seeds(n: int = 2) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(j) for j in range(n)]


def rows_of(n: int = 60) -> Rows:
    Z = torch.linspace(-1.7, 1.7, n).unsqueeze(1)[torch.randperm(n, generator=torch.Generator().manual_seed(0))]
    return Rows(Z, torch.sin(2 * Z[:, 0]), torch.ones(n))


def new_network() -> PriorIQN:
    return PriorIQN(SETTINGS.shape, seeds(), 0.0)


def train(network: PriorIQN, **more: Any) -> PriorIQN:
    return fit_iqn(rows_of(), SETTINGS, seeds(), network=network, aside=ASIDE, **more)[0]


def score(network: PriorIQN) -> torch.Tensor:
    return held_out_scores(network, rows_of(), ASIDE).mean(dim=1)


def test_training_improves_rows_that_were_held_out() -> None:
    network = new_network()
    before = score(network)
    assert train(network) is network
    assert (score(network) < before).all()


def test_a_second_training_goes_on_from_the_first() -> None:
    network = train(new_network())
    first = score(network)
    assert (score(train(network)) <= 1.05 * first).all()


def test_too_few_rows_to_hold_any_out_are_trained_on_to_the_end() -> None:
    nothing = torch.empty(2, 0, dtype=torch.int64)
    _, history = fit_iqn(rows_of(4), SETTINGS, seeds(), aside=nothing)
    assert history.epoch[-1] == 60
    assert len(history.held_out_crps) == 0


def test_rows_of_weight_zero_are_not_learnt_from() -> None:
    weight = torch.ones(2, 60)
    weight[0] = 0.0
    network = new_network()
    before = [p.detach().clone() for p in network.parameters()]
    train(network, row_weight=weight)
    moved = [(p - b).flatten(1).abs().amax(dim=1) for p, b in zip(network.parameters(), before, strict=True)]
    assert all(m[0] == 0 for m in moved)
    assert any(m[1] > 0 for m in moved)


def test_row_weights_reach_the_papers_objective_too() -> None:
    paper = IQNSettings(SETTINGS.shape, DEFAULT, TrainingSettings(n_epochs=5))
    weight = torch.stack([torch.zeros(60), torch.ones(60)])
    network = new_network()
    before = [p.detach().clone() for p in network.parameters()]
    fit_iqn(rows_of(), paper, seeds(), network=network, row_weight=weight)
    moved = [(p - b).flatten(1).abs().amax(dim=1) for p, b in zip(network.parameters(), before, strict=True)]
    assert all(m[0] == 0 for m in moved)
    assert any(m[1] > 0 for m in moved)


def test_a_penalty_holds_members_back() -> None:
    free, held = new_network(), new_network()
    start = [p.detach().clone() for p in held.parameters()]

    def distance(network: PriorIQN) -> torch.Tensor:
        parts = zip(network.parameters(), start, strict=True)
        return torch.stack([((p - s) ** 2).flatten(1).sum(dim=1) for p, s in parts]).sum(dim=0)

    train(free)
    train(held, penalty=lambda network: 10 * distance(network))
    assert (distance(held) < 0.5 * distance(free)).all()
