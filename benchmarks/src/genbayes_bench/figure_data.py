"""What the figures of the report need of a fitted model, kept in its record, since the report never trains.

After the first replicate of a few problems `keep_figure_data` puts into `Record.detail["exhibit"]` bands along the one
input (paper Figures 1 and 2), or a surface over two (Figure 3).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from genbayes.arrays import FloatArray
from genbayes_bench.problems.problem import Split
from genbayes_bench.record import Record, is_finite_number

BANDS = ("jump1d", "motorcycle")  # problems of one input whose bands are kept
SURFACES = ("bgp2",)  # problems of two inputs whose mean surface is kept
LEVELS = (0.5, 0.9)
N_POINTS = 241  # along one input; the jump of Figure 1 is then one part in 240 wide
N_SIDE = 61  # of the grid of a surface
N_DIGITS = 4  # significant ones that a picture can show


def keep_figure_data(problem: str, model: Any, split: Split) -> dict[str, Any]:
    """What a record's detail keeps for figures: "exhibit", "exhibit_error" if there could be none, or nothing.

    A figure is not worth a record: what goes wrong here is noted and costs no score.

    Example:
        >>> keep_figure_data("jump1d", None, Split(*(np.zeros((2, 1)), np.zeros(2)) * 2))
        {'exhibit_error': "AttributeError: 'NoneType' object has no attribute 'predict_distribution'"}
    """
    make = _bands if problem in BANDS else _surface if problem in SURFACES else None
    if make is None:
        return {}
    try:
        return {"exhibit": make(model, split)}
    except Exception as error:
        return {"exhibit_error": f"{type(error).__name__}: {error}"}


def figure_data_of(records: Iterable[Record], problem: str) -> dict[str, Mapping[str, Any]]:
    """Figure data of a problem by method, of the lowest replicate that has any; what cannot be drawn is left out."""
    is_sound = _is_surface if problem in SURFACES else _is_bands
    found: dict[str, Mapping[str, Any]] = {}
    for record in sorted(records, key=lambda record: -record.replicate):
        data = record.detail.get("exhibit")
        if record.problem == problem and isinstance(data, Mapping) and is_sound(data):
            found[record.method] = data
    return found


def _is_bands(data: Mapping[str, Any]) -> bool:
    """Whether this is what `_bands` makes."""
    n, n_train = _length(data.get("x")), _length(data.get("x_train"))
    bands = data.get("bands")
    if not isinstance(bands, list) or not all(isinstance(band, list) and len(band) == 3 for band in bands):
        return False
    return (
        n > 0
        and n_train > 0
        and _length(data.get("median")) == n
        and _length(data.get("y_train")) == n_train
        and all(_length([level]) == 1 and _length(lower) == _length(upper) == n for level, lower, upper in bands)
    )


def _is_surface(data: Mapping[str, Any]) -> bool:
    """Whether this is what `_surface` makes."""
    columns, n_test = data.get("X_test"), _length(data.get("f_test"))
    n = _length(data.get("x1")) * _length(data.get("x2"))
    whole = isinstance(columns, list) and [_length(column) for column in columns] == [n_test] * 2
    return whole and n_test > 0 and n > 0 and _length(data.get("mean")) == n and _length(data.get("normal")) == 2


def _length(values: Any) -> int:
    """Length of a list of finite numbers; 0 for anything else."""
    return len(values) if isinstance(values, list) and all(is_finite_number(value) for value in values) else 0


def _bands(model: Any, split: Split) -> dict[str, Any]:
    """Median and central intervals along the one input, with the runs."""
    every = np.concatenate([split.X_train[:, 0], split.X_test[:, 0]])
    x = np.linspace(every.min(), every.max(), N_POINTS)
    there = model.predict_distribution(x[:, None])
    bands = [[level, *(rounded(end) for end in there.interval(level))] for level in LEVELS]
    return {
        "kind": "bands",
        "x": rounded(x, N_DIGITS + 1),
        "median": rounded(there.median()),
        "bands": bands,
        "x_train": rounded(split.X_train[:, 0], N_DIGITS + 1),
        "y_train": rounded(split.y_train),
        "x_test": rounded(split.X_test[:, 0], N_DIGITS + 1),
        "y_test": rounded(split.y_test),
    }


def _surface(model: Any, split: Split) -> dict[str, Any]:
    """Mean and width of the 90% interval on a grid, with the truth at the test inputs and the jump line."""
    low, high = split.X_train.min(axis=0), split.X_train.max(axis=0)
    side = [np.linspace(low[j], high[j], N_SIDE) for j in range(2)]
    first, second = np.meshgrid(*side, indexing="ij")
    there = model.predict_distribution(np.column_stack([first.ravel(), second.ravel()]))
    lower, upper = there.interval(0.9)
    truth = split.y_test if split.f_test is None else split.f_test
    return {
        "kind": "surface",
        "x1": rounded(side[0]),
        "x2": rounded(side[1]),
        "mean": rounded(there.mean(), 3),
        "width": rounded(upper - lower, 3),
        "X_test": [rounded(column) for column in split.X_test.T],
        "f_test": rounded(truth),
        "normal": find_plane(split),
    }


def find_plane(split: Split) -> list[float]:
    """The vector a of {-1, +1}^2, up to its sign, whose line a'x = 0 parts the responses of BGP best."""
    mean = [split.y_train[split.X_train @ a >= 0].mean() for a in ([1, 1], [1, -1])]
    rest = [split.y_train[split.X_train @ a < 0].mean() for a in ([1, 1], [1, -1])]
    gap = np.abs(np.subtract(mean, rest))
    return [1.0, 1.0] if gap[0] >= gap[1] else [1.0, -1.0]


def rounded(values: FloatArray | Sequence[float], digits: int = N_DIGITS) -> list[float]:
    """Values with a few significant digits of the largest one, as a plain list.

    Example:
        >>> rounded(np.array([123.456, 0.0012345]))
        [123.5, 0.0]
    """
    values = np.asarray(values, dtype=np.float64)
    largest = float(np.abs(values).max(initial=0.0))
    decimals = digits - 1 - int(np.floor(np.log10(largest))) if largest > 0 else 0
    return [float(value) + 0.0 for value in np.round(values, decimals)]
