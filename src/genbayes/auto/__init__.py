"""AutoSurrogate: the surrogate that chooses for you, by out-of-fold CRPS, and says why."""

from genbayes.auto.report import Entry, SelectionReport
from genbayes.auto.surrogate import AutoSurrogate

__all__ = ["AutoSurrogate", "Entry", "SelectionReport"]
