"""State: what a fitted object keeps, as named arrays and plain values; the step between objects and bytes.

A file may be damaged or made by somebody else, so nothing in it is believed: every accessor states a rule (a range, a
shape, a choice) and raises `UnreadableFile` in one sentence where the file breaks it. What has come through an accessor
is a finite number, an array of that shape, a known word; a `from_state` reads like a declaration of the format.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from genbayes.arrays import FloatArray, IntArray
from genbayes.errors import UnreadableFile
from genbayes.persistence.records import LARGEST_COUNT, LARGEST_FLOAT, as_type, is_finite_number, shown

Array = np.ndarray[Any, np.dtype[Any]]
FOREIGN = "it is damaged or foreign"


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
        """A value that must be there, of any kind; prefer an accessor that also checks it.

        Example:
            >>> State("Identity", {"n": 3}).value("n")
            3
        """
        if name not in self.values:
            raise UnreadableFile(f"the model file must hold the value {name!r}, got none; {FOREIGN}")
        return self.values[name]

    def number(
        self,
        name: str,
        *,
        positive: bool = False,
        at_least: float = -LARGEST_FLOAT,
        at_most: float = LARGEST_FLOAT,
        default: float | None = None,
    ) -> float:
        """A finite number, positive or between two ends, both included; `default` where older files have none.

        Example:
            >>> State("GP", {"nugget": 1e-3}).number("nugget", positive=True)
            0.001
        """
        if default is not None and name not in self.values:
            return default
        found = self.value(name)
        if not is_finite_number(found) or (positive and found <= 0) or not at_least <= found <= at_most:
            rule = "positive and finite" if positive else f"a number from {at_least:g} to {at_most:g}"
            raise UnreadableFile(f"the value {name!r} in the model file must be {rule}, got {shown(found)}; {FOREIGN}")
        return float(found)

    def count(self, name: str, at_least: int = 0, at_most: int = LARGEST_COUNT) -> int:
        """A whole number between two ends, both included.

        Example:
            >>> State("Network", {"n_members": 3}).count("n_members", at_least=1)
            3
        """
        found = self.value(name)
        if isinstance(found, bool) or not isinstance(found, int) or not at_least <= found <= at_most:
            rule = f"a whole number from {at_least} to {at_most}"
            raise UnreadableFile(f"the value {name!r} in the model file must be {rule}, got {shown(found)}; {FOREIGN}")
        return found

    def choice(self, name: str, choices: Iterable[str]) -> str:
        """One of a few words.

        Example:
            >>> State("GP", {"kernel": "matern52"}).choice("kernel", ["matern52"])
            'matern52'
        """
        found, known = self.value(name), list(choices)
        if not isinstance(found, str) or found not in known:
            rule = f"one of {', '.join(known)}"
            raise UnreadableFile(f"the value {name!r} in the model file must be {rule}, got {shown(found)}; {FOREIGN}")
        return found

    def typed(self, name: str, kind: object) -> Any:
        """A value of a type: `str`, `bool`, `list[str]`, `tuple[float, float]`, or a dataclass of such fields.

        Numbers come out finite, and a dataclass complete and without fields that it does not know.

        Example:
            >>> State("Model", {"names": ["mach", "gas"]}).typed("names", list[str])
            ['mach', 'gas']
        """
        return as_type(self.value(name), kind, f"the value {name!r} in the model file")

    def array(
        self,
        name: str,
        shape: tuple[int | None, ...] | None = None,
        *,
        finite: bool = True,
        positive: bool = False,
        at_least: float = -LARGEST_FLOAT,
        at_most: float = LARGEST_FLOAT,
    ) -> FloatArray:
        """Floating-point numbers of a shape in which None stands for any length; finite unless told otherwise.

        Args:
            name: Of the array.
            shape: Lengths of its axes.
            finite: Whether NaN and infinity are refused.
            positive: Whether zero and less are refused.
            at_least: Least number that is not refused.
            at_most: Largest number that is not refused.

        Example:
            >>> State("Identity", arrays={"a": np.zeros((2, 3))}).array("a", (2, None)).shape
            (2, 3)
        """
        found = self._of_shape(name, shape)
        if found.dtype not in (np.float32, np.float64):
            rule = f"the array {name!r} in the model file must hold floating-point numbers"
            raise UnreadableFile(f"{rule}, got {found.dtype}; {FOREIGN}")
        if finite and not np.isfinite(found).all():
            raise UnreadableFile(f"the array {name!r} in the model file must be finite, got NaN or infinity; {FOREIGN}")
        least, largest = float(found.min(initial=np.inf)), float(found.max(initial=-np.inf))
        if finite and ((positive and not least > 0) or least < at_least or largest > at_most):
            rule = "positive" if positive else f"from {at_least:g} to {at_most:g}"
            got = f"{least:g} to {largest:g}"
            raise UnreadableFile(f"the array {name!r} in the model file must be {rule}, got {got}; {FOREIGN}")
        return found

    def whole_array(self, name: str, shape: tuple[int | None, ...], *, at_least: int = 0, below: int) -> IntArray:
        """Whole numbers of a shape in which None stands for any length, at_least <= number < below.

        Example:
            >>> State("Folds", arrays={"fold": np.array([0, 2, 1])}).whole_array("fold", (None,), below=3)
            array([0, 2, 1])
        """
        found = self._of_shape(name, shape)
        is_whole = found.dtype.kind in "iu"
        if not is_whole or (found.size and not (at_least <= found.min() and found.max() < below)):
            rule = f"whole numbers from {at_least} to {below - 1}"
            got = f"{found.min()} to {found.max()}" if is_whole else str(found.dtype)
            raise UnreadableFile(f"the array {name!r} in the model file must hold {rule}, got {got}; {FOREIGN}")
        return found.astype(np.int64)

    def hashes(self, name: str, shape: tuple[int | None, ...]) -> np.ndarray[Any, np.dtype[np.uint64]]:
        """Hashes of 64 bits, any of them; shape as in `array`."""
        found = self._of_shape(name, shape)
        if found.dtype != np.uint64:
            raise UnreadableFile(f"the array {name!r} in the model file must hold hashes, got {found.dtype}; {FOREIGN}")
        return found

    def _of_shape(self, name: str, shape: tuple[int | None, ...] | None) -> Array:
        if name not in self.arrays:
            raise UnreadableFile(f"the model file must hold the array {name!r}, got none; {FOREIGN}")
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
            raise UnreadableFile(f"the part {prefix!r} of the model file must name its kind; {FOREIGN}")
        values = part.get("values", {})
        if not isinstance(values, Mapping):
            raise UnreadableFile(f"the part {prefix!r} of the model file must hold named values; {FOREIGN}")
        return State(part["kind"], values, arrays)

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
