"""Rivals: models that exist only to be compared with, behind the interface of genbayes' own.

Names are imported when first used: engines of the extra `genbayes-bench[rivals]` load only with the model that needs
them. `rivals.r_bridge` runs the original R packages.
"""

from typing import TYPE_CHECKING

from genbayes.lazy import lazy_names
from genbayes.models.registry import register_model

if TYPE_CHECKING:
    from genbayes_bench.rivals.ensembles import Anchored, Bootstrap
    from genbayes_bench.rivals.forest import QuantileForest
    from genbayes_bench.rivals.last_layer import SNGP, LastLayerLaplace
    from genbayes_bench.rivals.ngboost import NaturalGradientBoosting

__all__ = ["SNGP", "Anchored", "Bootstrap", "LastLayerLaplace", "NaturalGradientBoosting", "QuantileForest", "register"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "ensembles": ["Anchored", "Bootstrap"],
        "forest": ["QuantileForest"],
        "last_layer": ["SNGP", "LastLayerLaplace"],
        "ngboost": ["NaturalGradientBoosting"],
    },
)


def register() -> None:
    """Make the rivals known to genbayes, which finds this function by its entry point: files of them load again."""
    register_model(
        "forest",
        "genbayes_bench.rivals.forest:QuantileForest",
        title="quantile forest",
        assumes="runs in one leaf have one distribution",
        suits="distributions of any shape, little to tune",
    )
    register_model(
        "ngboost",
        "genbayes_bench.rivals.ngboost:NaturalGradientBoosting",
        title="natural gradient boosting",
        assumes="normal distributions, mean and log sd constant in pieces",
        suits="many runs, thresholds, noise that depends on x",
    )
