"""Networks that summarise observations: of a vector, of a set of any size, of a series; with what is known to matter.

Sets are pooled by means over their members, so that the order does not matter, and the number of members is a summary
of its own; series by means over time. Learnt summaries come first, known ones behind them. How they are trained:
`summary_training`.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import silu

from genbayes.arrays import BoolArray
from genbayes.inference.scales import SKEWED, skewness

Array = np.ndarray[Any, np.dtype[np.float64]]
N_HIDDEN = 64
N_ORDERS = 3  # orders of the autoregressions whose coefficients are summaries of a series
KERNEL = 5  # time points that a convolution sees at once
SMALLEST_SPREAD = 1e-6  # share of the typical spread that stands for none, where its logarithm is taken


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
