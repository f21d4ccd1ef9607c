"""Gradient-boosted quantiles: trees as plain arrays."""

from genbayes.models.trees.boosted import BoostedQuantiles

__all__ = ["BoostedQuantiles"]
