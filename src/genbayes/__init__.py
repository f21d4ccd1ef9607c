"""genbayes: surrogates for expensive simulators that return the whole predictive distribution.

Public names are imported when first used, so that `import genbayes` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from genbayes.calibration import ConformalSurrogate
    from genbayes.data import Box
    from genbayes.design import Campaign
    from genbayes.distribution import Empirical, Mixture, Normal, PredictiveDistribution, QuantileFunction
    from genbayes.errors import GenBayesError, InvalidInput
    from genbayes.features import BoundaryFeatures
    from genbayes.loading import load
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
]

_HOME = {
    "AutoSurrogate": "genbayes.selection",
    "BoundaryFeatures": "genbayes.features",
    "Box": "genbayes.data",
    "Campaign": "genbayes.design",
    "ConformalSurrogate": "genbayes.calibration",
    "Empirical": "genbayes.distribution",
    "GPInformedSurrogate": "genbayes.surrogate",
    "GenBayesError": "genbayes.errors",
    "InvalidInput": "genbayes.errors",
    "Mixture": "genbayes.distribution",
    "Normal": "genbayes.distribution",
    "PredictiveDistribution": "genbayes.distribution",
    "QuantileFunction": "genbayes.distribution",
    "QuantileSurrogate": "genbayes.surrogate",
    "load": "genbayes.loading",
}
_SUBMODULES = {"analysis", "baselines", "data", "design", "distribution", "errors", "metrics", "plotting", "reports"}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _SUBMODULES:
        return import_module(f"genbayes.{name}")
    raise AttributeError(f"module 'genbayes' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
