"""genbayes: surrogates for expensive simulators that return the whole predictive distribution.

Public names are imported when first used, so that `import genbayes` is quick.
"""

from typing import TYPE_CHECKING

from genbayes.lazy import lazy_names

if TYPE_CHECKING:
    from genbayes.calibration import ConformalSurrogate
    from genbayes.data import Box
    from genbayes.design import Campaign
    from genbayes.distribution import Empirical, Mixture, Normal, PredictiveDistribution, QuantileFunction
    from genbayes.errors import GenBayesError, InvalidInput
    from genbayes.features import BoundaryFeatures
    from genbayes.models.registry import load, register_model, registered_models
    from genbayes.selection import AutoSurrogate
    from genbayes.surrogate import GPInformedSurrogate, QuantileSurrogate

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
        "baselines": [],
        "calibration": ["ConformalSurrogate"],
        "data": ["Box"],
        "design": ["Campaign"],
        "distribution": ["Empirical", "Mixture", "Normal", "PredictiveDistribution", "QuantileFunction"],
        "errors": ["GenBayesError", "InvalidInput"],
        "features": ["BoundaryFeatures"],
        "metrics": [],
        "models": [],
        "models.registry": ["load", "register_model", "registered_models"],
        "plotting": [],
        "reports": [],
        "selection": ["AutoSurrogate"],
        "surrogate": ["GPInformedSurrogate", "QuantileSurrogate"],
    },
)
