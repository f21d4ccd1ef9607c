"""Minimise a loss over mini-batches, for all ensemble members at once; knows no model.

AdamW in one fused kernel, a linear warm-up, then cosine annealing (paper section 3.3). Each member draws its rows
with its own generator and its loss touches only its own weights, so the sum of the losses trains every member as
if it were alone. A held-out score, if given, is watched per member and the best weights of each are kept; members that
are still improving at the end may go on, twice as long.
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
from genbayes.training.averaging import AveragedWeights, BestWeights, FlatWeights
from genbayes.training.threads import ThreadChooser


@dataclass(frozen=True)
class History:
    """The course of one training run, averaged over members.

    Attributes:
        epoch: Epochs at which the training loss was noted, shape (e,).
        loss: Mean training loss since the previous note, shape (e,).
        held_out_epoch: Epochs at which held-out rows were scored, shape (h,).
        held_out_crps: CRPS there, on the standardised scale of y, shape (h,).
        seconds: Wall time.
        n_threads: Threads that a few timed steps found quickest.
        is_unfinished: Whether held-out scores were still falling fast when the run ended; not kept in files.
    """

    epoch: FloatArray
    loss: FloatArray
    held_out_epoch: FloatArray
    held_out_crps: FloatArray
    seconds: float
    n_threads: int
    is_unfinished: bool = False


def draw_batches(
    learn: Sequence[Tensor], batch_size: int | None, generators: Sequence[torch.Generator], device: torch.device
) -> Iterator[Tensor]:
    """Row numbers of one mini-batch after another, shape (K, b), without end.

    A member sees each of its rows once per epoch; a short last batch is filled from the next epoch. Without a batch
    size, or with one as large as the rows, every batch is all of them, in order.

    Args:
        learn: Row numbers that each member learns from, of equal length.
        batch_size: Rows of a mini-batch.
        generators: One per member, for its order.
        device: Where the row numbers are needed.

    Example:
        >>> next(draw_batches([torch.arange(3)], None, [torch.Generator()], torch.device("cpu")))
        tensor([[0, 1, 2]])
    """
    everything = torch.stack(list(learn))
    if batch_size is None or batch_size >= everything.shape[1]:
        everything = everything.to(device)
        while True:
            yield everything
    waiting = torch.empty(len(learn), 0, dtype=torch.int64)
    while True:
        if waiting.shape[1] < batch_size:
            orders = [rows[torch.randperm(len(rows), generator=g)] for rows, g in zip(learn, generators, strict=True)]
            waiting = torch.cat([waiting, torch.stack(orders)], dim=1)
        yield waiting[:, :batch_size].to(device)
        waiting = waiting[:, batch_size:]


@dataclass(frozen=True)
class TrainingSettings:
    """One training run.

    Attributes:
        n_epochs: Passes over the rows, at most.
        batch_size: Rows of a mini-batch; None for the full batch.
        learning_rate: Peak rate of Adam.
        weight_decay: Decoupled decay of AdamW; 0 is plain Adam.
        warmup: Share of the steps over which the rate rises linearly; it falls along a cosine to zero.
        averaging: Decay of the running mean of the weights that is scored and kept; 0 keeps the last weights.
        steps_between_checks: How often rows kept aside are scored.
        patience: Checks without improvement after which a member is done; the run stops when all are. None to run
            to the end.
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
    n_rounds: int = 1

    @property
    def most_epochs(self) -> int:
        """Epochs of all rounds together.

        Example:
            >>> TrainingSettings(n_epochs=40, n_rounds=3).most_epochs
            280
        """
        return self.n_epochs * ((1 << self.n_rounds) - 1)


N_NOTES = 200  # points of the training curve


def rate_at(step: int, n_steps: int, settings: TrainingSettings) -> float:
    """Learning rate of a step: linear warm-up times cosine annealing.

    Example:
        >>> rate_at(0, 100, TrainingSettings(n_epochs=1, learning_rate=0.001))
        0.001
    """
    warm = min(1.0, (step + 1) / max(1.0, settings.warmup * n_steps))
    return settings.learning_rate * warm * 0.5 * (1 + math.cos(math.pi * step / n_steps))


