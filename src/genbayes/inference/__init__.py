"""Posterior inference: the parameters of a simulator, given what was observed."""

from typing import TYPE_CHECKING

from genbayes.lazy import lazy_names

if TYPE_CHECKING:
    from genbayes.inference.estimator import PosteriorEstimator
    from genbayes.inference.posterior import Posterior
    from genbayes.inference.prior import Prior, as_prior

__all__ = ["Posterior", "PosteriorEstimator", "Prior", "as_prior"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {"estimator": ["PosteriorEstimator"], "posterior": ["Posterior"], "prior": ["Prior", "as_prior"]},
)
