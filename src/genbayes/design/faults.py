"""What can go wrong with a campaign: errors to catch, and warnings that say what was done instead."""

from genbayes.errors import GenBayesError, GenBayesWarning

__all__ = [
    "BudgetSpent",
    "LeaseLost",
    "RepeatKept",
    "ResultUndelivered",
    "RunFailed",
    "SimulatorBroken",
    "StoreUnavailable",
]


class StoreUnavailable(GenBayesError, OSError):
    """The database is locked or out of reach, and stayed so for as long as was waited; nothing was lost."""


class LeaseLost(GenBayesError, RuntimeError):
    """A lease was to be renewed that is another worker's by now, or whose trial is finished."""


class BudgetSpent(GenBayesError, RuntimeError):
    """Every run of the budget has been asked for."""


class SimulatorBroken(GenBayesError, RuntimeError):
    """So many runs failed one after another that the simulator, not the inputs, must be at fault."""


class RepeatKept(GenBayesWarning):
    """A finished trial was told another result, which was kept as a repeat and not counted."""


class ResultUndelivered(GenBayesWarning):
    """A run had ended when something else went wrong, and its result could not be told; the text says what it was."""


class RunFailed(GenBayesWarning):
    """A trial was told something that is no finite number, and was recorded as failed."""
