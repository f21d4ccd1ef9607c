"""Gaussian processes that feature maps and baselines share: on scaled arrays, knowing no estimators.

Names are imported when first used: those who only search for parameters do without torch, which takes a second to load.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOME = {
    "FittedGP": "genbayes.gp.stationary",
    "FittedHeteroskedasticGP": "genbayes.gp.heteroskedastic",
    "Replicates": "genbayes.gp.replicates",
    "fit_gp": "genbayes.gp.stationary",
    "fit_heteroskedastic_gp": "genbayes.gp.heteroskedastic",
    "leave_out": "genbayes.gp.leaving",
    "match_rows": "genbayes.gp.leaving",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'genbayes.gp' has no attribute {name!r}")
