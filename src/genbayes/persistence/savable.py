"""Savable: anything fitted that can go into one file; each class says what it keeps."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Self

from genbayes.persistence.file import write_state
from genbayes.persistence.state import State

__all__ = ["Savable"]


class Savable(ABC):
    """A fitted object with a state; `genbayes.load` turns the file back into the object."""

    @abstractmethod
    def to_state(self) -> State:
        """Everything needed to predict again, as arrays and plain values."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: State) -> Self:
        """The object that `to_state` described."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the fitted model to one file without pickle; an existing file is replaced only by a whole new one."""
        return write_state(path, self.to_state())
