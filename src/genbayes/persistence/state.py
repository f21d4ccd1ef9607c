"""State: what a fitted object keeps, as named arrays and plain values; the step between objects and bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from genbayes.errors import UnreadableFile

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class State:
    """Named arrays and JSON-ready values of one fitted object.

    Attributes:
        kind: Name of the class that can be rebuilt from it.
        values: Settings and facts: numbers, text, lists and dictionaries only.
        arrays: Tensors by name.
    """

    kind: str
    values: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)

    def value(self, name: str) -> Any:
        """A value that must be there.

        Example:
            >>> State("Identity", {"n": 3}).value("n")
            3
        """
        if name not in self.values:
            raise UnreadableFile(f"the model file must hold the value {name!r}, got none; it is damaged or foreign")
        return self.values[name]

    def array(self, name: str, shape: tuple[int | None, ...] | None = None) -> Array:
        """An array that must be there, of a shape in which None stands for any length.

        Example:
            >>> State("Identity", arrays={"a": np.zeros((2, 3))}).array("a", (2, None)).shape
            (2, 3)
        """
        if name not in self.arrays:
            raise UnreadableFile(f"the model file must hold the array {name!r}, got none; it is damaged or foreign")
        found = self.arrays[name]
        fits = shape is None or (
            found.ndim == len(shape)
            and all(want in (None, have) for want, have in zip(shape, found.shape, strict=True))
        )
        if not fits:
            raise UnreadableFile(f"the array {name!r} in the model file must have shape {shape}, got {found.shape}")
        return found

    def nested(self, prefix: str) -> State:
        """The state of a part that was added by `with_part`.

        Example:
            >>> State("Model").with_part("scaler", State("Scaler", {"center": 1.0})).nested("scaler").value("center")
            1.0
        """
        part = self.value(prefix)
        start = f"{prefix}."
        arrays = {name[len(start) :]: array for name, array in self.arrays.items() if name.startswith(start)}
        if not isinstance(part, Mapping) or not isinstance(part.get("kind"), str):
            raise UnreadableFile(f"the part {prefix!r} of the model file must name its kind; it is damaged or foreign")
        return State(part["kind"], part.get("values", {}), arrays)

    def with_part(self, prefix: str, part: State) -> State:
        """This state with another one inside it, under a prefix.

        Example:
            >>> sorted(State("Model").with_part("net", State("IQN", arrays={"w": np.zeros(1)})).arrays)
            ['net.w']
        """
        values = {**self.values, prefix: {"kind": part.kind, "values": dict(part.values)}}
        arrays = {**self.arrays, **{f"{prefix}.{name}": array for name, array in part.arrays.items()}}
        return State(self.kind, values, arrays)


@runtime_checkable
class Savable(Protocol):
    """A fitted object that can be rebuilt from its state."""

    def to_state(self) -> State:
        """Everything needed to predict again, as arrays and plain values."""

    @classmethod
    def from_state(cls, state: State, /) -> Self:
        """The object that `to_state` described."""
