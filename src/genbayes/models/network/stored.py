"""The network of a model file: its settings and tensors, checked against each other before memory is set aside."""

from __future__ import annotations

from typing import Any

import torch

from genbayes.data.scaling import InputScaler
from genbayes.errors import UnreadableFile
from genbayes.models.network.fit import IQNSettings
from genbayes.models.network.iqn import NetworkShape, PriorIQN
from genbayes.persistence import FOREIGN, State
from genbayes.training import History

HISTORY_CURVES = ("epoch", "loss", "held_out_epoch", "held_out_crps")
MOST_ROUNDS = 64  # of doubled training; 40 are years


def restored_settings(state: State) -> IQNSettings:
    """Settings as a file holds them."""
    kept = {name: value for name, value in state.typed("settings", dict[str, Any]).items() if name != "input_penalty"}
    settings: IQNSettings = State("", {"settings": kept}).typed("settings", IQNSettings)  # 0 in older files
    shape, training = settings.shape, settings.training
    sizes = (shape.n_members, shape.n_hidden, shape.n_layers, shape.n_merge, shape.n_cosines, training.n_epochs)
    if min(sizes) < 1 or shape.n_fourier < 0 or not 1 <= training.n_rounds <= MOST_ROUNDS or settings.prior_scale < 0:
        raise UnreadableFile(f"the network in the model file must have positive sizes, got {shape}; {FOREIGN}")
    return settings


def restored_history(state: State) -> History:
    """The course of the training run."""
    epoch, checked_at = (state.array(f"history.{name}", (None,)) for name in ("epoch", "held_out_epoch"))
    if not len(epoch):
        raise UnreadableFile(f"the training in the model file must have an epoch, got none; {FOREIGN}")
    loss = state.array("history.loss", epoch.shape, finite=False)
    crps = state.array("history.held_out_crps", checked_at.shape, finite=False)
    return History(epoch, loss, checked_at, crps, state.number("seconds", at_least=0))


def restored_network(settings: IQNSettings, state: State, scaler: InputScaler) -> PriorIQN:
    """The network of a file, whose tensors must have the sizes that its settings say."""
    embedded = [(start, stop) for start, stop, _ in settings.shape.blocks]
    are_blocks = embedded == [block for block in scaler.blocks if block in set(embedded)]
    if settings.shape.n_inputs != scaler.n_outputs or not are_blocks:
        raise UnreadableFile(
            f"the network in the model file must have {scaler.n_outputs} inputs and embed the categories, "
            f"got {settings.shape.n_inputs}; {FOREIGN}"
        )
    _require_sizes(settings.shape, state)
    generators = [torch.Generator() for _ in range(settings.shape.n_members)]
    network = PriorIQN(settings.shape, generators, settings.prior_scale)
    kept = network.state_dict()
    for name, tensor in kept.items():
        kept[name] = torch.from_numpy(state.array(f"network.{name}", tuple(tensor.shape)).copy())
    network.load_state_dict(kept)
    return network


def _require_sizes(shape: NetworkShape, state: State) -> None:
    """The file must hold tensors of the sizes its manifest claims, before memory is set aside for them."""
    members, merge = shape.n_members, shape.n_merge
    if shape.n_layers > len(state.arrays):
        raise UnreadableFile(f"the network in the model file must have {shape.n_layers} layers, got fewer; {FOREIGN}")
    state.array("network.trained.f_1.weight", (members, merge, merge))
    state.array("network.trained.f_tau.weight", (members, shape.n_cosines, merge))
    for i, width in enumerate(shape.widths):
        state.array(f"network.trained.f_x.{i}.weight", (members, None, width))
    if shape.n_fourier:
        state.array("network.trained.fourier.weight", (members, None, shape.n_fourier))
    for i, (start, stop, size) in enumerate(shape.blocks):
        state.array(f"network.trained.embeddings.{i}.weight", (members, stop - start, size))
