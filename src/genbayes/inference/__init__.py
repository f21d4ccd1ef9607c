"""Posterior inference: the parameters of a simulator, given what was observed."""

from typing import TYPE_CHECKING

from genbayes.lazy import lazy_names

if TYPE_CHECKING:
    from genbayes.inference.calibration import CalibrationReport, check_calibration
    from genbayes.inference.estimator import PosteriorEstimator
    from genbayes.inference.importance import WeightedDraws
    from genbayes.inference.posterior import Posterior
    from genbayes.inference.prior import Prior, as_prior
    from genbayes.inference.regions import MarginRegion, Region

__all__ = [
    "CalibrationReport",
    "MarginRegion",
    "Posterior",
    "PosteriorEstimator",
    "Prior",
    "Region",
    "WeightedDraws",
    "as_prior",
    "check_calibration",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "calibration": ["CalibrationReport", "check_calibration"],
        "estimator": ["PosteriorEstimator"],
        "importance": ["WeightedDraws"],
        "posterior": ["Posterior"],
        "prior": ["Prior", "as_prior"],
        "regions": ["MarginRegion", "Region"],
    },
)
