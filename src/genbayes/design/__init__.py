"""Choosing the next runs of a simulator, and losing none."""

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

__all__ = [
    "BudgetSpent",
    "Campaign",
    "LeaseLost",
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
    "Trial",
]
