"""Minimise a loss over mini-batches, for all ensemble members at once; knows no model.

AdamW in one fused kernel, a linear warm-up, then cosine annealing (paper section 3.3). Each member draws its rows
with its own generator and its loss touches only its own weights, so the sum of the losses trains every member as
if it were alone. A held-out score, if given, is watched per member and the best weights of each are kept; members that
are still improving at the end may go on, twice as long.

For a small network the calls cost more than the arithmetic: ten parameters take an optimiser several times as long as
one of the same total size. So all weights are one tensor, and the network's own parameters are windows onto it. The
running mean of the weights along the run is as good as a run that had been annealed just then (Polyak), so the moment
to stop can be found without knowing the length in advance.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from genbayes.arrays import FloatArray
from genbayes.deadline import require_time
from genbayes.errors import TrainingDiverged
from genbayes.progress import Report

Objective = Callable[[Tensor], Tensor]
HeldOut = Callable[[], tuple[Tensor, Tensor]]

N_NOTES = 200  # points of the training curve
SMALLEST_GAIN = 1e-4  # a held-out score must fall by this share to count as an improvement
STILL_FALLING = 0.03  # share of a held-out score that is gained in the second half of a run that ended too soon: noisy
# responses gain at most 2% there, many runs of little noise 10%


@dataclass(frozen=True)
class TrainingSettings:
    """How long, how fast and in what portions a network is trained.

    Attributes:
        n_epochs: Passes over the rows, at most.
        batch_size: Rows of a mini-batch; None for the full batch.
        learning_rate: Peak rate of Adam.
        weight_decay: Decoupled decay of AdamW; 0 is plain Adam.
        warmup: Share of the steps over which the rate rises linearly; it falls along a cosine to zero.
        averaging: Decay of the running mean of the weights that is scored and kept; 0 keeps the last weights.
        steps_between_checks: How often held-out rows are scored.
        patience: Checks without improvement after which a member is done; the run stops when all are. None to run
            to the end.
        n_late: Members that are not waited for: the run stops when all but so many are done.
        n_rounds: How many times the run, each time twice as long, may be repeated from where it stands, for members
            whose held-out score is still falling when it ends; 1 for once.
    """

    n_epochs: int
    batch_size: int | None = None
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    warmup: float = 0.0
    averaging: float = 0.0
    steps_between_checks: int = 50
    patience: int | None = None
    n_late: int = 0
    n_rounds: int = 1

    @property
    def most_epochs(self) -> int:
        """Epochs of all rounds together.

        Example:
            >>> TrainingSettings(n_epochs=40, n_rounds=3).most_epochs
            280
        """
        return self.n_epochs * ((1 << self.n_rounds) - 1)


@dataclass(frozen=True)
class History:
    """The course of one training run, averaged over members.

    Attributes:
        epoch: Epochs at which the training loss was noted, shape (e,).
        loss: Mean training loss since the previous note, shape (e,).
        held_out_epoch: Epochs at which held-out rows were scored, shape (h,).
        held_out_crps: CRPS there, on the standardised scale of y, shape (h,).
        seconds: Wall time.
        is_unfinished: Whether held-out scores were still falling fast when the run ended; not kept in files.
    """

    epoch: FloatArray
    loss: FloatArray
    held_out_epoch: FloatArray
    held_out_crps: FloatArray
    seconds: float
    is_unfinished: bool = False


class FlatWeights:
    """One parameter of shape (P,) behind stacked parameters (K, ...), and one gradient behind theirs.

    Example:
        >>> part = torch.nn.Parameter(torch.zeros(2, 3))
        >>> whole = FlatWeights([part])
        >>> part.sum().backward()
        >>> whole.grad
        tensor([1., 1., 1., 1., 1., 1.])
        >>> whole.release()
    """

    def __init__(self, parameters: Sequence[torch.nn.Parameter]) -> None:
        self.parameters = parameters
        self.n_members = parameters[0].shape[0]
        self.flat = torch.nn.Parameter(torch.cat([p.detach().reshape(-1) for p in parameters]))
        self.grad = self.flat.grad = torch.zeros_like(self.flat)
        windows = zip(parameters, self.windows(self.flat.data), self.windows(self.grad), strict=True)
        for parameter, data, grad in windows:
            parameter.data, parameter.grad = data, grad

    def windows(self, flat: Tensor) -> list[Tensor]:
        """A tensor like `flat`, shape (P,), seen as the parameters, each (K, ...)."""
        sizes = [p.numel() for p in self.parameters]
        return [part.view(p.shape) for part, p in zip(flat.split(sizes), self.parameters, strict=True)]

    def release(self) -> None:
        """Give the parameters tensors of their own again, without gradients."""
        for parameter in self.parameters:
            parameter.data = parameter.data.clone()
            parameter.grad = None


class AveragedAdam:
    """AdamW in one fused kernel, and the running mean a <- d a + (1 - d) w of the weights w it leaves behind.

    Early on, d is (1 + t) / (10 + t) after t steps, so that the mean forgets its start.

    Args:
        weights: What is trained.
        weight_decay: Decoupled decay of AdamW; 0 is plain Adam.
        averaging: Decay d of the mean; 0 for none.
        betas: How slowly Adam forgets gradients and their squares.
    """

    def __init__(
        self, weights: FlatWeights, weight_decay: float, averaging: float, betas: tuple[float, float] = (0.9, 0.999)
    ) -> None:
        self.weights = weights
        self.averaging = averaging
        self.optimiser = torch.optim.AdamW([weights.flat], betas=betas, weight_decay=weight_decay, fused=True)
        self.mean = weights.flat.detach().clone() if averaging > 0 else None
        self.n_steps = 0

    def step(self, rate: float) -> None:
        """One step of the optimiser down the gradient that the weights hold."""
        self.optimiser.param_groups[0]["lr"] = rate
        self.optimiser.step()
        if self.mean is not None:
            decay = min(self.averaging, (1 + self.n_steps) / (10 + self.n_steps))
            self.mean.lerp_(self.weights.flat.detach(), 1 - decay)
        self.n_steps += 1

    @torch.no_grad()
    def swap(self) -> None:
        """Put the mean in place of the weights, and the weights in its place; a second call undoes it."""
        if self.mean is not None:
            present = self.weights.flat.detach().clone()
            self.weights.flat.copy_(self.mean)
            self.mean = present


class BestWeights:
    """Held-out scores of each member during a run, and the weights at each member's best.

    Args:
        weights: What is trained.
        patience: Checks without improvement after which a member is done; None for never.
        n_late: Members that are not waited for once all others are done.

    Attributes:
        seen: Epoch and scores, shape (K,), of each check.
        best: Best score of each member so far, shape (K,); None before the first check.
        row_scores: Scores of the held-out rows at each member's best, shape (K, a).
    """

    def __init__(self, weights: FlatWeights, patience: int | None, n_late: int = 0) -> None:
        self.weights = weights
        self.patience = patience
        self.n_late = n_late
        self.best: Tensor | None = None
        self.row_scores: Tensor | None = None
        self.kept = weights.flat.detach().clone()
        self.stale = torch.zeros(weights.n_members, dtype=torch.int64)
        self.is_done = torch.zeros(weights.n_members, dtype=torch.bool)
        self.seen: list[tuple[float, Tensor]] = []

    @torch.no_grad()
    def note(self, scores: Tensor, row_weight: Tensor, epoch: float) -> bool:
        """Keep what improved, and say whether patience has run out for all members that are waited for.

        A member whose own patience has run out is done, whatever happens while others go on: what is kept of it does
        not depend on them.

        Args:
            scores: Scores of each member at its held-out rows, shape (K, a).
            row_weight: Weights of these rows, shape (K, a).
            epoch: Where the run stands.
        """
        score = (row_weight * scores).sum(dim=1) / row_weight.sum(dim=1)
        self.seen.append((epoch, score.cpu()))
        if self.best is None or self.row_scores is None:
            self.best, self.row_scores = torch.full_like(score, torch.inf), scores.clone()
        enough = self.best * torch.where(self.best > 0, 1 - SMALLEST_GAIN, 1 + SMALLEST_GAIN)  # scores may be negative
        better = (score < enough) & ~self.is_done.to(score.device)
        self.best = torch.where(better, score, self.best)
        present = self.weights.windows(self.weights.flat.detach())
        for kept, now in zip(self.weights.windows(self.kept), present, strict=True):
            kept[better] = now[better]
        self.row_scores[better] = scores[better]
        self.stale = torch.where(better.cpu(), 0, self.stale + 1)
        if self.patience is not None:
            self.is_done |= self.stale >= self.patience
        return int((~self.is_done).sum()) <= self.n_late

    def best_at(self, epoch: float) -> float:
        """Mean over members of the best score up to an epoch; infinity before the first check."""
        scores = [score for seen_at, score in self.seen if seen_at <= epoch]
        return float(torch.stack(scores).amin(dim=0).mean()) if scores else math.inf

    def should_go_on(self, middle: float) -> bool:
        """Whether any member's best score is still falling since the epoch in the middle; the others are done."""
        scores = torch.stack([score for _, score in self.seen])
        until_middle = sum(epoch <= middle for epoch, _ in self.seen)
        if until_middle == 0:
            return False
        fall = 1 - scores.amin(dim=0) / scores[:until_middle].amin(dim=0)
        self.is_done |= ~(fall > STILL_FALLING)
        return not bool(self.is_done.all())

    @torch.no_grad()
    def restore(self) -> None:
        """Put each member's best weights back, if any were scored."""
        if self.best is not None:
            self.weights.flat.copy_(self.kept)


