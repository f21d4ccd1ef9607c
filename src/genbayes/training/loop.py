"""Minimise a loss over mini-batches, for all ensemble members at once; knows no model.

AdamW in one fused kernel, a linear warm-up, then cosine annealing (paper section 3.3). Each member shuffles with
its own generator and its loss touches only its own weights, so the sum of the losses trains every member as if
it were alone. A held-out score, if given, is watched per member and the best weights of each are kept.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from genbayes.errors import TrainingDiverged
from genbayes.training.history import History
from genbayes.training.settings import TrainingSettings
from genbayes.training.threads import ThreadChooser

__all__ = ["Report", "minimise"]

N_NOTES = 200  # points of the training curve
SMALLEST_GAIN = 1e-4  # a held-out score must fall by this share to count as an improvement

Report = Callable[[int, int, float], None]


def shuffled_rows(
    n_rows: int, batch_size: int | None, generators: Sequence[torch.Generator], device: torch.device
) -> Iterator[Tensor | None]:
    """Row numbers of one mini-batch after another, shape (K, b), without end; None means all rows.

    Every member sees each row once per epoch, in its own order; a short last batch is filled from the next epoch.
    """
    if batch_size is None or batch_size >= n_rows:
        while True:
            yield None
    waiting = torch.empty(len(generators), 0, dtype=torch.int64)
    while True:
        if waiting.shape[1] < batch_size:
            order = torch.stack([torch.randperm(n_rows, generator=g) for g in generators])
            waiting = torch.cat([waiting, order], dim=1)
        yield waiting[:, :batch_size].to(device)
        waiting = waiting[:, batch_size:]


def rate_at(step: int, n_steps: int, settings: TrainingSettings) -> float:
    """Learning rate of a step: linear warm-up times cosine annealing.

    Example:
        >>> rate_at(0, 100, TrainingSettings(n_epochs=1, learning_rate=0.001))
        0.001
    """
    warm = min(1.0, (step + 1) / max(1.0, settings.warmup * n_steps))
    return settings.learning_rate * warm * 0.5 * (1 + math.cos(math.pi * step / n_steps))


def minimise(
    loss: Callable[[Tensor | None], Tensor],
    parameters: Sequence[torch.nn.Parameter],
    n_rows: int,
    settings: TrainingSettings,
    generators: Sequence[torch.Generator],
    *,
    held_out: Callable[[], Tensor] | None = None,
    report: Report | None = None,
) -> History:
    """Minimise `loss` in place and tell how it went.

    Args:
        loss: Rows (K, b), or None for all, to the loss of each member, shape (K,).
        parameters: Stacked weights, members along the first axis.
        n_rows: Number of rows to draw from.
        settings: Length, rate and portions of the run.
        generators: One per member, for its order of rows.
        held_out: Score of each member on rows kept aside, shape (K,); the best weights of each member are restored.
        report: Called with (step, steps, loss) now and then.
    """
    per_epoch = 1 if settings.batch_size is None else max(1, math.ceil(n_rows / settings.batch_size))
    n_steps = settings.n_epochs * per_epoch
    optimiser = torch.optim.AdamW(parameters, lr=settings.learning_rate, weight_decay=settings.weight_decay, fused=True)
    rows = shuffled_rows(n_rows, settings.batch_size, generators, parameters[0].device)
    watch = _Watch(parameters, held_out, settings.patience)
    note_every, check_every = max(1, n_steps // N_NOTES), max(1, n_steps // settings.checks)
    notes: list[tuple[float, float]] = []
    since = torch.zeros((), device=parameters[0].device)
    noted_at, started = 0, time.perf_counter()
    with ThreadChooser() as threads:
        for step in range(n_steps):
            optimiser.param_groups[0]["lr"] = rate_at(step, n_steps, settings)
            with threads.step():
                optimiser.zero_grad(set_to_none=True)
                value = loss(next(rows)).sum()
                value.backward()
                optimiser.step()
                since += value.detach()
            if (step + 1) % note_every == 0 or step + 1 == n_steps:
                mean = float(since) / (step + 1 - noted_at) / parameters[0].shape[0]
                _require_finite(mean, step, n_steps)
                notes.append(((step + 1) / per_epoch, mean))
                since.zero_()
                noted_at = step + 1
                if report is not None:
                    report(step + 1, n_steps, mean)
            if held_out is not None and (step + 1) % check_every == 0 and watch.should_stop((step + 1) / per_epoch):
                break
        chosen = threads.chosen
    watch.restore_best()
    epoch, course = np.array(notes).T
    return History(epoch, course, *watch.curve(), time.perf_counter() - started, chosen)


def _require_finite(loss: float, step: int, n_steps: int) -> None:
    if not math.isfinite(loss):
        raise TrainingDiverged(
            f"the training loss must stay finite, got {loss} at step {step + 1} of {n_steps}; "
            "try a smaller learning_rate, or look for extreme values in X and y"
        )


class _Watch:
    """Held-out scores of each member during a run, and the weights at each member's best."""

    def __init__(
        self, parameters: Sequence[torch.nn.Parameter], held_out: Callable[[], Tensor] | None, patience: int | None
    ) -> None:
        self.parameters = parameters
        self.held_out = held_out
        self.patience = patience
        self.best: Tensor | None = None
        self.kept: list[Tensor] = []
        self.stale = 0
        self.seen: list[tuple[float, float]] = []

    def should_stop(self, epoch: float) -> bool:
        """Score now, keep what improved, and say whether patience has run out for all members."""
        assert self.held_out is not None
        score = self.held_out()
        self.seen.append((epoch, float(score.mean())))
        if self.best is None:
            self.best, self.kept = score.clone(), [p.detach().clone() for p in self.parameters]
            return False
        better = score < self.best * (1 - SMALLEST_GAIN)
        self.best = torch.where(better, score, self.best)
        for copy, parameter in zip(self.kept, self.parameters, strict=True):
            copy[better] = parameter.detach()[better]
        self.stale = 0 if bool(better.any()) else self.stale + 1
        return self.patience is not None and self.stale >= self.patience

    def restore_best(self) -> None:
        """Put each member's best weights back."""
        with torch.no_grad():
            for copy, parameter in zip(self.kept, self.parameters, strict=False):
                parameter.copy_(copy)

    def curve(
        self,
    ) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], np.ndarray[tuple[int], np.dtype[np.float64]]]:
        """Epochs and mean scores of the checks."""
        epoch, score = np.array(self.seen).reshape(-1, 2).T
        return epoch, score
