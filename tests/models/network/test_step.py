"""The step written by hand against automatic differentiation, term by term, and the levels and masks it draws."""

import pytest
import torch

from genbayes.models.network import DEFAULT, IQNSettings, NetworkShape, PriorIQN, Rows, unbiased_loss
from genbayes.models.network.fit import N_LEVELS, FastStep, Masks, begin_iqn
from genbayes.training import TrainingSettings
from genbayes.training.loop import FlatWeights

N_ROWS, N_INPUTS, N_MEMBERS, N_TAU = 60, 9, 2, 4


def seeds() -> list[torch.Generator]:
    return [torch.Generator().manual_seed(j) for j in range(N_MEMBERS)]


def make(batch: int = 40, n_layers: int = 2, dropout: float = 0.0, prior_scale: float = 0.0, **shape):
    """A step, its weights and a batch of rows."""
    g = torch.Generator().manual_seed(9)
    sizes = NetworkShape(N_INPUTS, N_MEMBERS, 12, n_layers, 8, **shape)
    settings = IQNSettings(sizes, DEFAULT, TrainingSettings(1), N_TAU, dropout, prior_scale)
    Z, y, w = torch.randn(N_ROWS, N_INPUTS, generator=g), torch.randn(N_ROWS, generator=g), torch.rand(N_ROWS)
    rows = Rows(Z, y, w + 0.5)
    network = PriorIQN(sizes, seeds(), prior_scale)
    network.adapt_to(rows.Z, torch.rand(N_MEMBERS, 1, N_INPUTS, generator=g) + 0.5)
    weights = FlatWeights([p for p in network.parameters() if p.requires_grad])
    step = FastStep(network, rows, rows.weight.expand(N_MEMBERS, -1), settings, seeds())
    return step, weights, torch.stack([torch.randperm(N_ROWS, generator=g)[:batch] for _ in range(N_MEMBERS)])


def by_autograd(step: FastStep, batch: torch.Tensor, level: torch.Tensor, masks: list | None) -> torch.Tensor:
    """The same loss from the network's own forward pass, each row with the levels of its group."""
    n, groups = batch.shape[1], level.shape[1] // N_TAU
    of_row = level.view(N_MEMBERS, groups, 1, N_TAU).expand(-1, -1, -(-n // groups), -1).flatten(1, 2)[:, :n]
    shown = None if masks is None else [mask[:, :n] for mask in masks]
    mu, q = step.network.predict_heads(step.rows.Z[batch], step.phi[of_row], shown)
    y, w = step.rows.y[batch].unsqueeze(-1), step.rows.weight[batch].unsqueeze(-1)
    return (w * unbiased_loss(y, mu, q, step.tau[of_row], DEFAULT)).mean(dim=(1, 2))


@pytest.mark.parametrize(
    "what",
    [
        {"n_layers": 1},
        {"n_layers": 3},
        {"batch": 37},  # does not divide into groups
        {"batch": 5},
        {"dropout": 0.3},
        {"prior_scale": 0.5},
        {"n_fourier": 6},
        {"blocks": ((2, 5, 2), (7, 9, 3))},
        {"blocks": ((0, 4, 2),), "n_fourier": 6, "dropout": 0.2, "prior_scale": 0.7, "n_layers": 3, "batch": 33},
    ],
    ids=str,
)
def test_loss_and_gradient_are_those_of_automatic_differentiation(what: dict, monkeypatch) -> None:
    step, weights, batch = make(**what)
    drawn = {}
    for part in ("levels", "masks"):
        draw = getattr(step, part).draw
        monkeypatch.setattr(getattr(step, part), "draw", lambda n, p=part, d=draw: drawn.setdefault(p, d(n)))
    loss, by_hand = step(batch), weights.grad.clone()
    weights.grad.zero_()
    expected = by_autograd(step, batch, drawn["levels"], drawn["masks"])
    expected.sum().backward()
    torch.testing.assert_close(loss, expected.detach(), atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(by_hand, weights.grad, atol=1e-6, rtol=1e-4)
    assert (by_hand != 0).any()


def test_a_penalty_adds_its_gradient() -> None:
    step, weights, batch = make()
    step(batch)
    plain = weights.grad.clone()
    settings = IQNSettings(step.network.shape, DEFAULT, TrainingSettings(1), N_TAU)
    _, training = begin_iqn(
        step.rows, settings, seeds(), network=step.network, penalty=lambda n: 3 * n.trained.f_1.bias.sum(dim=(1, 2))
    )
    training.weights.grad.zero_()
    training.objective(batch)
    gained = training.weights.grad - plain
    assert {round(value, 4) for value in gained.tolist()} == {0.0, 3.0}


def test_levels_of_a_step_are_one_from_each_stratum_and_each_group_has_one_of_each_of_n_tau() -> None:
    step, _, _ = make()
    for _ in range(70):  # more than are drawn at once
        level = step.levels.draw(8)
        assert level.shape == (N_MEMBERS, 8 * N_TAU)
        for member in level:
            strata = member // (N_LEVELS // (8 * N_TAU))
            assert sorted(strata.tolist()) == list(range(8 * N_TAU))
            assert (member.view(8, N_TAU) // (N_LEVELS // N_TAU) == torch.arange(N_TAU)).all()
    assert not torch.equal(step.levels.draw(8), step.levels.draw(8))


def test_masks_silence_the_share_asked_for_and_change_from_step_to_step() -> None:
    masks = Masks(0.75, [16, 8], seeds(), torch.device("cpu"))
    first, second = masks.draw(32), masks.draw(32)
    assert [mask.shape for mask in first] == [(N_MEMBERS, 32, 16), (N_MEMBERS, 32, 8)]
    assert first[0].unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    assert float((first[0] > 0).float().mean()) == pytest.approx(0.75, abs=0.06)
    assert not torch.equal(first[0], second[0])
