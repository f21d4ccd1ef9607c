"""Choosing the next runs of a simulator, and losing none.

What needs a model is imported when first used: keeping the books of a campaign does not.
"""

from typing import TYPE_CHECKING

from genbayes.design.campaign import Campaign
from genbayes.design.running import Tally
from genbayes.design.trial import Settings, Status, Trial
from genbayes.errors import (
    BudgetSpent,
    LeaseLost,
    RepeatKept,
    ResultUndelivered,
    RunFailed,
    SimulatorBroken,
    StoreUnavailable,
)
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
    from genbayes.design.optimum import ExpectedImprovement, ThompsonSampling, UpperConfidenceBound
    from genbayes.design.proposers import ModelProposer, Proposer, RandomProposer

__all__ = [
    "AvoidFailures",
    "BoundarySeeking",
    "BudgetSpent",
    "Campaign",
    "ExpectedImprovement",
    "IntervalWidth",
    "LeaseLost",
    "ModelProposer",
    "Proposer",
    "RandomProposer",
    "RepeatKept",
    "ResultUndelivered",
    "RunFailed",
    "Settings",
    "SimulatorBroken",
    "Status",
    "StoreUnavailable",
    "Tally",
    "ThompsonSampling",
    "Trial",
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
        "optimum": ["ExpectedImprovement", "ThompsonSampling", "UpperConfidenceBound"],
        "proposers": ["ModelProposer", "Proposer", "RandomProposer"],
    },
)
