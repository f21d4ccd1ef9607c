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
        self.grad = torch.zeros_like(self.flat)
        self.flat.grad = self.grad
        for parameter, data, grad in zip(
            parameters, self.windows(self.flat.data), self.windows(self.grad), strict=True
        ):
            parameter.data, parameter.grad = data, grad

    def windows(self, flat: Tensor) -> list[Tensor]:
        """A tensor like `flat`, shape (P,), seen as the parameters, each (K, ...)."""
        sizes = [p.numel() for p in self.parameters]
        return [part.view(p.shape) for part, p in zip(flat.split(sizes), self.parameters, strict=True)]

    def copy_members(self, source: Tensor, target: Tensor, which: Tensor) -> None:
        """Copy the weights of the members marked in `which`, shape (K,), from one tensor like `flat` to another."""
        for ours, theirs in zip(self.windows(target), self.windows(source), strict=True):
            ours[which] = theirs[which]

    def release(self) -> None:
        """Give the parameters tensors of their own again, without gradients."""
        for parameter in self.parameters:
            parameter.data = parameter.data.clone()
            parameter.grad = None


SMALLEST_GAIN = 1e-4  # a held-out score must fall by this share to count as an improvement
YOUNG = 10  # steps over which the mean forgets its start
STILL_FALLING = 0.03  # share of a held-out score that is gained in the second half of a run that ended too soon: noisy
# responses gain at most 2% there, many runs of little noise 10%


class AveragedWeights:
    """Running mean of weights, shape (P,), decay d: a <- d a + (1 - d) w; early on d is (1 + t) / (10 + t)."""

    def __init__(self, weights: torch.nn.Parameter, decay: float) -> None:
        self.weights = weights
        self.decay = decay
        self.steps = 0
        self.mean = weights.detach().clone() if decay > 0 else None

    @torch.no_grad()
    def update(self) -> None:
        """Take the present weights into the mean."""
        if self.mean is not None:
            decay = min(self.decay, (1 + self.steps) / (YOUNG + self.steps))
            self.steps += 1
            self.mean.lerp_(self.weights, 1 - decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The mean in place of the weights inside the block."""
        kept = self.weights.detach().clone()
        self.adopt()
        yield
        with torch.no_grad():
            self.weights.copy_(kept)

    @torch.no_grad()
    def adopt(self) -> None:
        """The mean in place of the weights, for good."""
        if self.mean is not None:
            self.weights.copy_(self.mean)


class BestWeights:
    """Held-out scores of each member during a run, and the weights at each member's best."""

    def __init__(self, weights: FlatWeights, patience: int | None) -> None:
        self.weights = weights
        self.patience = patience
        self.best: Tensor | None = None
        self.kept = weights.flat.detach().clone()
        self.stale = torch.zeros(weights.n_members, dtype=torch.int64)
        self.is_done = torch.zeros(weights.n_members, dtype=torch.bool)
        self.seen: list[tuple[float, Tensor]] = []

    @torch.no_grad()
    def note(self, score: Tensor, epoch: float) -> bool:
        """Keep what improved, and say whether patience has run out for all members; score has shape (K,).

        A member whose own patience has run out is done, whatever happens while others go on: what is kept of it does
        not depend on them.
        """
        self.seen.append((epoch, score.cpu()))
        before = torch.full_like(score, torch.inf) if self.best is None else self.best
        better = (score < before * (1 - SMALLEST_GAIN)) & ~self.is_done.to(score.device)
        self.best = torch.where(better, score, before)
        self.weights.copy_members(self.weights.flat.detach(), self.kept, better)
        self.stale = torch.where(better.cpu(), 0, self.stale + 1)
        if self.patience is not None:
            self.is_done |= self.stale >= self.patience
        return bool(self.is_done.all())

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

    def curve(self) -> tuple[FloatArray, FloatArray]:
        """Epochs and mean scores of the checks."""
        means = [(epoch, float(score.mean())) for epoch, score in self.seen]
        epoch, score = np.array(means, dtype=np.float64).reshape(-1, 2).T
        return epoch, score
