"""The implicit quantile network of paper section 3.2, with all ensemble members stacked in one.

G(tau, x) = f_out(f_1(f_x(x) * f_tau(phi(tau)))), with f_x, f_tau and f_1 fully connected with ReLU, * elementwise,
and two outputs: a location mu, used only in training, and the quantile q. Every weight carries a leading axis of
members, so that one batched product serves them all; a member draws its weights from its own generator and
therefore does not depend on how many others there are.

Randomized priors, paper section 4.3 (Osband et al. 2018): G_k = g_k + alpha g_{0,k}, a trained network plus a frozen
random one. Where there are data, g_k learns to cancel g_{0,k}; where there are none it cannot, so members disagree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

# Matrix products of a few rows round differently from those of many; in whole groups of 16 a row's answer does not
# depend on its company.
ROUND_ROWS = 16
BLOCK_ROWS, BLOCK_COLUMNS = 128, 4096  # of hidden values in flight while predicting: 2 MB, fits the cache
FEATURE_ROWS = 8192  # rows whose features are kept in flight


@dataclass(frozen=True)
class NetworkShape:
    """Sizes of a stacked network.

    Attributes:
        n_inputs: Columns of the network's input.
        n_members: Ensemble size K.
        n_hidden: Units in each hidden layer of f_x but the last.
        n_layers: Hidden layers of f_x.
        n_merge: Units where x and tau meet: last layer of f_x, f_tau and f_1.
        n_cosines: Size of the embedding of tau.
        blocks: One-hot blocks (start, stop, size) of the input that are embedded into `size` columns each.
        n_fourier: Fourier features of the input that join it as further columns, see `FourierFeatures`.
    """

    n_inputs: int
    n_members: int = 1
    n_hidden: int = 256
    n_layers: int = 1
    n_merge: int = 256
    n_cosines: int = 32
    blocks: tuple[tuple[int, int, int], ...] = ()
    n_fourier: int = 0

    @property
    def widths(self) -> list[int]:
        """Units of each hidden layer of f_x; the last is where tau comes in."""
        return [self.n_hidden] * (self.n_layers - 1) + [self.n_merge]


def cosine_embedding(tau: Tensor, n_cosines: int = 32) -> Tensor:
    """phi(tau) = [cos(j pi tau)], j = 0, ..., n_cosines - 1 (Dabney et al. 2018); (...) -> (..., n_cosines).

    Example:
        >>> cosine_embedding(torch.tensor([0.0, 1.0]), 3)
        tensor([[ 1.,  1.,  1.],
                [ 1., -1.,  1.]])
    """
    j = torch.arange(n_cosines, dtype=tau.dtype, device=tau.device)
    return torch.cos(math.pi * tau.unsqueeze(-1) * j)


class StackedLinear(nn.Module):
    """One affine layer per member, (K, b, i) -> (K, b, o), weights uniform within 1/sqrt(i)."""

    weight: nn.Parameter
    bias: nn.Parameter

    def __init__(self, n_in: int, n_out: int, generators: Sequence[torch.Generator]) -> None:
        super().__init__()
        bound = 1 / math.sqrt(n_in) if n_in else 0.0
        draw = [(2 * torch.rand(n_in + 1, n_out, generator=g) - 1) * bound for g in generators]
        stacked = torch.stack(draw)
        self.weight = nn.Parameter(stacked[:, :n_in].contiguous())
        self.bias = nn.Parameter(stacked[:, n_in:].contiguous())

    def forward(self, h: Tensor) -> Tensor:
        """The layer of every member, (K, n, in) -> (K, n, out)."""
        return torch.baddbmm(self.bias, h, self.weight)


class FourierFeatures(StackedLinear):
    """Fourier features of random frequency and phase for each member, sin(w'x + b), (K, b, i) -> (K, b, o).

    Both w and b are trained. A ReLU network learns slow changes long before quick ones; these are quick from the start.
    Each begins along one input, the inputs taking turns: in many dimensions random directions are too quick along all
    inputs at once and serve only to memorise. Sources: Tancik et al. (2020); Gorishniy et al. (2022), periodic
    embeddings of single inputs.
    """

    def __init__(self, n_in: int, n_out: int, generators: Sequence[torch.Generator]) -> None:
        super().__init__(n_in, n_out, generators)
        # radians by which a feature turns over a standard deviation of its input; 3 to 4.5 serve alike
        speed = 4.0 * torch.stack([torch.randn(n_out, generator=g) for g in generators])
        number = torch.arange(n_out)
        with torch.no_grad():
            self.weight.zero_()
            self.weight[:, number % n_in, number] = speed
            self.bias.mul_(math.pi * math.sqrt(n_in))  # from within 1 / sqrt(n_in) to all around

    def forward(self, h: Tensor) -> Tensor:
        """The layer of every member, (K, n, in) -> (K, n, out)."""
        return torch.sin(super().forward(h))


class IQN(nn.Module):
    """K implicit quantile networks of one shape.

    Example:
        >>> shape = NetworkShape(n_inputs=2, n_members=3, n_hidden=8, n_merge=8)
        >>> network = IQN(shape, [torch.Generator().manual_seed(j) for j in range(3)])
        >>> network.quantiles(torch.zeros(5, 2), torch.tensor([0.1, 0.9])).shape
        torch.Size([3, 5, 2])
    """

    input_scale: Tensor

    def __init__(self, shape: NetworkShape, generators: Sequence[torch.Generator]) -> None:
        super().__init__()
        assert len(generators) == shape.n_members
        self.shape = shape
        widths = shape.widths
        self.embeddings = nn.ModuleList(
            StackedLinear(stop - start, size, generators) for start, stop, size in shape.blocks
        )
        n_columns = shape.n_inputs + sum(size - (stop - start) for start, stop, size in shape.blocks)
        self.fourier = FourierFeatures(n_columns, shape.n_fourier, generators) if shape.n_fourier else None
        ins = [n_columns + shape.n_fourier, *widths[:-1]]
        self.f_x = nn.ModuleList(StackedLinear(i, o, generators) for i, o in zip(ins, widths, strict=True))
        self.f_tau = StackedLinear(shape.n_cosines, shape.n_merge, generators)
        self.f_1 = StackedLinear(shape.n_merge, shape.n_merge, generators)
        self.f_out = StackedLinear(shape.n_merge, 2, generators)
        self.register_buffer("input_scale", torch.ones(shape.n_members, 1, shape.n_inputs))

    def input_norms(self) -> Tensor:
        """Norm of each input's weights in the first layer, shape (K, p'): how much the network uses it."""
        first = self.f_x[0]
        assert isinstance(first, StackedLinear)
        norms: Tensor = torch.linalg.vector_norm(first.weight, dim=2)
        return norms

    def embed(self, h: Tensor) -> Tensor:
        """Scaled inputs with one-hot blocks replaced by their learnt embeddings, (K, b, p) -> (K, b, p')."""
        if not self.shape.blocks:
            return h
        parts, stop = [], 0
        for layer, (start, end, _) in zip(self.embeddings, self.shape.blocks, strict=True):
            parts += [h[..., stop:start], layer(h[..., start:end])]
            stop = end
        return torch.cat([*parts, h[..., stop:]], dim=-1)

    def features(self, Z: Tensor, masks: Sequence[Tensor] | None = None) -> Tensor:
        """f_x, (K, b, p) -> (K, b, n_merge); `masks` multiply the hidden layers (dropout).

        Inputs are multiplied by their scales, one-hot blocks replaced by their learnt embeddings, Fourier features
        appended.
        """
        h = self.embed(Z * self.input_scale)
        if self.fourier is not None:
            h = torch.cat([h, self.fourier(h)], dim=-1)
        for i, layer in enumerate(self.f_x):
            h = torch.relu(layer(h))
            if masks is not None:
                h = h * masks[i]
        return h

    def heads(self, h: Tensor, phi: Tensor) -> tuple[Tensor, Tensor]:
        """Location and quantile for every row and its levels.

        Args:
            h: Features of the rows, shape (K, b, n_merge).
            phi: Embedded levels, shape (K, b, t, n_cosines), or (K, 1, t, n_cosines) shared by the rows.

        Returns:
            mu and q, each of shape (K, b, t).
        """
        members, rows, t, n_cosines = phi.shape
        f_tau = torch.relu(self.f_tau(phi.reshape(members, rows * t, n_cosines))).reshape(members, rows, t, -1)
        merged = (h.unsqueeze(2) * f_tau).reshape(members, -1, h.shape[-1])
        out = self.f_out(torch.relu_(self.f_1(merged)))
        mu, q = out.reshape(members, h.shape[1], t, 2).unbind(-1)
        return mu, q

    @torch.no_grad()
    def quantiles(self, Z: Tensor, tau: Tensor) -> Tensor:
        """Quantiles at every row and level, (n, p) and (m,) -> (K, n, m).

        f_1(f_x * f_tau) = relu(f_x (diag(f_tau) W_1) + b_1): the level goes into the weights once, so that rows cost
        matrix products only and no elementwise product with f_tau. Blocks of rows and levels stay in the cache.
        """
        members, n, merge = self.shape.n_members, len(Z), self.shape.n_merge
        Z = torch.cat([Z, Z.new_zeros(-n % ROUND_ROWS, Z.shape[1])])
        q = Z.new_empty(members, len(Z), len(tau))
        blocks = self._weights_of_levels(tau)
        for start in range(0, len(Z), FEATURE_ROWS):
            features = self.features(Z[start : start + FEATURE_ROWS].expand(members, -1, -1))
            for k in range(members):  # one at a time: the hidden values of all would not fit the cache
                head, shift = self.f_out.weight[k, :, 1:], self.f_out.bias[k, :, 1:]
                for first in range(0, features.shape[1], BLOCK_ROWS):
                    h = features[k, first : first + BLOCK_ROWS]
                    rows = slice(start + first, start + first + len(h))
                    for levels, weight, bias in blocks:
                        hidden = torch.addmm(bias[k], h, weight[k]).relu_().view(-1, merge)
                        q[k, rows, levels] = torch.addmm(shift, hidden, head).view(len(h), -1)
        return q[:, :n]

    def _weights_of_levels(self, tau: Tensor) -> list[tuple[slice, Tensor, Tensor]]:
        """diag(f_tau) W_1 and b_1 for blocks of levels side by side: (levels, (K, H, l H), (K, 1, l H))."""
        members, merge = self.shape.n_members, self.shape.n_merge
        phi = cosine_embedding(tau, self.shape.n_cosines).expand(members, -1, -1)
        f_tau = torch.relu(self.f_tau(phi))  # (K, m, H)
        blocks = []
        for a in range(0, len(tau), max(1, BLOCK_COLUMNS // merge)):
            some = f_tau[:, a : a + max(1, BLOCK_COLUMNS // merge)]
            weight = some.permute(0, 2, 1).unsqueeze(-1) * self.f_1.weight.unsqueeze(2)  # (K, H in, l, H out)
            levels = slice(a, a + some.shape[1])
            blocks.append((levels, weight.reshape(members, merge, -1), self.f_1.bias.repeat(1, 1, some.shape[1])))
        return blocks


class PriorIQN(nn.Module):
    """An IQN with a frozen random prior added to both heads; `prior_scale` 0 leaves the plain network.

    g_0 is brought to mean 0 and standard deviation 1 on the training inputs, so that `prior_scale`, alpha, is measured
    in standard deviations of the response whatever the network's size.

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

    def adapt_to(self, Z: Tensor, input_scale: Tensor | None = None) -> None:
        """Measure g_0 on inputs Z, so that from now on it has mean 0 and standard deviation 1 there.

        Args:
            Z: Training inputs, shape (n, p).
            input_scale: What every member's inputs are multiplied by, shape (K, 1, p) or broadcasting to it.
        """
        for part in (self.trained, self.prior):
            if part is not None and input_scale is not None:
                part.input_scale.copy_(input_scale.expand_as(part.input_scale))
        if self.prior is not None:
            q = self.prior.quantiles(Z, (torch.arange(9, device=Z.device) + 0.5) / 9)
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

    @torch.no_grad()
    def quantiles(self, Z: Tensor, tau: Tensor) -> Tensor:
        """Q at every row and level, (n, p) and (m,) -> (K, n, m)."""
        q = self.trained.quantiles(Z, tau)
        if self.prior is not None:
            q += self.prior_scale / self.prior_size * (self.prior.quantiles(Z, tau) - self.prior_center)
        return q


def join_members(networks: Sequence[PriorIQN], n_members: int) -> PriorIQN:
    """One stack of the first n members of some networks of the same sizes.

    Example:
        >>> def stack(*seeds: int) -> PriorIQN:
        ...     generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        ...     return PriorIQN(NetworkShape(2, len(seeds), 8, 1, 8), generators, prior_scale=0.0)
        >>> at = torch.zeros(3, 2), torch.tensor([0.5])
        >>> torch.equal(join_members([stack(0, 1), stack(2, 3)], 3).quantiles(*at), stack(0, 1, 2).quantiles(*at))
        True
    """
    first = networks[0]
    states = [network.state_dict() for network in networks]
    joined = PriorIQN(
        replace(first.shape, n_members=n_members), [torch.Generator() for _ in range(n_members)], first.prior_scale
    )
    joined.to(first.prior_size.device)
    joined.load_state_dict({name: torch.cat([state[name] for state in states])[:n_members] for name in states[0]})
    return joined
