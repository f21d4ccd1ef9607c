"""The competitors, as strong as a specialist would fit them, behind the interface of our surrogates.

Names are imported when first used: engines of the extra `genbayes[baselines]` load only with the model that needs them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from genbayes.baselines.deep import DeepGP
    from genbayes.baselines.heteroskedastic import HeteroskedasticGP
    from genbayes.baselines.stationary import StationaryGP

__all__ = ["DeepGP", "HeteroskedasticGP", "StationaryGP"]

_HOME = {
    "DeepGP": "genbayes.baselines.deep",
    "HeteroskedasticGP": "genbayes.baselines.heteroskedastic",
    "StationaryGP": "genbayes.baselines.stationary",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'genbayes.baselines' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
