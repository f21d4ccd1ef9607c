"""Rivals: models that exist only to be compared with, behind the interface of genbayes' own.

Names are imported when first used: engines of the extra `genbayes-bench[rivals]` load only with the model that needs
them. The R packages are in `rivals.r`, the ensembles that lost in the paper's Supplement D in `rivals.ensembles`.
"""

from typing import TYPE_CHECKING

from genbayes.lazy import lazy_names

if TYPE_CHECKING:
    from genbayes_bench.rivals.forest import QuantileForest
    from genbayes_bench.rivals.natural import NaturalGradientBoosting

__all__ = ["NaturalGradientBoosting", "QuantileForest"]

__getattr__, __dir__ = lazy_names(__name__, {"forest": ["QuantileForest"], "natural": ["NaturalGradientBoosting"]})
