"""Gaussian processes that feature maps and baselines share: on scaled arrays, knowing no estimators."""

from genbayes.gp.heteroskedastic import FittedHeteroskedasticGP, fit_heteroskedastic_gp
from genbayes.gp.leaving import leave_out, match_rows
from genbayes.gp.replicates import Replicates
from genbayes.gp.stationary import FittedGP, fit_gp

__all__ = [
    "FittedGP",
    "FittedHeteroskedasticGP",
    "Replicates",
    "fit_gp",
    "fit_heteroskedastic_gp",
    "leave_out",
    "match_rows",
]
