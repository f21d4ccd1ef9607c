"""Gaussian processes: exact, of many runs (Vecchia), with uneven noise, sparse and deep; fitted process and estimator.

Names are imported when first used: those who only search for parameters do without torch, which takes a second to load.
"""

from typing import TYPE_CHECKING

from genbayes.lazy import lazy_names

if TYPE_CHECKING:
    from genbayes.models.gp.heteroskedastic import FittedHeteroskedasticGP, fit_heteroskedastic_gp
    from genbayes.models.gp.likelihood import Replicates, match_rows
    from genbayes.models.gp.stationary import KERNELS, FittedGP, fit_gp

__all__ = [
    "KERNELS",
    "FittedGP",
    "FittedHeteroskedasticGP",
    "Replicates",
    "fit_gp",
    "fit_heteroskedastic_gp",
    "match_rows",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "heteroskedastic": ["FittedHeteroskedasticGP", "fit_heteroskedastic_gp"],
        "likelihood": ["Replicates", "match_rows"],
        "stationary": ["FittedGP", "KERNELS", "fit_gp"],
    },
)
