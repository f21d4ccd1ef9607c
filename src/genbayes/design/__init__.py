"""Choosing the next runs of a simulator: acquisition functions, proposers, batches; sees arrays and a Box.

What needs a model is imported when first used.
"""

from typing import TYPE_CHECKING

from genbayes.lazy import lazy_names

if TYPE_CHECKING:
    from genbayes.design.acquisition import (
        AvoidFailures,
        BoundarySeeking,
        IntervalWidth,
        VarianceReduction,
        disagreement,
        interval_width,
        predictive_variance,
    )
    from genbayes.design.ensemble import NetworkEnsemble, RandomizedPriors
    from genbayes.design.gp import DesignGP
    from genbayes.design.optimum import ExpectedImprovement, ThompsonSampling, UpperConfidenceBound
    from genbayes.design.proposers import ModelProposer, Proposer, RandomProposer

__all__ = [
    "AvoidFailures",
    "BoundarySeeking",
    "DesignGP",
    "ExpectedImprovement",
    "IntervalWidth",
    "ModelProposer",
    "NetworkEnsemble",
    "Proposer",
    "RandomProposer",
    "RandomizedPriors",
    "ThompsonSampling",
    "UpperConfidenceBound",
    "VarianceReduction",
    "disagreement",
    "interval_width",
    "predictive_variance",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "acquisition": [
            "AvoidFailures",
            "BoundarySeeking",
            "IntervalWidth",
            "VarianceReduction",
            "disagreement",
            "interval_width",
            "predictive_variance",
        ],
        "ensemble": ["NetworkEnsemble", "RandomizedPriors"],
        "gp": ["DesignGP"],
        "optimum": ["ExpectedImprovement", "ThompsonSampling", "UpperConfidenceBound"],
        "proposers": ["ModelProposer", "Proposer", "RandomProposer"],
    },
)