def minimise(
    loss: Callable[[Tensor], Tensor],
    parameters: Sequence[torch.nn.Parameter],
    learn: Sequence[Tensor],
    settings: TrainingSettings,
    generators: Sequence[torch.Generator],
    *,
    held_out: Callable[[], Tensor] | None = None,
    report: Report | None = None,
) -> History:
    """Minimise `loss` in place and tell how it went.

    Args:
        loss: Row numbers, shape (K, b), to the loss of each member, shape (K,).
        parameters: Stacked weights, members along the first axis.
        learn: Row numbers that each member learns from, of equal length.
        settings: Length, rate and portions of the run.
        generators: One per member, for its order of rows.
        held_out: Score of each member on rows kept aside, shape (K,); the best weights of each are restored.
        report: Called with (step, steps, loss) now and then.
    """
    weights = FlatWeights(parameters)
    run = _Run(weights, len(learn[0]), settings)
    batches = draw_batches(learn, settings.batch_size, generators, parameters[0].device)
    average, best = AveragedWeights(weights.flat, settings.averaging), BestWeights(weights, settings.patience)
    with ThreadChooser() as threads:
        for n_epochs in (settings.n_epochs * 2**number for number in range(settings.n_rounds)):
            run.begin(n_epochs)
            is_unfinished = _run_round(run, loss, batches, average, best, threads, held_out, report)
            if not is_unfinished:
                break
    average.adopt()
    best.restore()
    weights.release()
    return run.history(best, threads.chosen, is_unfinished)


def _run_round(
    run: _Run,
    loss: Callable[[Tensor], Tensor],
    batches: Iterator[Tensor],
    average: AveragedWeights,
    best: BestWeights,
    threads: ThreadChooser,
    held_out: Callable[[], Tensor] | None,
    report: Report | None,
) -> bool:
    """One warm-up and annealing; whether members are still improving at its end."""
    for _ in range(run.n_steps):
        require_time()
        with threads.step():
            run.descend(loss(next(batches)).sum())
            average.update()
        if run.is_time_to_note():
            run.note(report)
        if held_out is not None and run.is_time_to_check():
            with average.in_place():
                is_over = best.note(held_out(), run.epoch)
            if is_over:
                return False
    return held_out is not None and best.should_go_on(run.epoch_of_middle)


class _Run:
    """The optimiser, the clock and the notes of one run, round by round."""

    def __init__(self, weights: FlatWeights, n_rows: int, settings: TrainingSettings) -> None:
        self.settings = settings
        self.gradient = weights.grad
        self.n_members = weights.n_members
        self.per_epoch = 1 if settings.batch_size is None else max(1, math.ceil(n_rows / settings.batch_size))
        self.step = self.first = self.n_steps = 0  # steps done, done before this round, and of this round
        self.optimiser = torch.optim.AdamW(
            [weights.flat], lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True
        )
        self.since = torch.zeros((), device=weights.flat.device)
        self.noted_at = 0
        self.notes: list[tuple[float, float]] = []
        self.started = time.perf_counter()

    def begin(self, n_epochs: int) -> None:
        """A round of so many epochs."""
        self.first, self.n_steps = self.step, n_epochs * self.per_epoch

    @property
    def epoch(self) -> float:
        """Epochs done."""
        return self.step / self.per_epoch

    @property
    def epoch_of_middle(self) -> float:
        """Epoch in the middle of this round."""
        return (self.first + self.n_steps / 2) / self.per_epoch

    def descend(self, value: Tensor) -> None:
        """One step of the optimiser down the gradient of `value`."""
        self.optimiser.param_groups[0]["lr"] = rate_at(self.step - self.first, self.n_steps, self.settings)
        self.gradient.zero_()
        value.backward()
        self.optimiser.step()
        self.since += value.detach()
        self.step += 1

    def is_time_to_note(self) -> bool:
        """Whether a point of the training curve is due."""
        return (self.step - self.first) % max(1, self.n_steps // N_NOTES) == 0 or self._is_end()

    def is_time_to_check(self) -> bool:
        """Whether rows kept aside are to be scored; always at the end, so that short runs are scored too."""
        return (self.step - self.first) % self.settings.steps_between_checks == 0 or self._is_end()

    def _is_end(self) -> bool:
        return self.step == self.first + self.n_steps

    def note(self, report: Report | None) -> None:
        """Keep the mean loss since the last note; one that is not finite ends the run."""
        mean = float(self.since) / (self.step - self.noted_at) / self.n_members
        if not math.isfinite(mean):
            raise TrainingDiverged(
                f"the training loss must stay finite, got {mean} at step {self.step} of {self.first + self.n_steps}; "
                "try a smaller learning_rate, or look for extreme values in X and y"
            )
        self.notes.append((self.epoch, mean))
        self.since.zero_()
        self.noted_at = self.step
        if report is not None:
            report(self.step, self.first + self.n_steps, mean)

    def history(self, best: BestWeights, n_threads: int, is_unfinished: bool) -> History:
        """What is kept of the run."""
        epoch, course = np.array(self.notes, dtype=np.float64).reshape(-1, 2).T
        return History(epoch, course, *best.curve(), time.perf_counter() - self.started, n_threads, is_unfinished)
