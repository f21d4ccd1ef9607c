"""Regimes of a response: a mixture on y, a classifier on x, boundary features, and where runs fail."""

from genbayes.models.regimes.features import BoundaryFeatures, FeatureMap, Identity, OneRegimeWarning
from genbayes.models.regimes.mixture import Bimodality, measure_bimodality

__all__ = ["Bimodality", "BoundaryFeatures", "FeatureMap", "Identity", "OneRegimeWarning", "measure_bimodality"]