class Training:
    """A run that can be advanced bit by bit, so that several can be raced.

    Args:
        objective: Row numbers, shape (K, b), to the loss of each member, shape (K,), whose gradient it adds to that of
            the parameters; `differentiate` makes one of any loss.
        parameters: Stacked weights, members along the first axis.
        learn: Row numbers that each member learns from, of equal length.
        settings: Length, rate and portions of the run.
        generators: One per member, for its order of rows.
        held_out: Scores of each member at the rows it holds out, and their weights, each (K, a); the best weights of
            each member are kept.
        report: Called with (step, steps, loss) now and then.
    """

    def __init__(
        self,
        objective: Objective,
        parameters: Sequence[torch.nn.Parameter],
        learn: Sequence[Tensor],
        settings: TrainingSettings,
        generators: Sequence[torch.Generator],
        *,
        held_out: HeldOut | None = None,
        report: Report | None = None,
    ) -> None:
        self.objective, self.settings, self.held_out, self.report = objective, settings, held_out, report
        self.weights = FlatWeights(parameters)
        self.adam = AveragedAdam(self.weights, settings.weight_decay, settings.averaging)
        self.best = BestWeights(self.weights, settings.patience, settings.n_late)
        self.batches = draw_batches(learn, settings.batch_size, generators, self.weights.flat.device)
        size = settings.batch_size
        self.per_epoch = 1 if size is None else max(1, math.ceil(max(len(rows) for rows in learn) / size))
        self.notes: list[tuple[float, float]] = []
        self.n_steps, self.end_of_round = 0, 0  # steps done so far; epoch at which the present round ends
        self.is_unfinished = False  # whether held-out scores were still falling at the end of a round
        self.seconds = 0.0

    @property
    def epoch(self) -> float:
        """Passes over the rows so far."""
        return self.n_steps / self.per_epoch

    def laps(self) -> Iterator[None]:
        """Minimise in place, pausing after every check of the held-out rows."""
        for number in range(self.settings.n_rounds):
            begin, n_epochs = self.end_of_round, self.settings.n_epochs * 2**number
            self.end_of_round = begin + n_epochs
            yield from self._round(n_epochs * self.per_epoch)
            self.is_unfinished = self.held_out is not None and self.best.should_go_on(begin + n_epochs / 2)
            if not self.is_unfinished:
                return

    def _round(self, n_steps: int) -> Iterator[None]:
        """One warm-up and cosine of so many steps."""
        done, steps_between, settings = self.n_steps, max(1, n_steps // N_NOTES), self.settings
        total = torch.zeros((), device=self.weights.flat.device)  # of the losses since the last note
        started = time.perf_counter()
        for step in range(1, n_steps + 1):
            require_time()
            self.weights.grad.zero_()
            total += self.objective(next(self.batches)).sum()
            self.adam.step(rate_at(step - 1, n_steps, settings))
            self.n_steps, is_last = done + step, step == n_steps
            if is_last or step % steps_between == 0:
                mean = float(total) / (step % steps_between or steps_between) / self.weights.n_members
                _require_finite(mean, self.n_steps, done + n_steps)
                self.notes.append((self.epoch, mean))
                total.zero_()
                if self.report is not None:
                    self.report(self.n_steps, done + n_steps, mean)
            if self.held_out is not None and (is_last or step % settings.steps_between_checks == 0):
                self.adam.swap()
                is_over = self.best.note(*self.held_out(), self.epoch)
                self.adam.swap()
                self.seconds += time.perf_counter() - started
                yield
                started = time.perf_counter()
                if is_over:
                    return
        self.seconds += time.perf_counter() - started

    def finish(self) -> History:
        """Restore each member's best weights, and say how it went."""
        self.adam.swap()
        self.best.restore()
        self.weights.release()
        checks = [(epoch, float(score.mean())) for epoch, score in self.best.seen]
        (at, losses), (checked_at, scores) = (np.reshape(np.array(p), (-1, 2)).T for p in (self.notes, checks))
        return History(at, losses, checked_at, scores, self.seconds, self.is_unfinished)


def minimise(
    objective: Objective,
    parameters: Sequence[torch.nn.Parameter],
    learn: Sequence[Tensor],
    settings: TrainingSettings,
    generators: Sequence[torch.Generator],
    *,
    held_out: HeldOut | None = None,
    report: Report | None = None,
) -> History:
    """Minimise in place, from beginning to end, and say how it went; arguments as those of `Training`."""
    training = Training(objective, parameters, learn, settings, generators, held_out=held_out, report=report)
    for _ in training.laps():
        pass
    return training.finish()


def differentiate(loss: Callable[[Tensor], Tensor]) -> Objective:
    """The objective of any loss, rows (K, b) -> (K,), by automatic differentiation."""

    def objective(batch: Tensor) -> Tensor:
        value = loss(batch)
        value.sum().backward()
        return value.detach()

    return objective


def _require_finite(loss: float, step: int, n_steps: int) -> None:
    if not math.isfinite(loss):
        raise TrainingDiverged(
            f"the training loss must stay finite, got {loss} at step {step} of {n_steps}; "
            "try a smaller learning_rate, or look for extreme values in X and y"
        )


def rate_at(step: int, n_steps: int, settings: TrainingSettings) -> float:
    """Learning rate of a step: linear warm-up times cosine annealing.

    Example:
        >>> rate_at(0, 100, TrainingSettings(n_epochs=1, learning_rate=0.001))
        0.001
    """
    warm = min(1.0, (step + 1) / max(1.0, settings.warmup * n_steps))
    return settings.learning_rate * warm * 0.5 * (1 + math.cos(math.pi * step / n_steps))


def choose_batch_size(n: int, smallest: int, largest: int) -> int:
    """Rows of a mini-batch: a power of two near n / 16, within limits.

    Example:
        >>> [choose_batch_size(n, 128, 1024) for n in (100, 2_000, 9_000, 90_000)]
        [128, 128, 512, 1024]
    """
    return int(np.clip(2 ** round(math.log2(max(n, 2) / 16)), smallest, largest))


def draw_batches(
    learn: Sequence[Tensor], batch_size: int | None, generators: Sequence[torch.Generator], device: torch.device
) -> Iterator[Tensor]:
    """Row numbers of one mini-batch after another, shape (K, b), without end.

    A member sees each of its rows once per epoch; a short last batch is filled from the next epoch. Without a batch
    size, or with one as large as the rows, every batch is all of them, in order. A member that has fewer rows than
    others sees some of them twice in an epoch, others each time.

    Args:
        learn: Row numbers that each member learns from.
        batch_size: Rows of a mini-batch.
        generators: One per member, for its order.
        device: Where the row numbers are needed.

    Example:
        >>> next(draw_batches([torch.arange(3)], None, [torch.Generator()], torch.device("cpu")))
        tensor([[0, 1, 2]])
    """
    most = max(len(rows) for rows in learn)
    batch_size = most if batch_size is None else min(batch_size, most)
    if batch_size == most and all(len(rows) == most for rows in learn):
        everything = torch.stack(list(learn)).to(device)
        while True:
            yield everything
    waiting = torch.empty(len(learn), 0, dtype=torch.int64)
    while True:
        if waiting.shape[1] < batch_size:
            orders = [_shuffled(rows, most, generator) for rows, generator in zip(learn, generators, strict=True)]
            waiting = torch.cat([waiting, torch.stack(orders)], dim=1)
        yield waiting[:, :batch_size].to(device)
        waiting = waiting[:, batch_size:]


def _shuffled(rows: Tensor, size: int, generator: torch.Generator) -> Tensor:
    """All rows in random order, (n,) -> (size,); where they are fewer, some of them again."""
    orders = [rows.take(torch.randperm(len(rows), generator=generator)) for _ in range(math.ceil(size / len(rows)))]
    return orders[0] if len(rows) == size else torch.cat(orders)[:size]
