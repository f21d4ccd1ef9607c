"""The one door for values that a user passes; inner code trusts what has come through here.

Estimators also use scikit-learn's `validate_data`, whose sentences its own checks match. Each function returns
the value in the form the library works with, or raises `InvalidInput` with one sentence.
"""

import math
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from difflib import get_close_matches
from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import BoolArray, FloatArray
from genbayes.errors import InvalidInput, ResponseNotFinite

SHOWN_ROWS = 5  # a message names this many rows and counts the rest
LONGEST_RESPONSE = 60  # characters of a response that a message shows


def check_level(level: float) -> float:
    """Nominal coverage, strictly between 0 and 1.

    Example:
        >>> check_level(0.9)
        0.9
    """
    if isinstance(level, bool) or not isinstance(level, Real) or not 0 < level < 1:
        raise InvalidInput(f"level must lie strictly between 0 and 1, got {level!r}; pass 0.9 for 90%")
    return float(level)


def check_tau(tau: ArrayLike) -> FloatArray:
    """Quantile levels, strictly between 0 and 1, as an array of shape () or (m,).

    Example:
        >>> check_tau([0.05, 0.95])
        array([0.05, 0.95])
    """
    try:
        levels = np.asarray(tau, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"tau must be a number or a sequence of numbers, got {tau!r}") from error
    if levels.ndim > 1 or levels.size == 0:
        raise InvalidInput(f"tau must be a number or a non-empty sequence, got shape {levels.shape}")
    outside = levels[~((levels > 0) & (levels < 1))]  # the complement also catches NaN
    if outside.size:
        first = float(outside.ravel()[0])
        raise InvalidInput(f"tau must lie strictly between 0 and 1, got {first!r}; pass 0.05 for the 5% quantile")
    return levels


def check_targets(y: ArrayLike, n: int) -> FloatArray:
    """Observed responses to score against, finite, shape (n,); a scalar is spread over the rows.

    Example:
        >>> check_targets([1, 2], 2)
        array([1., 2.])
    """
    require_no_dates(y)
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"y must be numbers, got {type(y).__name__}") from error
    if values.ndim == 0:
        values = np.full(n, float(values))
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n,):
        raise InvalidInput(f"y must have shape ({n},), one value per row, got {values.shape}")
    return check_finite(values, "y")


def require_no_dates(y: object, name: str = "y") -> None:
    """Refuse dates and durations, which NumPy would turn into numbers of an arbitrary unit.

    Example:
        >>> require_no_dates(np.array(["2024-05-01"], dtype="datetime64[D]"))
        Traceback (most recent call last):
        genbayes.errors.InvalidInput: y must be numbers, got dates or durations (datetime64[D]); turn them into...
    """
    try:
        values = np.asarray(y)
    except (TypeError, ValueError):
        return  # refused with the shape or the cells that are wrong
    first = values.reshape(-1)[0] if values.dtype == object and values.size else None
    if values.dtype.kind in "mM" or isinstance(first, (date, timedelta)):
        got = values.dtype if first is None else type(first).__name__
        raise InvalidInput(f"{name} must be numbers, got dates or durations ({got}); turn them into numbers first")


def check_finite(values: FloatArray, name: str) -> FloatArray:
    """The array itself, if it holds neither NaN nor infinity; otherwise which rows do.

    Example:
        >>> check_finite(np.array([1.0, 2.0]), "y")
        array([1., 2.])
    """
    bad = ~np.isfinite(values)
    if bad.any():
        rows = np.asarray(bad.reshape(len(values), -1).any(axis=1))
        raise InvalidInput(f"{name} must be finite, got NaN or infinity in {describe_rows(rows)}; drop or repair them")
    return values


def describe_rows(marked: BoolArray, labels: ArrayLike | None = None, word: str = "row") -> str:
    """How many rows are marked and which come first, for an error message.

    Args:
        marked: Which rows are meant, shape (n,).
        labels: What the rows are called, shape (n,); None for their numbers.
        word: What a label is.

    Example:
        >>> describe_rows(np.array([False, True, True]))
        '2 of 3 rows (rows 1, 2)'
    """
    found = np.flatnonzero(marked) if labels is None else np.asarray(labels)[marked]
    shown = ", ".join(str(label) for label in found[:SHOWN_ROWS])
    more = ", ..." if len(found) > SHOWN_ROWS else ""
    return f"{len(found)} of {len(marked)} rows ({word}{'s' if len(found) != 1 else ''} {shown}{more})"


def list_some(values: Sequence[object], most: int = 8) -> str:
    """The first few of many values, for an error message.

    Example:
        >>> list_some(["mach", "gas", "stages"], most=2), list_some(["mach", "gas"], most=2)
        ("'mach', 'gas', ...", "'mach', 'gas'")
    """
    return ", ".join(repr(value) for value in values[:most]) + (", ..." if len(values) > most else "")


def check_count(value: object, name: str, at_least: int = 1) -> int:
    """A whole number not below `at_least`.

    Example:
        >>> check_count(3, "n_members")
        3
    """
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral) or value < at_least:
        raise InvalidInput(f"{name} must be a whole number of at least {at_least}, got {value!r}")
    return int(value)


