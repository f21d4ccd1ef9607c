"""The models by the names of their classes, imported when first used, and the one list of them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from genbayes.models.registry import OURS

if TYPE_CHECKING:
    from genbayes.models.gp.deep.estimator import DeepGP
    from genbayes.models.gp.heteroskedastic import HeteroskedasticGP
    from genbayes.models.gp.sparse import SparseGP
    from genbayes.models.gp.stationary import StationaryGP
    from genbayes.models.gp_informed import GPInformedSurrogate
    from genbayes.models.jump_gp import ModularJumpGP, RegimeGP
    from genbayes.models.network.surrogate import QuantileSurrogate
    from genbayes.models.trees.boosted import BoostedQuantiles

__all__ = [
    "BoostedQuantiles",
    "DeepGP",
    "GPInformedSurrogate",
    "HeteroskedasticGP",
    "ModularJumpGP",
    "QuantileSurrogate",
    "RegimeGP",
    "SparseGP",
    "StationaryGP",
]


def __getattr__(name: str) -> Any:
    for model in OURS:
        if name in __all__ and model.disk_name == name:
            return model.load_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
