"""genbayes: surrogates for expensive simulators that return the whole predictive distribution.

Public names are imported when first used, so that `import genbayes` is quick.
"""

from typing import TYPE_CHECKING

from genbayes.lazy import lazy_names

if TYPE_CHECKING:
    from genbayes.auto import AutoSurrogate
    from genbayes.campaign import Campaign
    from genbayes.conformal import ConformalSurrogate
    from genbayes.data import Box
    from genbayes.distribution import Empirical, Mixture, Normal, PredictiveDistribution, QuantileFunction
    from genbayes.errors import GenBayesError, InvalidInput
    from genbayes.inference import PosteriorEstimator
    from genbayes.models import GPInformedSurrogate, QuantileSurrogate
    from genbayes.models.loading import load
    from genbayes.models.regimes import BoundaryFeatures
    from genbayes.models.registry import register_model, registered_models

__version__ = "0.1.0"

__all__ = [
    "AutoSurrogate",
    "BoundaryFeatures",
    "Box",
    "Campaign",
    "ConformalSurrogate",
    "Empirical",
    "GPInformedSurrogate",
    "GenBayesError",
    "InvalidInput",
    "Mixture",
    "Normal",
    "PosteriorEstimator",
    "PredictiveDistribution",
    "QuantileFunction",
    "QuantileSurrogate",
    "__version__",
    "load",
    "register_model",
    "registered_models",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "analysis": [],
        "auto": ["AutoSurrogate"],
        "baselines": [],
        "campaign": ["Campaign"],
        "conformal": ["ConformalSurrogate"],
        "data": ["Box"],
        "design": [],
        "diagnostics": [],
        "distribution": ["Empirical", "Mixture", "Normal", "PredictiveDistribution", "QuantileFunction"],
        "errors": ["GenBayesError", "InvalidInput"],
        "inference": ["PosteriorEstimator"],
        "metrics": [],
        "models": ["GPInformedSurrogate", "QuantileSurrogate"],
        "models.regimes": ["BoundaryFeatures"],
        "models.loading": ["load"],
        "models.registry": ["register_model", "registered_models"],
        "plotting": [],
        "report": [],
    },
)
