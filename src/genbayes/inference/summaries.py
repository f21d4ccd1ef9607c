"""Summaries S(y): what the transport sees of an observation (paper, Supplement B).

Nothing (y itself), the user's function, or a network that is learnt: of a vector, of a set of independent observations
of any size, or of a series. A learnt network is trained together with a chain, so that it keeps what the posterior
needs; then it is frozen. Sets are pooled by means over their members, so that the order does not matter, and the number
of members is a summary of its own; series by means over time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.stats import rankdata, spearmanr
from torch import Tensor
from torch.nn.functional import silu

from genbayes.arrays import BoolArray, FloatArray
from genbayes.errors import InvalidInput, UnreadableFile
from genbayes.inference.scales import SKEWED, skewness
from genbayes.persistence import FOREIGN, State
from genbayes.validation import check_choice, check_finite, describe_rows

Array = np.ndarray[Any, np.dtype[np.float64]]
LEARNT = ("network", "set", "series")
ROWS_AT_ONCE = 1_024  # observations that pass through a summary network together
N_HIDDEN = 64
N_ORDERS = 3  # orders of the autoregressions whose coefficients are summaries of a series
KERNEL = 5  # time points that a convolution sees at once
SHARE_WHOLE = 0.2  # of sets that are learnt from as they are; of the others a part
SIZE_SAYS_SOMETHING = 0.01  # p-value, after Bonferroni, from which on sizes of sets are taken to depend on theta
SMALLEST_SPREAD = 1e-6  # share of the typical spread that stands for none, where its logarithm is taken
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


class SummaryNetwork(torch.nn.Module):
    """Observations to learnt summaries, with what is known to matter beside them; scales are kept as buffers.

    Where what is known says all, learnt summaries are but noise: `learns` is 0 then, and they are left out.
    """

    center: Tensor
    scale: Tensor
    learns: Tensor
    n_known = 0
    may_leave_out = False  # whether it is asked if learnt summaries say more than known ones

    @classmethod
    def of(cls, y: Array, n_learnt: int, generator: torch.Generator) -> Self:
        """A network with random weights for observations like y, (n, ...)."""
        center = np.nanmean(y, axis=tuple(range(y.ndim - 1)))
        scale = np.nanstd(y, axis=tuple(range(y.ndim - 1)))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(torch.randint(2**62, (1,), generator=generator)))
            network = cls._untrained(y, n_learnt)
        network.center.copy_(torch.as_tensor(center))
        network.scale.copy_(torch.as_tensor(np.where(scale > 0, scale, 1.0)))
        return network

    @classmethod
    def _untrained(cls, y: Array, n_learnt: int) -> Self:
        return cls(y.shape[-1], n_learnt)

    def __init__(self, n_inputs: int, n_learnt: int) -> None:
        super().__init__()
        self.register_buffer("center", torch.zeros(n_inputs))
        self.register_buffer("scale", torch.ones(n_inputs))
        self.register_buffer("learns", torch.ones(1))
        self.n_inputs, self.n_learnt = n_inputs, n_learnt

    @property
    def n_outputs(self) -> int:
        """Number of summaries."""
        return self.n_known + (self.n_learnt if self.learns else 0)

    def both(self, learnt: Tensor, known: Tensor) -> Tensor:
        """Known summaries, after the learnt ones where these say more."""
        return torch.cat([learnt, known], dim=1) if self.learns else known

    def prepare(self, y: Array) -> Tensor:
        """Observations on the scale of the network, in single precision."""
        return ((torch.as_tensor(np.ascontiguousarray(y)) - self.center) / self.scale).float()


class VectorNetwork(SummaryNetwork):
    """q learnt summaries of a vector, (n, p) -> (n, q), by a perceptron with a linear way past it."""

    def __init__(self, n_inputs: int, n_learnt: int) -> None:
        super().__init__(n_inputs, n_learnt)
        self.first = torch.nn.Linear(n_inputs, 2 * N_HIDDEN)
        self.second = torch.nn.Linear(2 * N_HIDDEN, 2 * N_HIDDEN)
        self.last = torch.nn.Linear(2 * N_HIDDEN, n_learnt)
        self.past = torch.nn.Linear(n_inputs, n_learnt, bias=False)

    def forward(self, y: Tensor) -> Tensor:
        """Summaries, (n, p) -> (n, q)."""
        y = y.clamp(-10, 10)
        h = silu(self.first(y))
        learnt: Tensor = self.last(h + silu(self.second(h))) + self.past(y)
        return learnt


class SetNetwork(SummaryNetwork):
    """Pooled summaries of sets, (n, m, p) with NaN for missing members -> (n, q + 4 c + 2 l + 1).

    Columns are the p values of a member, and the logarithms of those l that are positive and skewed, c = p + l of them.
    Beside q learnt summaries: log of the number of members; mean, log standard deviation, median and log mean distance
    from it of each column; log mean of the l positive ones, and how far it is above the mean logarithm, as a logarithm.
    """

    may_leave_out = True
    floor: Tensor
    log_center: Tensor
    log_scale: Tensor

    @classmethod
    def of(cls, y: Array, n_learnt: int, generator: torch.Generator) -> Self:
        """A network with random weights for sets like y, (n, m, p)."""
        network = super().of(y, n_learnt, generator)
        lowest = np.nanmin(y, axis=(0, 1))
        logged = _skewed_columns(y)
        network.floor.copy_(torch.as_tensor(np.where(logged, lowest, 0.0)))
        if logged.any():
            log = np.log(y[..., logged])
            network.log_center.copy_(torch.as_tensor(np.nanmean(log, axis=(0, 1))))
            network.log_scale.copy_(torch.as_tensor(np.nanstd(log, axis=(0, 1))))
        return network

    @classmethod
    def _untrained(cls, y: Array, n_learnt: int) -> Self:
        return cls(y.shape[-1], n_learnt, int(_skewed_columns(y).sum()))

    def __init__(self, n_inputs: int, n_learnt: int, n_logged: int = 0) -> None:
        super().__init__(n_inputs, n_learnt)
        self.register_buffer("floor", torch.zeros(n_inputs, dtype=torch.float64))  # 0 where no logarithm is taken
        self.register_buffer("log_center", torch.zeros(n_logged))
        self.register_buffer("log_scale", torch.ones(n_logged))
        n_columns = n_inputs + n_logged
        self.n_known = 4 * n_columns + 2 * n_logged + 1
        half = N_HIDDEN // 2
        self.of_member = torch.nn.Linear(n_columns, half)
        self.second = torch.nn.Linear(half, half)
        self.third = torch.nn.Linear(half + self.n_known, N_HIDDEN)
        self.last = torch.nn.Linear(N_HIDDEN, n_learnt)

    def prepare(self, y: Array) -> Tensor:
        """Columns on the scale of the network, in single precision, (n, m, p) -> (n, m, c)."""
        logged = self.floor > 0
        log = torch.log(torch.as_tensor(np.ascontiguousarray(y))[..., logged].clamp_min(self.floor[logged]))
        return torch.cat([super().prepare(y), ((log - self.log_center) / self.log_scale).float()], dim=2)

    def forward(self, y: Tensor) -> Tensor:
        """Summaries, the same whatever the order of the members."""
        there = torch.isfinite(y).all(dim=2, keepdim=True)
        y = y[:, : int(there.sum(dim=1).max()) if _is_packed(there) else y.shape[1]]
        is_there = there[:, : y.shape[1]]
        there = is_there.to(y.dtype)
        median = _medians(y, is_there)
        y = torch.nan_to_num(y, nan=0.0) * there
        count = there.sum(dim=1)
        mean = y.sum(dim=1) / count
        spread = torch.sqrt((((y - mean[:, None]) * there) ** 2).sum(dim=1) / count + SMALLEST_SPREAD**2)
        distance = ((y - median[:, None]).abs() * there).sum(dim=1) / count + SMALLEST_SPREAD
        moments = [torch.log(count), mean, torch.log(spread), median, torch.log(distance)]
        known = torch.cat([*moments, *self._logarithms(mean)], dim=1)
        h = silu(self.of_member(y.clamp(-10, 10)))
        pooled = ((h + silu(self.second(h))) * there).sum(dim=1) / count
        return self.both(self.last(silu(self.third(torch.cat([pooled, known], dim=1)))), known)

    def _logarithms(self, mean: Tensor) -> tuple[Tensor, Tensor]:
        """Log means of positive columns, scaled, and logs of how far they are above mean logarithms, each (n, l)."""
        logged = self.floor > 0
        raw = mean[:, : self.n_inputs][:, logged] * self.scale[logged] + self.center[logged]
        log_mean = (torch.log(raw.clamp_min(self.floor[logged].to(mean.dtype))) - self.log_center) / self.log_scale
        gap = (log_mean - mean[:, self.n_inputs :]).clamp_min(0) + SMALLEST_SPREAD
        return log_mean, torch.log(gap)


class SeriesNetwork(SummaryNetwork):
    """Pooled summaries of series, (n, T, c) -> (n, q + 8 c).

    Each series is standardised by its own mean and spread, which are summaries themselves, as are the coefficients of
    its autoregressions of order 1 to 3. Means over time of products of two convolutions learn other correlations;
    those of a deep convolution catch the rest.
    """

    def __init__(self, n_inputs: int, n_learnt: int) -> None:
        super().__init__(n_inputs, n_learnt)
        self.n_known = 8 * n_inputs
        half = N_HIDDEN // 2
        self.left = torch.nn.Conv1d(n_inputs, half, KERNEL)
        self.right = torch.nn.Conv1d(n_inputs, half, KERNEL)
        self.second = torch.nn.Conv1d(half, half, KERNEL, stride=2)
        n_pooled = 2 * half + 8 * n_inputs
        self.third = torch.nn.Linear(n_pooled, N_HIDDEN)
        self.last = torch.nn.Linear(N_HIDDEN, n_learnt)
        self.past = torch.nn.Linear(n_pooled, n_learnt, bias=False)

    def forward(self, y: Tensor) -> Tensor:
        """Summaries of scaled series."""
        mean = y.mean(dim=1)
        spread = torch.sqrt(((y - mean[:, None]) ** 2).mean(dim=1) + SMALLEST_SPREAD**2)
        z = ((y - mean[:, None]) / spread[:, None]).mT  # (n, c, T)
        left, right = self.left(z), self.right(z)
        deep = silu(self.second(silu(left)))
        known = torch.cat([mean.clamp(-10, 10), torch.log(spread), autoregressions(y, N_ORDERS)], dim=1)
        pooled = torch.cat([(left * right).mean(dim=2), deep.mean(dim=2), known], dim=1)
        learnt = self.last(silu(self.third(pooled))) + self.past(pooled)
        return self.both(learnt, known)


def autoregressions(y: Tensor, n_orders: int) -> Tensor:
    """Least-squares coefficients of autoregressions of order 1 to h of each channel, (n, T, c) -> (n, h (h+1) c / 2).

    Before its first point a series counts as 0, the mean of all series, so that no point is left out.

    Example:
        >>> autoregressions(torch.tensor([[1.0, -1.0] * 50]).unsqueeze(2), 1).round(decimals=2)
        tensor([[-1.]])
    """
    T, z = y.shape[1], torch.nn.functional.pad(y.mT, (n_orders, 0))  # (n, c, h + T)
    past = torch.stack(
        [z[..., n_orders - lag : n_orders - lag + T] for lag in range(n_orders + 1)], dim=2
    )  # lags 0, ..., h
    gram = past @ past.mT
    found = []
    for order in range(1, n_orders + 1):
        own = gram[..., 1 : order + 1, 1 : order + 1]
        ridge = 1e-4 * own.diagonal(dim1=-2, dim2=-1).mean(dim=-1)[..., None, None] + 1e-12
        found.append(torch.linalg.solve(own + ridge * torch.eye(order), gram[..., 1 : order + 1, :1])[..., 0])
    return torch.cat(found, dim=2).flatten(1)


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


def draw_parts(y: Tensor, smallest: int, share_whole: float, generator: torch.Generator) -> Tensor:
    """A random part of each set, its size log-uniform up to that of the set; some stay whole, (n, m, p) -> (n, m, p).

    Example:
        >>> part = draw_parts(torch.arange(8.0).view(1, 8, 1), 2, 0.0, torch.Generator().manual_seed(0))
        >>> bool(2 <= torch.isfinite(part).sum() <= 8)
        True
    """
    n, m, _ = y.shape
    there = torch.isfinite(y).all(dim=2)
    place = torch.rand(n, m, generator=generator).masked_fill(~there, 2.0).argsort(dim=1)  # missing ones come last
    count = there.sum(dim=1)
    part = smallest * ((count + 1) / smallest) ** torch.rand(n, generator=generator)
    is_whole = torch.rand(n, generator=generator) < share_whole
    size = torch.where(is_whole, count, torch.minimum(part.long(), count))
    shuffled = y.gather(1, place[..., None].expand_as(y))
    gone = torch.arange(m) >= size[:, None]
    return shuffled.masked_fill(gone[..., None], torch.nan)


def _numbers(y: ArrayLike) -> Array:
    try:
        return np.asarray(getattr(y, "values", y), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"y must be numbers, each observation of the same shape, got {type(y).__name__}; "
            "sets of different sizes need summary='set'"
        ) from error


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


def _medians(y: Tensor, there: Tensor) -> Tensor:
    """Medians of the members that are there, (n, m, c) and (n, m, 1) -> (n, c)."""
    order = torch.where(there, y, torch.inf).sort(dim=1).values
    count = there.sum(dim=1)[..., None]  # (n, 1, 1)
    below, above = (order.gather(1, at.expand(-1, 1, y.shape[2]))[:, 0] for at in ((count - 1) // 2, count // 2))
    return (below + above) / 2


def _skewed_columns(y: Array) -> BoolArray:
    """Which values of a member are positive and skewed, whose logarithms are looked at, too, (n, m, p) -> (p,)."""
    columns = y.reshape(-1, y.shape[-1])
    columns = columns[np.isfinite(columns).all(axis=1)]
    return np.array([bool(column.min() > 0 and skewness(column) > SKEWED) for column in columns.T], dtype=bool)


def _is_packed(there: Tensor) -> bool:
    """Whether missing members all come last, so that the tail of the array can be cut off."""
    return bool((there[:, :-1] | ~there[:, 1:]).all())


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
