"""Predictive distributions, one law per row: quantile tables, draws, normal laws and mixtures."""

from genbayes.distribution.base import PredictiveDistribution
from genbayes.distribution.mixture import Mixture
from genbayes.distribution.normal import Normal
from genbayes.distribution.pool import pool_quantile_functions
from genbayes.distribution.predictor import Predictor
from genbayes.distribution.quantile import QuantileFunction
from genbayes.distribution.sample import Empirical

__all__ = [
    "Empirical",
    "Mixture",
    "Normal",
    "PredictiveDistribution",
    "Predictor",
    "QuantileFunction",
    "pool_quantile_functions",
]
