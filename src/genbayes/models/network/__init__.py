"""The implicit quantile network: layers, priors, loss, training, and the surrogate that stands on it."""

from genbayes.models.network.ensemble import held_out_quantiles, held_out_scores
from genbayes.models.network.fit import IQNSettings, Rows, fit_iqn
from genbayes.models.network.iqn import IQN, NetworkShape, PriorIQN
from genbayes.models.network.loss import (
    DEFAULT,
    QUANTILE_DOMINANT,
    LossWeights,
    three_term_loss,
    trained_level,
    unbiased_loss,
)
from genbayes.models.network.surrogate import QuantileSurrogate

__all__ = [
    "DEFAULT",
    "IQN",
    "QUANTILE_DOMINANT",
    "IQNSettings",
    "LossWeights",
    "NetworkShape",
    "PriorIQN",
    "QuantileSurrogate",
    "Rows",
    "fit_iqn",
    "held_out_quantiles",
    "held_out_scores",
    "three_term_loss",
    "trained_level",
    "unbiased_loss",
]
