"""Feature maps z = T(x): what the network sees of an input."""

from genbayes.features.base import FeatureMap
from genbayes.features.identity import Identity
from genbayes.features.regimes import Bimodality, measure_bimodality

__all__ = ["Bimodality", "FeatureMap", "Identity", "measure_bimodality"]
