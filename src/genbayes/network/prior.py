"""Randomized priors, paper section 4.3 (Osband et al. 2018): a trainable network plus a frozen random one.

G_k = g_k + alpha g_{0,k}. Where there are data, g_k learns to cancel g_{0,k}; where there are none it cannot, so
members disagree there. g_0 is brought to mean 0 and standard deviation 1 on the training inputs, so that alpha is
measured in standard deviations of the response whatever the network's size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from genbayes.network.iqn import IQN, NetworkShape

__all__ = ["PriorIQN"]

N_PROBE_LEVELS = 9  # levels at which the size of g_0 is measured


class PriorIQN(nn.Module):
    """An IQN with a frozen random prior added to both heads; `prior_scale` 0 leaves the plain network.

    Example:
        >>> g = [torch.Generator().manual_seed(0)]
        >>> network = PriorIQN(NetworkShape(2, n_hidden=8, n_merge=8), g, prior_scale=0.5)
        >>> network.quantiles(torch.zeros(5, 2), torch.tensor([0.5])).shape
        torch.Size([1, 5, 1])
    """

    prior_size: Tensor
    prior_center: Tensor

    def __init__(self, shape: NetworkShape, generators: Sequence[torch.Generator], prior_scale: float) -> None:
        super().__init__()
        self.shape = shape
        self.prior_scale = prior_scale
        self.trained = IQN(shape, generators)
        plain = replace(shape, n_fourier=0)  # with them it would swing between the rows that could tame it
        self.prior = IQN(plain, generators).requires_grad_(False) if prior_scale > 0 else None
        self.register_buffer("prior_size", torch.ones(shape.n_members, 1, 1))
        self.register_buffer("prior_center", torch.zeros(shape.n_members, 1, 1))

    def scale_inputs(self, scale: Tensor) -> None:
        """Multiply every member's inputs by `scale`, shape (K, 1, p) or broadcasting to it."""
        for part in (self.trained, self.prior):
            if part is not None:
                part.input_scale.copy_(scale.expand_as(part.input_scale))

    def rescale_prior(self, Z: Tensor) -> None:
        """Measure g_0 on inputs Z, shape (n, p), so that from now on it has mean 0 and standard deviation 1 there."""
        if self.prior is not None:
            tau = (torch.arange(N_PROBE_LEVELS, device=Z.device) + 0.5) / N_PROBE_LEVELS
            q = self.prior.quantiles(Z, tau)
            self.prior_center.copy_(q.mean(dim=(1, 2), keepdim=True))
            self.prior_size.copy_(q.std(dim=(1, 2), keepdim=True).clamp(min=1e-12))

    def predict_heads(self, Z: Tensor, phi: Tensor, masks: Sequence[Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Mu and q for training, (K, b, p) and (K, b | 1, t, n_cosines) -> two of (K, b, t)."""
        mu, q = self.trained.heads(self.trained.features(Z, masks), phi)
        if self.prior is not None:
            with torch.no_grad():
                mu_0, q_0 = self.prior.heads(self.prior.features(Z), phi)
            alpha = self.prior_scale / self.prior_size
            mu, q = mu + alpha * (mu_0 - self.prior_center), q + alpha * (q_0 - self.prior_center)
        return mu, q

    def first(self, n_members: int) -> PriorIQN:
        """The stack of the first members only; all of them where there are no more."""
        if n_members >= self.shape.n_members:
            return self
        return self._rebuilt(n_members, {name: value[:n_members] for name, value in self.state_dict().items()})

    def joined(self, other: PriorIQN) -> PriorIQN:
        """One stack of this network's members followed by those of another of the same sizes.

        Example:
            >>> def stack(*seeds: int) -> PriorIQN:
            ...     generators = [torch.Generator().manual_seed(seed) for seed in seeds]
            ...     return PriorIQN(NetworkShape(2, len(seeds), 8, 1, 8), generators, prior_scale=0.0)
            >>> at = torch.zeros(3, 2), torch.tensor([0.5])
            >>> torch.equal(stack(0, 1).joined(stack(2)).quantiles(*at), stack(0, 1, 2).quantiles(*at))
            True
        """
        ours, theirs = self.state_dict(), other.state_dict()
        tensors = {name: torch.cat([ours[name], theirs[name]]) for name in ours}
        return self._rebuilt(self.shape.n_members + other.shape.n_members, tensors)

    def _rebuilt(self, n_members: int, tensors: Mapping[str, Tensor]) -> PriorIQN:
        """A stack of another number of members, with given weights."""
        generators = [torch.Generator() for _ in range(n_members)]
        stack = PriorIQN(replace(self.shape, n_members=n_members), generators, self.prior_scale)
        stack.to(self.prior_size.device).load_state_dict(tensors)
        return stack

    @torch.no_grad()
    def quantiles(self, Z: Tensor, tau: Tensor) -> Tensor:
        """Q at every row and level, (n, p) and (m,) -> (K, n, m)."""
        q = self.trained.quantiles(Z, tau)
        if self.prior is not None:
            q += self.prior_scale / self.prior_size * (self.prior.quantiles(Z, tau) - self.prior_center)
        return q
