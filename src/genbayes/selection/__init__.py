"""Selection: the surrogate that chooses for you, by out-of-fold CRPS, and says why."""

from genbayes.selection.auto import AutoSurrogate
from genbayes.selection.report import Entry, SelectionReport

__all__ = ["AutoSurrogate", "Entry", "SelectionReport"]
