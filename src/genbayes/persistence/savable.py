"""Savable: anything fitted that can go into one file; each class says what it keeps.

A composite keeps other fitted objects whose classes it need not know: whoever loads hands it the way to rebuild them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

from genbayes.errors import UnreadableFile
from genbayes.persistence.state import State

__all__ = ["Composite", "Restore", "Savable"]

Restore = Callable[[State], Any]  # rebuilds a fitted object from its state, or raises UnreadableFile


class Savable(ABC):
    """A fitted object with a state; `genbayes.load` turns the file back into the object."""

    @abstractmethod
    def to_state(self) -> State:
        """Everything needed to predict again, as arrays and plain values."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: State) -> Self:
        """The object that `to_state` described."""


class Composite(Savable):
    """A fitted object that holds other fitted objects of any kind."""

    @classmethod
    @abstractmethod
    def from_parts(cls, state: State, restore: Restore) -> Self:
        """The object that `to_state` described; `restore` rebuilds the objects inside it from their nested states."""

    @classmethod
    def from_state(cls, state: State) -> Self:
        """As `from_parts`, if there is nothing inside to be rebuilt."""
        return cls.from_parts(state, _refuse)


def _refuse(state: State) -> Any:
    raise UnreadableFile(f"the part {state.kind!r} must be rebuilt by genbayes.load, got no other way")
