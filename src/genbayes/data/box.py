"""Box: the space of a simulator's inputs (real, logarithmic, whole, categories), its unit cube, and designs on it.

`encode` turns points of the cube into what models see: a category becomes one column for each of its values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from genbayes.arrays import BoolArray, FloatArray
from genbayes.errors import InvalidInput
from genbayes.seeding import RandomState, as_generator
from genbayes.validation import check_count, suggest

if TYPE_CHECKING:
    import pandas as pd


SMALLEST = float(np.finfo(np.float64).tiny)  # of a bound; smaller numbers lose their digits
Value = float | int | str
Point = dict[str, Value]
Written = Sequence[Value] | dict[str, list[Value]]  # an input in what JSON can say


@dataclass(frozen=True)
class Linear:
    """A real input between two bounds; `(lower, upper)` is short for it.

    Args:
        lower: The least value.
        upper: The largest value.

    Example:
        >>> Linear(0.2, 6.0).from_unit(np.array([0.0, 0.5])).tolist()
        [0.2, 3.1]
    """

    lower: float
    upper: float

    def check_bounds(self, name: str) -> None:
        """Refuse bounds that are no interval."""
        _check_bounds(name, self.lower, self.upper)

    def to_unit(self, values: Sequence[Any]) -> FloatArray:
        """Positions u = (x - lower) / (upper - lower), (n,) -> (n,)."""
        x, lower, upper = np.asarray(values, dtype=np.float64), float(self.lower), float(self.upper)
        if math.isinf(upper - lower):
            x, lower, upper = x / 2, lower / 2, upper / 2
        return (x - lower) / (upper - lower)

    def from_unit(self, u: FloatArray) -> FloatArray:
        """Values x = lower + u (upper - lower), (n,) -> (n,)."""
        lower, upper = float(self.lower), float(self.upper)
        if math.isinf(upper - lower):
            return np.clip((1 - u) * lower + u * upper, lower, upper)
        return np.clip(lower + u * (upper - lower), lower, upper)

    def take(self, value: object, name: str) -> Value:
        """A value of this input as it is stored, or why it is none."""
        return _take_number(value, name, self.lower, self.upper)

    def to_json(self) -> Written:
        """`[lower, upper]`."""
        return [float(self.lower), float(self.upper)]


@dataclass(frozen=True)
class Log(Linear):
    """A positive input whose logarithm is spread evenly: rates, concentrations, tolerances.

    Args:
        lower: The least value, above zero.
        upper: The largest value.

    Example:
        >>> Log(1e-4, 1.0).from_unit(np.array([0.5])).round(6).tolist()
        [0.01]
    """

    def check_bounds(self, name: str) -> None:
        """Refuse bounds that are no interval of positive numbers."""
        super().check_bounds(name)
        if self.lower <= 0:
            raise InvalidInput(
                f"bounds of {name!r} must be positive on a logarithmic scale, got {self.lower!r}; "
                "raise the lower bound or leave the scale linear"
            )

    def to_unit(self, values: Sequence[Any]) -> FloatArray:
        """Positions u = log(x / lower) / log(upper / lower), (n,) -> (n,)."""
        x, lower, upper = np.asarray(values, dtype=np.float64), float(self.lower), float(self.upper)
        if math.isinf(upper / lower):
            return (np.log(x) - math.log(lower)) / (math.log(upper) - math.log(lower))
        return np.log(x / lower) / math.log(upper / lower)

    def from_unit(self, u: FloatArray) -> FloatArray:
        """Values x = lower (upper / lower)^u, (n,) -> (n,)."""
        lower, upper = float(self.lower), float(self.upper)
        if math.isinf(upper / lower):
            return np.clip(np.exp((1 - u) * math.log(lower) + u * math.log(upper)), lower, upper)
        return np.clip(lower * (upper / lower) ** u, lower, upper)

    def to_json(self) -> Written:
        """`{"log": [lower, upper]}`."""
        return {"log": [float(self.lower), float(self.upper)]}


@dataclass(frozen=True)
class Integer:
    """A whole number between two bounds, both included.

    Args:
        lower: The least value.
        upper: The largest value.

    Example:
        >>> Integer(1, 4).from_unit(np.array([0.0, 0.3, 1.0]))
        [1, 2, 4]
    """

    lower: int
    upper: int

    def check_bounds(self, name: str) -> None:
        """Refuse bounds that are not whole or not in order."""
        for bound in (self.lower, self.upper):
            if isinstance(bound, bool) or not isinstance(bound, Integral):
                raise InvalidInput(f"bounds of {name!r} must be whole numbers, got {bound!r}")
        _check_bounds(name, self.lower, self.upper)

    def to_unit(self, values: Sequence[Any]) -> FloatArray:
        """The middle of the step of each value, (n,) -> (n,)."""
        return (np.asarray(values, dtype=np.float64) - self.lower + 0.5) / (self.upper - self.lower + 1)

    def from_unit(self, u: FloatArray) -> list[int]:
        """The value whose step holds u; all steps are equally long."""
        return [int(step) + self.lower for step in _steps(u, self.upper - self.lower + 1)]

    def take(self, value: object, name: str) -> Value:
        """A value of this input as it is stored, or why it is none."""
        number = _take_number(value, name, self.lower, self.upper)
        if not number.is_integer():
            raise InvalidInput(f"{name!r} must be a whole number, got {value!r}")
        return int(number)

    def to_json(self) -> Written:
        """`{"integer": [lower, upper]}`."""
        return {"integer": [int(self.lower), int(self.upper)]}


@dataclass(frozen=True, init=False)
class Choice:
    """One of a few values without order, all text or all numbers: materials, schemes.

    Args:
        values: The values, at least two.

    Example:
        >>> Choice("He", "O2").from_unit(np.array([0.2, 0.9]))
        ['He', 'O2']
    """

    values: tuple[Value, ...]

    def __init__(self, *values: Value) -> None:
        object.__setattr__(self, "values", values)

    def check_bounds(self, name: str) -> None:
        """Refuse fewer than two values, equal ones, and text beside numbers."""
        if len(self.values) < 2 or len(set(self.values)) < len(self.values):
            raise InvalidInput(
                f"choices of {name!r} must be two or more different values, got {list(self.values)!r}; "
                "write a fixed input into the simulator instead"
            )
        texts = [isinstance(value, str) for value in self.values]
        numbers = [isinstance(value, (int, float)) and not isinstance(value, bool) for value in self.values]
        if not (all(texts) or all(numbers)):
            raise InvalidInput(f"choices of {name!r} must be all text or all numbers, got {list(self.values)!r}")

    def to_unit(self, values: Sequence[Any]) -> FloatArray:
        """The middle of the step of each value, (n,) -> (n,)."""
        return (np.array([self.values.index(value) for value in values], dtype=np.float64) + 0.5) / len(self.values)

    def from_unit(self, u: FloatArray) -> list[Value]:
        """The value whose step holds u; all steps are equally long."""
        return [self.values[step] for step in _steps(u, len(self.values))]

    def take(self, value: object, name: str) -> Value:
        """A value of this input as it is stored, or why it is none."""
        if value not in self.values:
            listed = ", ".join(repr(known) for known in self.values)
            raise InvalidInput(
                f"{name!r} must be one of {listed}, got {value!r}{suggest(value, map(str, self.values))}"
            )
        return self.values[self.values.index(value)]

    def to_json(self) -> Written:
        """`{"choice": [...]}`."""
        return {"choice": list(self.values)}


Input = Linear | Integer | Choice  # Log is Linear on another scale
KINDS: dict[str, Callable[..., Input]] = {"linear": Linear, "log": Log, "integer": Integer, "choice": Choice}


class Box:
    """The space of a simulator's inputs, each with a name.

    Args:
        inputs: For each name `(lower, upper)`, `Log(lower, upper)`, `Integer(lower, upper)` or `Choice(a, b, ...)`.

    Example:
        >>> space = Box({"mach": (0.2, 6.0), "stages": Integer(1, 3), "gas": Choice("He", "O2")})
        >>> space.from_unit(np.array([[0.5, 0.5, 0.9]]))
        [{'mach': 3.1, 'stages': 2, 'gas': 'O2'}]
    """

    def __init__(self, inputs: Mapping[str, Any]) -> None:
        if not isinstance(inputs, Mapping) or not inputs:
            raise InvalidInput(f"inputs must map names to bounds, got {inputs!r}; try {{'mach': (0.2, 6.0)}}")
        self._inputs = {_check_name(name): _as_input(name, given) for name, given in inputs.items()}
        for name, kind in self._inputs.items():
            kind.check_bounds(name)

    @classmethod
    def unit(cls, d: int) -> Box:
        """The unit cube of d real inputs x1, x2, ...

        Example:
            >>> Box.unit(2).names
            ('x1', 'x2')
        """
        return cls({f"x{i + 1}": (0.0, 1.0) for i in range(check_count(d, "d"))})

    @property
    def inputs(self) -> Mapping[str, Input]:
        """What kind of input each name is."""
        return MappingProxyType(self._inputs)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order of the axes."""
        return tuple(self._inputs)

    @property
    def d(self) -> int:
        """Number of inputs."""
        return len(self._inputs)

    @property
    def categorical(self) -> list[str]:
        """Names of the inputs that are categories."""
        return [name for name, kind in self._inputs.items() if isinstance(kind, Choice)]

    @property
    def text_choices(self) -> list[str]:
        """Names of the inputs that are one of a few texts."""
        return [
            name for name, kind in self._inputs.items() if isinstance(kind, Choice) and isinstance(kind.values[0], str)
        ]

    @property
    def is_continuous(self) -> BoolArray:
        """Whether each axis may be moved along by gradients, shape (d,)."""
        return np.array([isinstance(kind, Linear) for kind in self._inputs.values()])

    def from_unit(self, U: FloatArray) -> list[Point]:
        """Inputs at points of the unit cube, (n, d) -> n of them."""
        assert U.shape == (len(U), self.d)
        columns = (kind.from_unit(U[:, j]) for j, kind in enumerate(self._inputs.values()))
        plain = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns]
        return [dict(zip(self.names, row, strict=True)) for row in zip(*plain, strict=True)]

    def to_unit(self, points: Iterable[Mapping[str, Any]] | pd.DataFrame) -> FloatArray:
        """Where inputs lie in the unit cube, n of them -> (n, d); a frame has a row for each."""
        rows: list[Any] = points.to_dict("records") if hasattr(points, "to_dict") else list(points)
        taken = [self.take(row) for row in rows]
        columns = [kind.to_unit([row[name] for row in taken]) for name, kind in self._inputs.items()]
        return np.column_stack(columns) if taken else np.empty((0, self.d))

    def snap(self, U: FloatArray) -> FloatArray:
        """The nearest points of the unit cube that are inputs: steps of whole numbers and categories, (n, d) -> (n, d).

        Example:
            >>> Box({"n": Integer(1, 2)}).snap(np.array([[0.1], [0.7]])).tolist()
            [[0.25], [0.75]]
        """
        return self.to_unit(self.from_unit(np.clip(U, 0.0, 1.0)))

    def take(self, point: Mapping[str, Any]) -> Point:
        """A point in the order of the names and as it is stored, or why it is none.

        Example:
            >>> Box({"mach": (0.2, 6.0)}).take({"mach": 7})
            Traceback (most recent call last):
            genbayes.errors.InvalidInput: 'mach' must lie between 0.2 and 6.0, got 7
        """
        for name in set(point) - set(self.names):
            known = suggest(name, self.names) or f"; the inputs are {', '.join(self.names)}"
            raise InvalidInput(f"point must name inputs of the space, got {name!r}{known}")
        missing = [name for name in self.names if name not in point]
        if missing:
            raise InvalidInput(f"point must give every input, got none for {', '.join(map(repr, missing))}")
        return {name: kind.take(point[name], name) for name, kind in self._inputs.items()}

    def uniform(self, n: int, random_state: RandomState = None) -> FloatArray:
        """Independent points of the unit cube, shape (n, d).

        Example:
            >>> Box.unit(3).uniform(4, random_state=0).shape
            (4, 3)
        """
        return as_generator(random_state).uniform(size=(check_count(n, "n", 0), self.d))

    def latin_hypercube(self, n: int, random_state: RandomState = None) -> FloatArray:
        """Points of the unit cube of which each of n equal slices of each axis holds one, shape (n, d).

        McKay, Beckman and Conover (1979), *A comparison of three methods for selecting values of input variables*.

        Example:
            >>> np.sort(np.floor(4 * Box.unit(2).latin_hypercube(4, random_state=0)), axis=0).tolist()
            [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
        """
        rng = as_generator(random_state)
        slices = rng.permuted(np.tile(np.arange(check_count(n, "n", 0))[:, None], self.d), axis=0)
        return (slices + rng.uniform(size=slices.shape)) / max(n, 1)

    def sobol(self, n: int, random_state: RandomState = None) -> FloatArray:
        """The first n points of a Sobol sequence, scrambled as by Owen (1998), shape (n, d).

        Example:
            >>> np.sort(np.floor(4 * Box.unit(2).sobol(4, random_state=0)), axis=0).tolist()
            [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
        """
        from scipy.stats import qmc

        power = max(check_count(n, "n", 0) - 1, 0).bit_length()
        seed = int(as_generator(random_state).integers(2**31))  # a number, which old and new versions of SciPy take
        points: FloatArray = qmc.Sobol(self.d, seed=seed).random_base2(power)
        return points[:n]

    def to_frame(self, points: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
        """A column for each input, a row for each point: what surrogates take."""
        import pandas as pd

        return pd.DataFrame([dict(point) for point in points], columns=list(self.names))

    def to_json(self) -> dict[str, Any]:
        """The space in what JSON and TOML can say; `Box(...)` takes it back.

        Example:
            >>> Box({"mach": (0.2, 6.0), "rate": Log(0.01, 1.0)}).to_json()
            {'mach': [0.2, 6.0], 'rate': {'log': [0.01, 1.0]}}
        """
        return {name: kind.to_json() for name, kind in self._inputs.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and list(self._inputs.items()) == list(other._inputs.items())

    def __hash__(self) -> int:
        return hash(tuple(self._inputs.items()))

    def __repr__(self) -> str:
        return f"Box({self._inputs!r})"


def _as_input(name: str, given: object) -> Input:
    """What a user wrote for an input, or what `to_json` wrote, as one of the kinds."""
    if isinstance(given, (Linear, Integer, Choice)):
        return given
    if isinstance(given, Mapping) and len(given) == 1:
        ((word, values),) = given.items()
        if word in KINDS and isinstance(values, (list, tuple)) and (word == "choice" or len(values) == 2):
            return KINDS[word](*values)
    if isinstance(given, (list, tuple)) and len(given) == 2:
        return Linear(*given)
    raise InvalidInput(
        f"bounds of {name!r} must be (lower, upper), Log(lower, upper), Integer(lower, upper) or Choice(a, b, ...), "
        f"got {given!r}"
    )


def _check_name(name: object) -> str:
    if not isinstance(name, str) or not name.strip() or any(mark in name for mark in "{}="):
        raise InvalidInput(f"names of inputs must be text without braces and equals signs, got {name!r}")
    return name


def _check_bounds(name: str, lower: float, upper: float) -> None:
    for bound in (lower, upper):
        if isinstance(bound, bool) or not isinstance(bound, Real) or not math.isfinite(bound):
            instead = "; take Choice(a, b, ...) for categories" if isinstance(bound, str) else ""
            raise InvalidInput(f"bounds of {name!r} must be finite numbers, got {bound!r}{instead}")
        if 0 < abs(bound) < SMALLEST:
            raise InvalidInput(
                f"bounds of {name!r} must be zero or at least {SMALLEST:.3g} in size, got {bound!r}; use another unit"
            )
    if lower == upper:
        raise InvalidInput(
            f"bounds of {name!r} must differ, got {lower!r} twice; write a fixed input into the simulator instead"
        )
    if lower > upper:
        raise InvalidInput(f"bounds of {name!r} must rise, got ({lower!r}, {upper!r}); write the lower one first")


def _take_number(value: object, name: str, lower: float, upper: float) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real) or not math.isfinite(value):
        raise InvalidInput(f"{name!r} must be a finite number, got {value!r}")
    if not lower <= float(value) <= upper:
        raise InvalidInput(f"{name!r} must lie between {lower!r} and {upper!r}, got {value!r}")
    return float(value)


def _steps(u: FloatArray, k: int) -> list[int]:
    """Which of k equal steps of [0, 1] holds each u."""
    return [int(step) for step in np.clip(np.floor(u * k), 0, k - 1)]


def encode(space: Box, U: FloatArray) -> FloatArray:
    """Columns for a model, (n, d) -> (n, p); the same for all points that mean the same inputs.

    Args:
        space: The inputs.
        U: Points of the unit cube.

    Example:
        >>> from genbayes.data.box import Integer
        >>> space = Box({"x": (0.0, 9.0), "n": Integer(1, 2), "gas": Choice("He", "O2")})
        >>> encode(space, np.array([[0.3, 0.2, 0.9]]))
        array([[0.3 , 0.25, 0.  , 1.  ]])
    """
    if space.is_continuous.all():
        return U
    U = space.snap(U)
    columns = []
    for j, kind in enumerate(space.inputs.values()):
        if isinstance(kind, Choice):
            step = np.minimum((U[:, j] * len(kind.values)).astype(np.int64), len(kind.values) - 1)
            columns.append(np.eye(len(kind.values))[step])
        else:
            columns.append(U[:, j : j + 1])
    return np.hstack(columns)
