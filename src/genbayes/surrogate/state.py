"""What a fitted QuantileSurrogate keeps in its file, and how it is rebuilt; plain values and tensors only."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from sklearn.base import clone

from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.features import Bimodality, BoundaryFeatures, FeatureMap, Identity
from genbayes.features.mixture import GaussianMixture
from genbayes.network import IQNSettings, LossWeights, NetworkShape, PriorIQN
from genbayes.persistence import State
from genbayes.surrogate.failure import FailureModel
from genbayes.tabular.state import known_parameters, restore_table, state_of_table
from genbayes.training import History, TrainingSettings

if TYPE_CHECKING:
    from genbayes.surrogate.estimator import QuantileSurrogate

__all__ = ["restore_fitted", "state_of_fitted"]

FEATURE_MAPS: dict[str, type[FeatureMap]] = {  # the only maps a file may name
    "BoundaryFeatures": BoundaryFeatures,
    "Identity": Identity,
}
HISTORY_CURVES = ("epoch", "loss", "held_out_epoch", "held_out_crps")

S = TypeVar("S", bound="QuantileSurrogate")


def state_of_fitted(model: QuantileSurrogate) -> State:
    """The state of a fitted surrogate: settings, scalers, columns, data fingerprint, network."""
    table = state_of_table(model)
    values: dict[str, Any] = {
        **table.values,
        "weights": asdict(model.weights_),
        "bimodality": [model.bimodality_.bic_gain, model.bimodality_.valley],
        "settings": asdict(model.settings_),
        "spread": model.spread_,
        "seconds": model.history_.seconds,
        "n_threads": model.history_.n_threads,
        "n_maps": len(model.features_),
    }
    arrays = {f"network.{name}": tensor.detach().cpu().numpy() for name, tensor in model.network_.state_dict().items()}
    arrays |= {**table.arrays, "relevance": model.relevance_}
    arrays |= {f"history.{name}": getattr(model.history_, name) for name in HISTORY_CURVES}
    mixture = model.bimodality_.mixture
    arrays |= {"mixture": np.stack([mixture.share, mixture.mean, mixture.sd])}
    state = State("QuantileSurrogate", values, arrays)
    for i, feature_map in enumerate(model.features_):
        if FEATURE_MAPS.get(type(feature_map).__name__) is not type(feature_map):
            raise InvalidInput(f"features must be maps of this library to be saved, got {type(feature_map).__name__}")
        state = state.with_part(f"map{i}", feature_map.to_state())
    return state if model.failure_ is None else state.with_part("failure", model.failure_.to_state())


def restore_fitted(cls: type[S], state: State) -> S:
    """The fitted surrogate that a state describes; every part is checked against the others."""
    model = cls(**known_parameters(cls, state.value("parameters")))
    restore_table(model, state)
    model.weights_ = LossWeights(**state.value("weights"))
    bic_gain, valley = state.value("bimodality")
    share, mean, sd = state.array("mixture", (3, 2))
    model.bimodality_ = Bimodality(float(bic_gain), float(valley), GaussianMixture(share, mean, sd))
    model.settings_ = _settings(state.value("settings"))
    model.features_ = [_feature_map(state.nested(f"map{i}")) for i in range(int(state.value("n_maps")))]
    if any(not isinstance(each, Identity) for each in model.features_):
        model.features = [clone(each) for each in model.features_]
    model.network_ = _network(model.settings_, state, model.input_scaler_.n_outputs)
    epoch, loss, held_out_epoch, held_out_crps = (state.array(f"history.{name}", (None,)) for name in HISTORY_CURVES)
    seconds, n_threads = float(state.value("seconds")), int(state.value("n_threads"))
    model.history_ = History(epoch, loss, held_out_epoch, held_out_crps, seconds, n_threads)
    model.spread_ = float(state.value("spread"))
    model.relevance_ = state.array("relevance", (model.input_scaler_.n_outputs,))
    is_regime = model.missing == "regime"
    model.failure_ = FailureModel.from_state(state.nested("failure"), model.n_features_in_) if is_regime else None
    return model


def _settings(values: dict[str, Any]) -> IQNSettings:
    shape = dict(values["shape"])
    shape["blocks"] = tuple(tuple(block) for block in shape["blocks"])
    parts = {"shape": NetworkShape(**shape), "weights": LossWeights(**values["weights"])}
    kept = {name: value for name, value in values.items() if name != "input_penalty"}  # always 0 in older files
    return IQNSettings(**{**kept, **parts, "training": TrainingSettings(**values["training"])})


def _network(settings: IQNSettings, state: State, n_inputs: int) -> PriorIQN:
    if settings.shape.n_inputs != n_inputs:
        raise UnreadableFile(
            f"the network in the model file must have {n_inputs} inputs, got {settings.shape.n_inputs}"
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
    state.array("network.trained.f_1.weight", (members, merge, merge))
    state.array("network.trained.f_tau.weight", (members, shape.n_cosines, merge))
    for i in range(shape.n_layers):
        width = merge if i == shape.n_layers - 1 else shape.n_hidden
        state.array(f"network.trained.f_x.{i}.weight", (members, None, width))
    if shape.n_waves:
        state.array("network.trained.waves.weight", (members, None, shape.n_waves))
    for i, (start, stop, size) in enumerate(shape.blocks):
        state.array(f"network.trained.embeddings.{i}.weight", (members, stop - start, size))


def _feature_map(state: State) -> FeatureMap:
    if state.kind not in FEATURE_MAPS:
        raise UnreadableFile(f"the model file must name a known feature map, got {state.kind!r}")
    return FEATURE_MAPS[state.kind].from_state(state)