def check_nonnegative(value: object, name: str, *, strictly: bool = False) -> float:
    """A finite number that is not negative (or, `strictly`, is positive).

    Example:
        >>> check_nonnegative(0, "prior_scale")
        0.0
    """
    number = _as_float(value) if isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) else math.nan
    if not math.isfinite(number) or number < 0 or (strictly and number == 0):
        rule = "positive" if strictly else "zero or positive"
        raise InvalidInput(f"{name} must be {rule} and finite, got {value!r}")
    return number


def check_response(y: object) -> float:
    """One finite number: a number, or an array that holds one.

    Example:
        >>> check_response([2])
        2.0
        >>> check_response("diverged")
        Traceback (most recent call last):
        genbayes.errors.InvalidInput: y must be a finite number, got 'diverged'
    """
    if isinstance(y, (list, tuple, np.ndarray)) or (hasattr(y, "shape") and hasattr(y, "__array__")):
        values = np.asarray(y)
        if values.size != 1:
            raise InvalidInput(f"y must be one number, got {values.size} values")
        y = values.reshape(-1)[0]
        y = y.item() if isinstance(y, np.generic) else y
    shown = repr(y) if len(repr(y)) <= LONGEST_RESPONSE else repr(y)[:LONGEST_RESPONSE] + "..."
    if isinstance(y, bool) or not isinstance(y, Real):
        raise InvalidInput(f"y must be a finite number, got {shown}")
    if not math.isfinite(_as_float(y)):
        raise ResponseNotFinite(f"y must be a finite number, got {shown}")
    return float(y)


def _as_float(number: Real) -> float:
    """A number as float64; a whole one that is too large is infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def check_choice(value: object, name: str, choices: Iterable[str]) -> str:
    """One of a few words; a near miss is answered with the nearest.

    Example:
        >>> check_choice("fast", "recipe", ["fast", "paper"])
        'fast'
    """
    options = list(choices)
    if not isinstance(value, str) or value not in options:
        listed = ", ".join(repr(option) for option in options)
        raise InvalidInput(f"{name} must be one of {listed}, got {value!r}{suggest(value, options)}")
    return value


def suggest(word: object, known: Iterable[str]) -> str:
    """`; did you mean ...?` when a known word is close, else nothing.

    Example:
        >>> suggest("presure", ["pressure", "mach"]), suggest("MACH", ["pressure", "mach"])
        ("; did you mean 'pressure'?", "; did you mean 'mach'?")
    """
    names = [str(name) for name in known]
    by_lower = {name.lower(): name for name in reversed(names)}
    near = get_close_matches(str(word), names, n=1)
    near = near or [by_lower[name] for name in get_close_matches(str(word).lower(), by_lower, n=1)]
    return f"; did you mean {near[0]!r}?" if near else ""


def check_array(values: ArrayLike, name: str, shape: str) -> FloatArray:
    """Finite numbers as float64, with as many axes as `shape` has letters; no axis but the first may be empty.

    Example:
        >>> check_array([[1, 2]], "q", "(n, m)")
        array([[1., 2.]])
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} must be numbers of shape {shape}, got {type(values).__name__}") from error
    if array.ndim != len([letter for letter in shape.strip("()").split(",") if letter]) or 0 in array.shape[1:]:
        raise InvalidInput(f"{name} must have shape {shape}, got {array.shape}")
    check_finite(np.atleast_1d(array), name)
    return array


def check_column(values: ArrayLike, name: str, n: int) -> FloatArray:
    """Finite numbers, one per row, shape (n,); a scalar is spread over the rows.

    Example:
        >>> check_column(0.5, "scale", 2)
        array([0.5, 0.5])
    """
    array = check_array(values, name, "()" if np.ndim(values) == 0 else "(n,)")
    if array.ndim and array.shape != (n,):
        raise InvalidInput(f"{name} must have shape ({n},), one value per row, got {array.shape}")
    return np.array(np.broadcast_to(array, (n,)))


def check_jobs(n_jobs: object) -> int | None:
    """Fits at a time, as joblib takes them: None, a positive number up to the cores of this machine, or -1 for all.

    Under a joblib backend that spreads jobs over other machines, the cores of this one are no limit.

    Example:
        >>> check_jobs(None), check_jobs(-1)
        (None, -1)
    """
    if n_jobs is None or n_jobs == -1:
        return None if n_jobs is None else -1
    import joblib

    cores = joblib.cpu_count()
    if isinstance(n_jobs, (bool, np.bool_)) or not isinstance(n_jobs, Integral) or n_jobs < 1:
        raise InvalidInput(f"n_jobs must be a positive whole number, or -1 for all {cores} cores, got {n_jobs!r}")
    backend, _ = joblib.parallel.get_active_backend()
    is_local = type(backend).__name__ in (
        "LokyBackend",
        "ThreadingBackend",
        "MultiprocessingBackend",
        "SequentialBackend",
    )
    if is_local and n_jobs > cores:
        raise InvalidInput(f"n_jobs must be at most the {cores} cores of this machine, got {n_jobs}; pass -1 for all")
    return int(n_jobs)
