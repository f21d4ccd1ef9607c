"""Averaged weights, and the best of them by a held-out score, for each member of a stack.

For a small network the calls cost more than the arithmetic: ten parameters take an optimiser several times as long as
one of the same total size. So all weights are one tensor, and the network's own parameters are windows onto it. The
running mean of the weights along the run is as good as a run that had been annealed just then (Polyak), so the moment
to stop can be found without knowing the length in advance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

SMALLEST_GAIN = 1e-4  # a held-out score must fall by this share to count as an improvement
STILL_FALLING = 0.03  # share of a held-out score that is gained in the second half of a run that ended too soon: noisy
# responses gain at most 2% there, many runs of little noise 10%


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
