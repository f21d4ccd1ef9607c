"""The competitors, as strong as a specialist would fit them, behind the interface of our surrogates.

Names are imported when first used: engines of the extra `genbayes[baselines]` load only with the model that needs them.
"""

from typing import TYPE_CHECKING

from genbayes.lazy import lazy_names

if TYPE_CHECKING:
    from genbayes.baselines.boosted import BoostedQuantiles
    from genbayes.baselines.deep import DeepGP
    from genbayes.baselines.heteroskedastic import HeteroskedasticGP
    from genbayes.baselines.jump import ModularJumpGP
    from genbayes.baselines.regime import RegimeGP
    from genbayes.baselines.sparse import SparseGP
    from genbayes.baselines.stationary import StationaryGP

__all__ = [
    "BoostedQuantiles",
    "DeepGP",
    "HeteroskedasticGP",
    "ModularJumpGP",
    "RegimeGP",
    "SparseGP",
    "StationaryGP",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "boosted": ["BoostedQuantiles"],
        "deep": ["DeepGP"],
        "heteroskedastic": ["HeteroskedasticGP"],
        "jump": ["ModularJumpGP"],
        "regime": ["RegimeGP"],
        "sparse": ["SparseGP"],
        "stationary": ["StationaryGP"],
    },
)
