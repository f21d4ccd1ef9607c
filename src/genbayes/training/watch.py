"""Averaged weights, and the best of them by a held-out score, for each member of a stack.

The running mean of the weights along the run is as good as a run that had been annealed just then (Polyak), so
the moment to stop can be found without knowing the length in advance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from genbayes.arrays import FloatArray

__all__ = ["AveragedWeights", "BestWeights"]

SMALLEST_GAIN = 1e-4  # a held-out score must fall by this share to count as an improvement
YOUNG = 10  # steps over which the mean forgets its start


class AveragedWeights:
    """Running mean of the parameters, decay d: a <- d a + (1 - d) w; early on d is smaller, (1 + t) / (10 + t)."""

    def __init__(self, parameters: Sequence[torch.nn.Parameter], decay: float) -> None:
        self.parameters = parameters
        self.decay = decay
        self.steps = 0
        self.mean = [p.detach().clone() for p in parameters] if decay > 0 else []

    @torch.no_grad()
    def update(self) -> None:
        """Take the present weights into the mean."""
        decay = min(self.decay, (1 + self.steps) / (YOUNG + self.steps))
        self.steps += 1
        for mean, parameter in zip(self.mean, self.parameters, strict=False):
            mean.lerp_(parameter, 1 - decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The mean in place of the weights inside the block."""
        kept = [p.detach().clone() for p in self.parameters] if self.mean else []
        self.adopt()
        yield
        with torch.no_grad():
            for parameter, value in zip(self.parameters, kept, strict=False):
                parameter.copy_(value)

    @torch.no_grad()
    def adopt(self) -> None:
        """The mean in place of the weights, for good."""
        for parameter, mean in zip(self.parameters, self.mean, strict=False):
            parameter.copy_(mean)


class BestWeights:
    """Held-out scores of each member during a run, and the weights at each member's best."""

    def __init__(self, parameters: Sequence[torch.nn.Parameter], patience: int | None) -> None:
        self.parameters = parameters
        self.patience = patience
        self.best: Tensor | None = None
        self.kept: list[Tensor] = []
        self.stale = 0
        self.seen: list[tuple[float, float]] = []

    def note(self, score: Tensor, epoch: float) -> bool:
        """Keep what improved, and say whether patience has run out for all members; score has shape (K,)."""
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

    @torch.no_grad()
    def restore(self) -> None:
        """Put each member's best weights back."""
        for parameter, copy in zip(self.parameters, self.kept, strict=False):
            parameter.copy_(copy)

    def curve(self) -> tuple[FloatArray, FloatArray]:
        """Epochs and mean scores of the checks."""
        epoch, score = np.array(self.seen, dtype=np.float64).reshape(-1, 2).T
        return epoch, score
