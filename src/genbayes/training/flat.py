"""All weights of a stack in one tensor, so that the optimiser and the averages are one call each.

For a small network the calls cost more than the arithmetic: ten parameters take an optimiser several times as long
as one of the same total size. The network keeps its own parameters, which become windows onto the one tensor.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["FlatWeights"]


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
