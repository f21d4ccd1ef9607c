"""Errors and warnings of genbayes.

Every error a user can meet inherits from `GenBayesError` and from the built-in class a caller would catch
anyway, and reads `<argument> must <rule>, got <value>; <what to do>`.
"""


class GenBayesError(Exception):
    """Base of every error that genbayes raises on purpose."""


class InvalidInput(GenBayesError, ValueError):
    """A value passed by the user breaks a rule that the message states."""


class ResponseNotFinite(InvalidInput):
    """A run gave NaN or infinity: a number, but no result."""


class MissingExtra(GenBayesError, ImportError):
    """A model needs a library that this package installs only on request."""


class NoDensity(GenBayesError, NotImplementedError):
    """A distribution made of atoms was asked for its density."""


class TrainingDiverged(GenBayesError, RuntimeError):
    """The training loss turned non-finite; no model is returned."""


class NotFinite(GenBayesError, FloatingPointError):
    """A computation met NaN or infinity, because numbers given to it are too large or too small to compute with."""


class OutOfReach(GenBayesError, RuntimeError):
    """A model gave up its training because another one is clearly better and will stay so."""


class UnreadableFile(GenBayesError, ValueError):
    """A file is damaged, foreign, or of a version this library does not know."""


class UnwritableFile(GenBayesError, OSError):
    """A file cannot be written where the user asked."""


class StoreUnavailable(GenBayesError, OSError):
    """The database is locked or out of reach, and stayed so for as long as was waited; nothing was lost."""


class StoreRefused(StoreUnavailable):
    """The database answered that waiting would not help: it is not there, or does not let this user in."""


class LeaseLost(GenBayesError, RuntimeError):
    """A lease was to be renewed that is another worker's by now, or whose trial is finished."""


class BudgetSpent(GenBayesError, RuntimeError):
    """Every run of the budget has been asked for."""


class SimulatorBroken(GenBayesError, RuntimeError):
    """Many runs failed one after another, or one ended its process: the simulator must be at fault."""


class GenBayesWarning(UserWarning):
    """Base of every warning that genbayes gives; the text says what was done instead."""


class CopiesCountedOnce(GenBayesWarning):
    """Equal rows were counted once in a calibration, though they may be runs of their own."""


class WeightsRescaled(GenBayesWarning):
    """Weights that are no whole numbers were rescaled to mean one, since they cannot be counts of runs."""


class FarFromRuns(GenBayesWarning):
    """Some rows that were predicted lie far from every training input, where a surrogate can only guess."""


class RepeatKept(GenBayesWarning):
    """A finished trial was told another result, which was kept as a repeat and not counted."""


class RowsDropped(GenBayesWarning):
    """Rows with missing cells were left out, as was asked for; the text says how many and which."""


class ResultUndelivered(GenBayesWarning):
    """A run had ended when something else went wrong, and its result could not be told; the text says what it was."""


class RunFailed(GenBayesWarning):
    """A trial was told something that is no finite number, and was recorded as failed."""


class PriorAssumed(GenBayesWarning):
    """No prior was passed, and the box that the simulated parameters fill was taken."""


class NotFromPrior(GenBayesWarning):
    """Simulated parameters are unlikely to be draws from the prior, so that posteriors answer another question."""


class OutsideSimulations(GenBayesWarning):
    """An observation lies outside what was simulated, and its posterior is extrapolated."""


class SimulationsDropped(GenBayesWarning):
    """So many simulations failed that those which are left may not stand for the prior any more."""


class DuplicatePairs(GenBayesWarning):
    """Simulated pairs were given more than once; each was used once."""


class ConstantSummaries(GenBayesWarning):
    """Summaries that are the same in every simulation were ignored."""


class RoundsStopped(GenBayesWarning):
    """Truncated rounds could not follow the posterior as closely as they should; the text says what was done."""


class FewEffectiveDraws(GenBayesWarning):
    """A few draws carry nearly all importance weight, so that moments from them are not to be relied on."""
