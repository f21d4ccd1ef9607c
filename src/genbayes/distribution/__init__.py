"""Predictive distributions, one a row: quantile tables, draws, normal distributions and mixtures."""

from genbayes.distribution.base import PredictiveDistribution
from genbayes.distribution.empirical import Empirical
from genbayes.distribution.mixture import Mixture
from genbayes.distribution.normal import Normal
from genbayes.distribution.quantile_function import QuantileFunction

__all__ = ["Empirical", "Mixture", "Normal", "PredictiveDistribution", "QuantileFunction"]
