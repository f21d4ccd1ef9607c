"""Gaussian processes that feature maps and baselines share: on scaled arrays, knowing no estimators.

Names are imported when first used: those who only search for parameters do without torch, which takes a second to load.
"""

from typing import TYPE_CHECKING

from genbayes.lazy import lazy_names

if TYPE_CHECKING:
    from genbayes.gp.heteroskedastic import FittedHeteroskedasticGP, fit_heteroskedastic_gp
    from genbayes.gp.leaving import leave_out, match_rows
    from genbayes.gp.replicates import Replicates
    from genbayes.gp.stationary import KERNELS, FittedGP, fit_gp

__all__ = [
    "KERNELS",
    "FittedGP",
    "FittedHeteroskedasticGP",
    "Replicates",
    "fit_gp",
    "fit_heteroskedastic_gp",
    "leave_out",
    "match_rows",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "heteroskedastic": ["FittedHeteroskedasticGP", "fit_heteroskedastic_gp"],
        "leaving": ["leave_out", "match_rows"],
        "replicates": ["Replicates"],
        "stationary": ["KERNELS", "FittedGP", "fit_gp"],
    },
)
