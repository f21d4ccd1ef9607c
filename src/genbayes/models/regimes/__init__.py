"""Regimes of a response: a mixture on y, a classifier on x, boundary features, and where runs fail."""

from typing import TYPE_CHECKING

from genbayes.lazy import lazy_names

if TYPE_CHECKING:
    from genbayes.models.regimes.features import BoundaryFeatures, FeatureMap, Identity, OneRegimeWarning
    from genbayes.models.regimes.mixture import Bimodality, measure_bimodality

__all__ = ["Bimodality", "BoundaryFeatures", "FeatureMap", "Identity", "OneRegimeWarning", "measure_bimodality"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "classifier": [],
        "failure": [],
        "features": ["BoundaryFeatures", "FeatureMap", "Identity", "OneRegimeWarning"],
        "mixture": ["Bimodality", "measure_bimodality"],
    },
)
