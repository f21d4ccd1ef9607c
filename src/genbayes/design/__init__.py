"""Choosing the next runs of a simulator, and losing none.

What needs a model is imported when first used: keeping the books of a campaign does not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from genbayes.design.campaign import Campaign
from genbayes.design.faults import (
    BudgetSpent,
    LeaseLost,
    RepeatKept,
    ResultUndelivered,
    RunFailed,
    SimulatorBroken,
    StoreUnavailable,
)
from genbayes.design.proposers import Proposer, RandomProposer
from genbayes.design.running import Tally
from genbayes.design.trial import Settings, Status, Trial

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
    from genbayes.design.proposer import ModelProposer

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

_HOME = {
    "AvoidFailures": "acquisition",
    "BoundarySeeking": "acquisition",
    "ExpectedImprovement": "optimum",
    "IntervalWidth": "acquisition",
    "ModelProposer": "proposer",
    "ThompsonSampling": "optimum",
    "UpperConfidenceBound": "optimum",
    "VarianceReduction": "acquisition",
    "disagreement": "acquisition",
    "interval_width": "acquisition",
    "predictive_variance": "acquisition",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"genbayes.design.{_HOME[name]}"), name)
    raise AttributeError(f"module 'genbayes.design' has no attribute {name!r}")
