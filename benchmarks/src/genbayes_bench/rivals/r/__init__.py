"""The original R packages hetGP, deepgp and laGP through `Rscript`, to check our own Gaussian processes against.

Optional: nothing else in genbayes needs R. A model is a description (`RHetGP()`), `run_r` fits it and predicts in one
call, and `available` says which packages R has.
"""

from genbayes_bench.rivals.r.bridge import RPrediction, available, run_r
from genbayes_bench.rivals.r.models import RDeepGP, RHetGP, RHomGP, RLocalGP, RModel
from genbayes_bench.rivals.r.process import RFailed, RMissing, RTimedOut

__all__ = [
    "RDeepGP",
    "RFailed",
    "RHetGP",
    "RHomGP",
    "RLocalGP",
    "RMissing",
    "RModel",
    "RPrediction",
    "RTimedOut",
    "available",
    "run_r",
]
