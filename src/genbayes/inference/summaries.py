"""Summaries S(y): what the transport sees of an observation (paper, Supplement B).

Nothing (y itself), the user's function, or a network that is learnt: of a vector, of a set of independent observations
of any size, or of a series. A learnt network is trained together with a chain, so that it keeps what the posterior
needs; then it is frozen. The networks are in `summary_networks`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.stats import rankdata, spearmanr

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.inference.summary_networks import (
    KERNEL,
    Array,
    SeriesNetwork,
    SetNetwork,
    SummaryNetwork,
    VectorNetwork,
    draw_parts,
)
from genbayes.persistence import FOREIGN, State
from genbayes.validation import check_choice, check_finite, describe_rows

LEARNT = ("network", "set", "series")
ROWS_AT_ONCE = 1_024  # observations that pass through a summary network together
SHARE_WHOLE = 0.2  # of sets that are learnt from as they are; of the others a part
SIZE_SAYS_SOMETHING = 0.01  # p-value, after Bonferroni, from which on sizes of sets are taken to depend on theta
LARGEST_OBSERVATION = 10_000_000  # values of one that a file may describe


class Summary:
    """S(y) without learning: y itself, or the user's function of all observations (n, ...) -> (n, q).

    Args:
        function: The user's function; None for y itself.

    Attributes:
        tail_: Shape of one observation in `fit`.
    """

    tail_: tuple[int, ...]

    def __init__(self, function: Callable[[Any], Any] | None = None) -> None:
        self.function = function

    def read_many(self, y: Any) -> Array:
        """What was simulated, (n, ...), checked; the shape of one is remembered."""
        values = _numbers(y)
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 and self.function is None:
            raise InvalidInput(
                f"y must have shape (n, p), got {values.shape}; pass summary='series' or 'set', or a function"
            )
        self.tail_ = values.shape[1:]
        return check_finite(values, "y")

    def read_observed(self, y: Any) -> tuple[Array, bool]:
        """What was observed, (o, ...), and whether it is a single observation."""
        values = _numbers(y)
        if self.tail_ == (1,) and values.ndim == 1 and len(values) > 1:
            values = values[:, None]
        is_single = values.ndim <= len(self.tail_)
        values = values.reshape(1, *(values.shape or (1,))) if is_single else values
        if values.shape[1:] != self.tail_:
            raise InvalidInput(f"y must have {_shape(self.tail_)} as in fit, got {_shape(values.shape[1:])}")
        return _finite_observations(values), is_single

    def __call__(self, y: Array) -> FloatArray:
        """Summaries of observations, (n, ...) -> (n, q)."""
        if self.function is None:
            return y
        s = np.asarray(self.function(y), dtype=np.float64)
        s = s[:, None] if s.ndim == 1 else s
        if s.ndim != 2 or len(s) != len(y):
            raise InvalidInput(f"summary must return one row an observation, ({len(y)}, q), got shape {s.shape}")
        return check_finite(s, "summary(y)")

    @property
    def n_summaries(self) -> int:
        """Number of summaries that a file can describe."""
        return self.tail_[0] if len(self.tail_) == 1 else 0

    def to_state(self) -> State:
        """Kind and shape of an observation; a function cannot be kept."""
        if self.function is not None:
            raise InvalidInput(
                "summary must be None or a name to be saved, got a function, which no file can hold; "
                "apply it to y before fit and condition"
            )
        return State("Summary", {"tail": list(self.tail_)})


class LearntSummary(Summary):
    """A summary network: subclasses say how observations are read and pooled.

    Attributes:
        network_: The fitted network.
        smallest_part_: Fewest members of the parts of sets that it was trained on; None for whole ones alone.
    """

    network_: SummaryNetwork
    smallest_part_: int | None = None
    kind: str

    def begin(self, y: Array, k: int, generator: torch.Generator) -> SummaryNetwork:
        """A network for observations like y, (n, ...), before it is trained."""
        self.network_ = NETWORKS[self.kind].of(y, 4 * k, generator)
        return self.network_

    @torch.no_grad()
    def __call__(self, y: Array) -> FloatArray:
        """Summaries of observations, (n, ...) -> (n, q)."""
        parts = [self.network_(self.network_.prepare(y[i : i + ROWS_AT_ONCE])) for i in range(0, len(y), ROWS_AT_ONCE)]
        return torch.cat(parts).double().numpy()

    @property
    def n_summaries(self) -> int:
        """Number of summaries."""
        return self.network_.n_outputs

    def find_smallest_part(self, y: Array, theta: FloatArray) -> int | None:
        """Fewest members of parts of the observations to learn from beside them; None for no parts."""
        return None

    @torch.no_grad()
    def of_parts(self, y: Array, smallest: int, generator: torch.Generator) -> FloatArray:
        """Summaries of a random part of each set, (n, m, p) -> (n, q)."""
        prepared = (self.network_.prepare(y[i : i + ROWS_AT_ONCE]) for i in range(0, len(y), ROWS_AT_ONCE))
        found = [self.network_(draw_parts(rows, smallest, 0.0, generator)) for rows in prepared]
        return torch.cat(found).double().numpy()

    def to_state(self) -> State:
        """Kind, shape and weights."""
        arrays = {name: value.detach().numpy() for name, value in self.network_.state_dict().items()}
        return State("Summary", {"tail": list(self.tail_), "kind": self.kind}, arrays)


class VectorSummary(LearntSummary):
    """A network of vectors y, (n, p)."""

    kind = "network"


class SeriesSummary(LearntSummary):
    """A convolution over series y, (n, T) or (n, T, c)."""

    kind = "series"

    def read_many(self, y: Any) -> Array:
        """Series of equal length, (n, T, c)."""
        values = _numbers(y)
        values = values[:, :, None] if values.ndim == 2 else values
        if values.ndim != 3 or values.shape[1] < 2 * KERNEL:
            raise InvalidInput(
                f"y must have shape (n, T) or (n, T, c) with T at least {2 * KERNEL} for summary='series', "
                f"got {values.shape}"
            )
        self.tail_ = values.shape[1:]
        return check_finite(values, "y")

    def read_observed(self, y: Any) -> tuple[Array, bool]:
        """Series of the length of those simulated, (o, T, c)."""
        values = _numbers(y)
        if self.tail_[1] == 1 and (values.ndim < 2 or values.shape[1:] != self.tail_[1:]) and values.ndim < 3:
            values = values[..., None]
        return super().read_observed(values)


class SetSummary(LearntSummary):
    """Permutation-invariant pooling of sets of independent observations, each (m_i, p), of any size.

    Sets are held as one array (n, m, p) whose missing members are NaN.
    """

    kind = "set"

    def read_many(self, y: Any) -> Array:
        """Sets as a list of (m_i, p) or (m_i,), or as an array (n, m, p) with NaN for members that are missing."""
        sets = _pad([_one_set(each) for each in y]) if isinstance(y, (list, tuple)) else _numbers(y)
        sets = sets[:, :, None] if sets.ndim == 2 else sets
        if sets.ndim != 3:
            raise InvalidInput(f"y must be a list of sets (m, p) or shape (n, m, p), got shape {sets.shape}")
        self.tail_ = sets.shape[2:]
        return _check_sets(sets)

    def read_observed(self, y: Any) -> tuple[Array, bool]:
        """One set (m, p) or (m,), a list of sets, or an array (o, m, p)."""
        p = self.tail_[0]
        is_list = (
            isinstance(y, (list, tuple)) and any(np.ndim(each) > 0 for each in y) and (p == 1 or np.ndim(y[0]) > 1)
        )
        if is_list:
            sets = _pad([_one_set(each) for each in y])
            is_single = False
        else:
            values = _numbers(y)
            is_single = values.ndim < 3
            sets = values.reshape(1, len(values), -1) if is_single else values
        if sets.shape[2] != p:
            raise InvalidInput(f"y must have {p} value{'s' if p > 1 else ''} a member as in fit, got {sets.shape[2]}")
        return _check_sets(sets), is_single

    def find_smallest_part(self, y: Array, theta: FloatArray) -> int | None:
        """The smallest size there is; None where all sizes are equal, or where a size says something of theta.

        Members are independent, so a random part of a set is a set that the simulator could have made of the same
        theta. Learning from parts makes many pairs of few; but where theta drives how many members there are, it would
        teach that it does not. Ranks of theta, and their distances from the middle, tell.
        """
        size = np.isfinite(y).all(axis=2).sum(axis=1)
        if size.min() == size.max():
            return None
        ranks = rankdata(theta, axis=0) / len(theta) - 0.5
        tests = [spearmanr(size, column).pvalue for column in np.hstack([ranks, np.abs(ranks)]).T]
        return int(size.min()) if min(tests) * len(tests) > SIZE_SAYS_SOMETHING else None


NETWORKS: dict[str, type[SummaryNetwork]] = {"network": VectorNetwork, "set": SetNetwork, "series": SeriesNetwork}
SUMMARIES: dict[str, type[LearntSummary]] = {"network": VectorSummary, "set": SetSummary, "series": SeriesSummary}


def as_summary(summary: str | Callable[[Any], Any] | None) -> Summary:
    """The summary that users pass: None, a function, or the name of a network.

    Example:
        >>> type(as_summary("set")).__name__
        'SetSummary'
    """
    if summary is None or callable(summary):
        return Summary(summary)
    if not isinstance(summary, str):
        raise InvalidInput(f"summary must be None, a function or one of {', '.join(LEARNT)}, got {summary!r}")
    return SUMMARIES[check_choice(summary, "summary", LEARNT)]()


def restore_summary(state: State) -> Summary:
    """The summary that a state describes."""
    tail = state.typed("tail", tuple[int, ...])
    if not 1 <= len(tail) <= 2 or not 1 <= np.prod(tail, dtype=float) <= LARGEST_OBSERVATION or min(tail) < 1:
        raise UnreadableFile(f"observations in the model file must have a shape, got {tail}; {FOREIGN}")
    if "kind" not in state.values:
        plain = Summary()
        plain.tail_ = tail
        return plain
    kind = state.choice("kind", LEARNT)
    learnt = SUMMARIES[kind]()
    learnt.tail_ = tail
    is_series = kind == "series"
    if len(tail) != 1 + is_series or (is_series and tail[0] < 2 * KERNEL):
        raise UnreadableFile(f"observations in the model file must suit summary={kind!r}, got {tail}; {FOREIGN}")
    n_inputs, n_learnt = len(state.array("center", tail[-1:])), len(state.array("last.weight", (None, None)))
    sizes: tuple[int, ...] = n_inputs, n_learnt
    if kind == "set":
        sizes = n_inputs, n_learnt, int((state.array("floor", (n_inputs,)) > 0).sum())
    with torch.device("meta"):  # shapes alone, before memory is set aside for them
        shapes = {name: tuple(part.shape) for name, part in NETWORKS[kind](*sizes).state_dict().items()}
    kept = {name: torch.as_tensor(state.array(name, shape)) for name, shape in shapes.items()}
    state.array("scale", positive=True)
    learnt.network_ = NETWORKS[kind](*sizes)
    learnt.network_.load_state_dict(kept)
    return learnt


def _numbers(y: ArrayLike) -> Array:
    try:
        values = np.asarray(getattr(y, "values", y), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"y must be numbers, each observation of the same shape, got {type(y).__name__}; "
            "sets of different sizes need summary='set'"
        ) from error
    return values if values.flags.writeable else values.copy()  # those of a frame are not, which Torch warns of


def _one_set(y: ArrayLike) -> Array:
    values = _numbers(y)
    return values if values.ndim > 1 else values.reshape(-1, 1)


def _pad(sets: Sequence[Array]) -> Array:
    """Sets (m_i, p) as one array (n, m, p), NaN where a set has no further member."""
    sizes = {each.shape[1] for each in sets}
    if len(sizes) != 1:
        raise InvalidInput(f"y must have sets whose members have as many values, got {sorted(sizes)}")
    out = np.full((len(sets), max(len(each) for each in sets), sizes.pop()), np.nan)
    for row, each in zip(out, sets, strict=True):
        row[: len(each)] = check_finite(each, "y") if len(each) else each
    return out


def _check_sets(sets: Array) -> Array:
    """Sets whose members are whole or missing, none of them empty."""
    gone = np.isnan(sets)
    is_partly = np.asarray(gone.any(axis=2) & ~gone.all(axis=2))
    partly = np.asarray(is_partly.any(axis=1) | np.isinf(sets).any(axis=(1, 2)))
    if partly.any():
        raise InvalidInput(f"y must have members without NaN or infinity, got some in {describe_rows(partly)}")
    empty = np.asarray(gone.all(axis=(1, 2)))
    if empty.any():
        raise InvalidInput(f"y must have at least one member a set, got none in {describe_rows(empty)}")
    return sets


def _finite_observations(values: Array) -> Array:
    if not len(values):
        raise InvalidInput(f"y must have at least one observation, got none: shape {values.shape}")
    bad = np.asarray(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))
    if bad.any():
        raise InvalidInput(
            f"y must be finite, got NaN or infinity in {describe_rows(bad)}; "
            "leave the value out of the simulations too, or fill it in"
        )
    return values


def _shape(tail: tuple[int, ...]) -> str:
    return f"{tail[0]} value{'s' if tail[0] != 1 else ''}" if len(tail) == 1 else f"shape {tail}"
