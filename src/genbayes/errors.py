"""Errors and warnings of genbayes.

Every error a user can meet inherits from `GenBayesError` and from the built-in class a caller would catch
anyway, and reads `<argument> must <rule>, got <value>; <what to do>`.
"""

__all__ = [
    "GenBayesError",
    "GenBayesWarning",
    "InvalidInput",
    "MissingExtra",
    "NoDensity",
    "TrainingDiverged",
    "UnreadableFile",
    "UnwritableFile",
]


class GenBayesError(Exception):
    """Base of every error that genbayes raises on purpose."""


class InvalidInput(GenBayesError, ValueError):
    """A value passed by the user breaks a rule that the message states."""


class MissingExtra(GenBayesError, ImportError):
    """A model needs a library that this package installs only on request."""


class NoDensity(GenBayesError, NotImplementedError):
    """A law made of atoms was asked for its density."""


class TrainingDiverged(GenBayesError, RuntimeError):
    """The training loss turned non-finite; no model is returned."""


class UnreadableFile(GenBayesError, ValueError):
    """A file is damaged, foreign, or of a version this library does not know."""


class UnwritableFile(GenBayesError, OSError):
    """A file cannot be written where the user asked."""


class GenBayesWarning(UserWarning):
    """Base of every warning that genbayes gives; the text says what was done instead."""
