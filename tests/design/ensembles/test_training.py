import torch

from genbayes.design.ensembles.training import Objective, keep_aside, train_members
from genbayes.network import NetworkShape, PriorIQN, Rows, held_out_crps
from genbayes.training import TrainingSettings


def seeds(n: int = 2) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(j) for j in range(n)]


def rows_of(n: int = 60) -> Rows:
    Z = torch.linspace(-1.7, 1.7, n).unsqueeze(1)[torch.randperm(n, generator=torch.Generator().manual_seed(0))]
    return Rows(Z, torch.sin(2 * Z[:, 0]), torch.ones(n))


SETTINGS = TrainingSettings(n_epochs=60, batch_size=None, learning_rate=1e-2)


def network_of(prior_scale: float = 0.0) -> PriorIQN:
    network = PriorIQN(NetworkShape(1, 2, 8, 1, 8), seeds(), prior_scale)
    network.rescale_prior(rows_of().Z)
    return network


def test_a_run_stays_aside_for_its_member_as_runs_are_added() -> None:
    few, many = keep_aside(22, 3), keep_aside(90, 3)
    assert torch.equal(many[:, : few.shape[1]], few)


def test_no_run_is_kept_aside_by_two_members() -> None:
    aside = keep_aside(50, 5).ravel().tolist()
    assert sorted(aside) == list(range(50))


def test_training_improves_runs_that_were_kept_aside() -> None:
    network, rows = network_of(), rows_of()
    before = held_out_crps(network, rows, keep_aside(60, 2))
    train_members(network, rows, SETTINGS, seeds(), Objective())
    assert (held_out_crps(network, rows, keep_aside(60, 2)) < before).all()


def test_a_second_training_goes_on_from_the_first() -> None:
    network, rows = network_of(), rows_of()
    train_members(network, rows, SETTINGS, seeds(), Objective())
    first = held_out_crps(network, rows, keep_aside(60, 2))
    train_members(network, rows, SETTINGS, seeds(), Objective())
    assert (held_out_crps(network, rows, keep_aside(60, 2)) <= 1.05 * first).all()


def test_runs_of_weight_nought_are_not_learnt_from() -> None:
    rows = rows_of()
    weight = torch.ones(2, 60)
    weight[0] = 0.0
    network = network_of()
    before = [p.detach().clone() for p in network.parameters()]
    train_members(network, rows, SETTINGS, seeds(), Objective(row_weight=weight))
    moved = [(p - b).flatten(1).abs().amax(dim=1) for p, b in zip(network.parameters(), before, strict=True)]
    assert all(m[0] == 0 for m in moved)
    assert any(m[1] > 0 for m in moved)


def test_a_penalty_holds_members_back() -> None:
    rows, free, held = rows_of(), network_of(), network_of()
    start = [p.detach().clone() for p in held.parameters()]

    def distance() -> torch.Tensor:
        return sum(((p - s) ** 2).flatten(1).sum(dim=1) for p, s in zip(held.parameters(), start, strict=True))  # type: ignore[return-value]

    train_members(free, rows, SETTINGS, seeds(), Objective())
    train_members(held, rows, SETTINGS, seeds(), Objective(penalty=lambda: 10 * distance()))
    far = sum(float(((p.detach() - s) ** 2).sum()) for p, s in zip(free.parameters(), start, strict=True))
    assert float(distance().detach().sum()) < 0.5 * far
