"""The stacked network: the paper's formula layer by layer, and members that do not know of each other."""

import pytest
import torch

from genbayes.models.network.iqn import (
    IQN,
    FourierFeatures,
    NetworkShape,
    PriorIQN,
    cosine_embedding,
)


def generators(n: int, start: int = 0) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(start + j) for j in range(n)]


def make(n_members: int = 1, **sizes) -> IQN:
    return IQN(NetworkShape(n_inputs=3, n_members=n_members, n_hidden=8, n_merge=8, **sizes), generators(n_members))


def test_the_network_is_the_papers_formula() -> None:
    network = make()
    x, tau = torch.tensor([[0.3, -1.0, 2.0]]), torch.tensor(0.2)
    weight = {name: value[0] for name, value in network.named_parameters()}
    phi = torch.tensor([torch.cos(torch.tensor(j * torch.pi * 0.2)) for j in range(32)])
    f_x = torch.relu(x @ weight["f_x.0.weight"] + weight["f_x.0.bias"])
    f_tau = torch.relu(phi @ weight["f_tau.weight"] + weight["f_tau.bias"])
    f_1 = torch.relu((f_x * f_tau) @ weight["f_1.weight"] + weight["f_1.bias"])
    q = (f_1 @ weight["f_out.weight"] + weight["f_out.bias"])[0, 1]
    torch.testing.assert_close(network.quantiles(x, tau[None])[0, 0, 0], q)


def test_prediction_with_folded_weights_equals_the_plain_forward_pass() -> None:
    network = make(n_members=2, n_layers=3)
    Z, tau = torch.randn(40, 3, generator=generators(1)[0]), torch.linspace(0.01, 0.99, 700)
    phi = cosine_embedding(tau).expand(2, 1, -1, -1)
    _, q = network.heads(network.features(Z.expand(2, -1, -1)), phi)
    torch.testing.assert_close(network.quantiles(Z, tau), q, rtol=1e-4, atol=1e-5)


def test_a_member_does_not_depend_on_how_many_there_are() -> None:
    Z, tau = torch.randn(5, 3, generator=generators(1)[0]), torch.tensor([0.1, 0.5])
    torch.testing.assert_close(make(1).quantiles(Z, tau)[0], make(4).quantiles(Z, tau)[0])


def test_members_differ() -> None:
    q = make(2).quantiles(torch.zeros(1, 3), torch.tensor([0.5]))
    assert q[0, 0, 0] != q[1, 0, 0]


def test_the_paper_s_network_has_the_papers_number_of_weights() -> None:
    network = IQN(NetworkShape(n_inputs=10), generators(1))
    expected = (10 * 256 + 256) + (32 * 256 + 256) + (256 * 256 + 256) + (256 * 2 + 2)
    assert sum(p.numel() for p in network.parameters()) == expected


def test_embedded_blocks_replace_one_hot_columns() -> None:
    network = make(blocks=((1, 3, 2),))
    Z = torch.tensor([[0.5, 1.0, 0.0], [0.5, 0.0, 1.0]])
    weight, bias = network.embeddings[0].weight[0], network.embeddings[0].bias[0]
    embedded = torch.cat([Z[:, :1], weight + bias], dim=1)
    expected = torch.relu(embedded @ network.f_x[0].weight[0] + network.f_x[0].bias[0])
    torch.testing.assert_close(network.features(Z.expand(1, -1, -1))[0], expected)


@pytest.mark.parametrize("n_inputs", [1, 2, 20])
def test_fourier_features_turn_as_fast_in_many_dimensions_as_in_one(n_inputs: int) -> None:
    """For standard normal x, w'x + b has variance speed^2 + pi^2 / 3: random directions, phases all around."""
    fourier = FourierFeatures(n_inputs, 4_000, generators(1))
    x = torch.randn(1, 200, n_inputs, generator=generators(1, start=7)[0])
    turns = torch.baddbmm(fourier.bias, x, fourier.weight)
    torch.testing.assert_close(turns.var().item(), 4.0**2 + torch.pi**2 / 3, rtol=0.2, atol=0.0)
    torch.testing.assert_close(fourier(x), torch.sin(turns))
    used = (fourier.weight[0] != 0).sum(dim=0)
    assert (used == 1).all()  # each begins along one input
    assert torch.equal((fourier.weight[0] != 0).sum(dim=1), torch.full((n_inputs,), 4_000 // n_inputs))


def test_fourier_features_join_the_inputs_and_leave_members_to_themselves() -> None:
    Z, tau = torch.randn(5, 3, generator=generators(1)[0]), torch.tensor([0.1, 0.5])
    alone, among = make(1, n_fourier=6, n_layers=2), make(4, n_fourier=6, n_layers=2)
    assert alone.f_x[0].weight.shape == (1, 3 + 6, 8)
    torch.testing.assert_close(alone.quantiles(Z, tau)[0], among.quantiles(Z, tau)[0])
    first = torch.cat([Z, alone.fourier(Z[None])[0]], dim=1) @ alone.f_x[0].weight[0] + alone.f_x[0].bias[0]
    second = torch.relu(first) @ alone.f_x[1].weight[0] + alone.f_x[1].bias[0]
    torch.testing.assert_close(alone.features(Z[None])[0], torch.relu(second))


def test_a_randomized_prior_has_no_fourier_features() -> None:
    network = PriorIQN(NetworkShape(3, n_hidden=8, n_merge=8, n_fourier=6), generators(1), prior_scale=0.5)
    assert network.trained.fourier is not None
    assert network.prior is not None
    assert network.prior.fourier is None


def test_a_randomized_prior_is_frozen_and_of_unit_size_on_the_training_inputs() -> None:
    network = PriorIQN(NetworkShape(3, 2, 8, 1, 8), generators(2), prior_scale=0.5)
    Z = torch.randn(200, 3, generator=generators(1)[0])
    network.adapt_to(Z)
    tau = (torch.arange(9) + 0.5) / 9
    prior = network.quantiles(Z, tau) - network.trained.quantiles(Z, tau)
    torch.testing.assert_close(prior.std(dim=(1, 2)), torch.full((2,), 0.5), rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(prior.mean(dim=(1, 2)), torch.zeros(2), rtol=0, atol=1e-4)
    assert not any(p.requires_grad for p in network.prior.parameters())


def test_training_heads_and_quantiles_agree_with_a_prior() -> None:
    network = PriorIQN(NetworkShape(3, 2, 8, 1, 8), generators(2), prior_scale=0.5)
    Z, tau = torch.randn(6, 3, generator=generators(1)[0]), torch.tensor([0.2, 0.7])
    network.adapt_to(Z)
    _, q = network.predict_heads(Z.expand(2, -1, -1), cosine_embedding(tau).expand(2, 1, -1, -1))
    torch.testing.assert_close(network.quantiles(Z, tau), q.detach(), rtol=1e-4, atol=1e-5)
