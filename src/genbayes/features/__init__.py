"""Feature maps z = T(x): what the network sees of an input."""

from genbayes.features.base import FeatureMap
from genbayes.features.boundary import BoundaryFeatures, OneRegimeWarning
from genbayes.features.identity import Identity
from genbayes.features.regimes import Bimodality, measure_bimodality

__all__ = ["Bimodality", "BoundaryFeatures", "FeatureMap", "Identity", "OneRegimeWarning", "measure_bimodality"]
