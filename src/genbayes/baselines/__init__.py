"""The competitors, as strong as a specialist would fit them, behind the interface of our surrogates.

Names are imported when first used: engines of the extra `genbayes[baselines]` load only with the model that needs them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from genbayes.baselines.boosted import BoostedQuantiles
    from genbayes.baselines.deep import DeepGP
    from genbayes.baselines.forest import QuantileForest
    from genbayes.baselines.heteroskedastic import HeteroskedasticGP
    from genbayes.baselines.jump import ModularJumpGP
    from genbayes.baselines.natural import NaturalGradientBoosting
    from genbayes.baselines.regime import RegimeGP
    from genbayes.baselines.sparse import SparseGP
    from genbayes.baselines.stationary import StationaryGP

__all__ = [
    "BoostedQuantiles",
    "DeepGP",
    "HeteroskedasticGP",
    "ModularJumpGP",
    "NaturalGradientBoosting",
    "QuantileForest",
    "RegimeGP",
    "SparseGP",
    "StationaryGP",
]

_HOME = {
    "BoostedQuantiles": "genbayes.baselines.boosted",
    "DeepGP": "genbayes.baselines.deep",
    "HeteroskedasticGP": "genbayes.baselines.heteroskedastic",
    "ModularJumpGP": "genbayes.baselines.jump",
    "NaturalGradientBoosting": "genbayes.baselines.natural",
    "QuantileForest": "genbayes.baselines.forest",
    "RegimeGP": "genbayes.baselines.regime",
    "SparseGP": "genbayes.baselines.sparse",
    "StationaryGP": "genbayes.baselines.stationary",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'genbayes.baselines' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
