"""The implicit quantile network: embedding, layers, priors, loss, fitting."""

from genbayes.network.fitting import IQNSettings, Rows, fit_iqn, held_out_crps, held_out_quantiles, held_out_scores
from genbayes.network.iqn import IQN, NetworkShape
from genbayes.network.loss import (
    DEFAULT,
    QUANTILE_DOMINANT,
    LossWeights,
    three_term_loss,
    trained_level,
    unbiased_loss,
)
from genbayes.network.prior import PriorIQN

__all__ = [
    "DEFAULT",
    "IQN",
    "QUANTILE_DOMINANT",
    "IQNSettings",
    "LossWeights",
    "NetworkShape",
    "PriorIQN",
    "Rows",
    "fit_iqn",
    "held_out_crps",
    "held_out_quantiles",
    "held_out_scores",
    "three_term_loss",
    "trained_level",
    "unbiased_loss",
]
