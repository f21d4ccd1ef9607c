"""One training step of the recipe "fast", forward and backward written out by hand.

The network of paper section 3.2 and the unbiased loss, for all members k at once; b rows in g groups of s, t levels for
each group, N = b t residuals:

    h_0 = z * scale, [h_0, sin(h_0 W_f + b_f)] with Fourier features       (K, b, p)
    h_i = relu(h_{i-1} W_i + b_i) * mask_i                                 (K, b, H)    f_x
    f   = relu(phi(tau) W_tau + b_tau)                                     (K, g t, H)  f_tau, once for a group
    m   = h * f                                                            (K, N, H)    where x and tau meet
    r   = relu(m W_1 + b_1)                                                (K, N, H)    f_1
    (mu, q) = r W_out + b_out + alpha prior                                (K, N) each
    loss = mean w [w_1 |y - mu| + c(tau) rho_tau(y - q)]                   (K,)

Gradients run back through the same lines in reverse; d_x below is d loss / d x. Everything is written into buffers that
are kept, and no graph is recorded: half the time of automatic differentiation, the same numbers (a test compares them
term by term). Levels shared by the rows of a group make f_tau cost nothing; they are dealt out so that the g t levels
of a step are one from each of g t equal strata of (0, 1), each group having one from each of t strata.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from genbayes.models.network.iqn import IQN, PriorIQN, StackedLinear, cosine_embedding
from genbayes.models.network.loss import level_weight

if TYPE_CHECKING:
    from genbayes.models.network.fit import IQNSettings, Rows

N_LEVELS = (
    4096  # of training, at midpoints (i + 1/2) / 4096: finer than data can resolve, and their cosines are a table
)
ROWS_A_GROUP, MIN_GROUPS = 16, 8  # rows that share their levels, fewer in small batches
STEPS_AT_ONCE = 64  # whose levels are drawn together: a call costs as much as its numbers
POOL = 1 << 20  # Bernoulli draws of each member that dropout masks are read from, at other places in every step
STRIDE = 611_953  # prime: places where masks begin, far apart from step to step


class FastStep:
    """Losses of a mini-batch, row numbers (K, b) -> (K,), and their gradients, left in the parameters.

    Args:
        network: What is trained; its parameters' gradients must be there to write into.
        rows: Scaled runs.
        weight: Weight of each row in each member's loss, shape (K, n).
        settings: Loss weights, levels a row, dropout.
        generators: One per member, for its levels and masks.
    """

    def __init__(
        self,
        network: PriorIQN,
        rows: Rows,
        weight: Tensor,
        settings: IQNSettings,
        generators: Sequence[torch.Generator],
    ) -> None:
        assert settings.n_tau is not None
        self.network, self.iqn, self.rows, self.weight = network, network.trained, rows, weight
        self.n_tau, self.location = settings.n_tau, settings.weights.location
        device = rows.Z.device
        self.tau = (torch.arange(N_LEVELS, device=device) + 0.5) / N_LEVELS
        self.phi = cosine_embedding(self.tau, settings.shape.n_cosines)
        self.of_level = level_weight(self.tau, settings.weights)
        self.levels = _Levels(self.n_tau, generators, device)
        self.masks = Masks(1 - settings.dropout, settings.shape.widths, generators, device)
        self.f_x = [layer for layer in self.iqn.f_x if isinstance(layer, StackedLinear)]
        self.buffers: dict[str, Tensor] = {}

    @torch.no_grad()
    def __call__(self, batch: Tensor) -> Tensor:
        """Forward, backward."""
        (members, n), t = batch.shape, self.n_tau
        s = max(1, min(ROWS_A_GROUP, n // MIN_GROUPS))
        batch = torch.cat([batch, batch[:, : -n % s]], dim=1)  # whole groups; what is added counts nothing
        b, g = batch.shape[1], batch.shape[1] // s
        level = self.levels.draw(g)  # (K, g t)
        phi, shape = self.phi[level], (members, g, 1, t)
        tau, c = self.tau[level].view(shape), self.of_level[level].view(shape)
        Z, y, w = self.rows.Z[batch], self.rows.y[batch].view(members, g, s, 1), self.weight.gather(1, batch)
        w[:, n:] = 0
        share = w.view(members, g, s, 1) / (n * t)

        # forward
        inputs = _Inputs(self.iqn, Z)
        masks = self.masks.draw(b)
        hidden = [inputs.h]
        for i, layer in enumerate(self.f_x):
            h = self._affine(f"h{i}", hidden[-1], layer)
            torch.relu_(h)
            hidden.append(h if masks is None else h.mul_(masks[i]))
        H = hidden[-1].shape[-1]
        f = torch.relu_(self._affine("f", phi, self.iqn.f_tau))
        h_g, f_g = hidden[-1].view(members, g, s, 1, H), f.view(members, g, 1, t, H)
        m = torch.mul(h_g, f_g, out=self._buffer("m", (members, g, s, t, H))).view(members, b * t, H)
        r = torch.relu_(self._affine("r", m, self.iqn.f_1))
        W_out = self.iqn.f_out.weight
        out = torch.bmm(
            W_out.mT, r.mT, out=self._buffer("out", (members, 2, b * t))
        )  # a product with N columns is quick
        out += self.iqn.f_out.bias.mT
        if self.network.prior is not None:
            out += self._prior(Z, phi, g)
        mu, q = out.view(members, 2, g, s, t).unbind(1)
        e, off = y - q, y - mu
        check = torch.maximum(tau * e, (tau - 1) * e)
        loss = (share * (self.location * off.abs() + c * check)).sum(dim=(1, 2, 3))

        # backward
        d_out = self._buffer("d_out", (members, 2, b * t))
        d_mu, d_q = d_out.view(members, 2, g, s, t).unbind(1)
        torch.mul(off.sign(), -self.location * share, out=d_mu)
        torch.mul((e < 0).to(e.dtype) - tau, c * share, out=d_q)
        gradient(self.iqn.f_out.weight).copy_(torch.bmm(d_out, r).mT)
        torch.sum(d_out, dim=2, out=gradient(self.iqn.f_out.bias).view(members, 2))
        d_r = torch.bmm(d_out.mT, W_out.mT, out=self._buffer("d_r", r.shape))
        d_m = self._back("m", d_r, r, m, self.iqn.f_1).view(members, g, s, t, H)
        other = self._buffer("other", (members, g, s, t, H))
        d_f = torch.mul(d_m, h_g, out=other).sum(dim=2).view(members, g * t, H)
        d_h = torch.mul(d_m, f_g, out=other).sum(dim=3).view(members, b, H)
        self._back("", d_f, f, phi, self.iqn.f_tau)
        for i in reversed(range(len(self.f_x))):
            if masks is not None:
                d_h.mul_(masks[i])
            is_needed = i > 0 or inputs.has_weights
            d_h = self._back(f"h{i}" if is_needed else "", d_h, hidden[i + 1], hidden[i], self.f_x[i])
        if inputs.has_weights:
            inputs.back(d_h)
        return loss

    def _buffer(self, name: str, shape: tuple[int, ...] | torch.Size) -> Tensor:
        kept = self.buffers.get(name)
        if kept is None or kept.shape != shape:
            kept = self.buffers[name] = self.phi.new_empty(shape)
        return kept

    def _affine(self, name: str, h: Tensor, layer: StackedLinear) -> Tensor:
        """H W + b into a buffer, (K, n, i) -> (K, n, o)."""
        W, bias = layer.weight, layer.bias
        return torch.baddbmm(bias, h, W, out=self._buffer(name, (*h.shape[:2], W.shape[2])))

    def _back(self, name: str, d: Tensor, out: Tensor, h: Tensor, layer: StackedLinear) -> Tensor:
        """Back through out = relu(h W + b): gradients of W and b, and of h where the buffer has a name.

        Args:
            name: Of the buffer for the gradient of h; empty if nobody needs it.
            d: Gradient of out, shape (K, n, o); overwritten.
            out: The layer's output, zero where it was cut off.
            h: Its input, shape (K, n, i).
            layer: The layer.
        """
        torch.ops.aten.threshold_backward.grad_input(d, out, 0, grad_input=d)
        torch.bmm(h.mT, d, out=gradient(layer.weight))
        torch.sum(d, dim=1, keepdim=True, out=gradient(layer.bias))
        return torch.bmm(d, layer.weight.mT, out=self._buffer(f"d_{name}", h.shape)) if name else d

    def _prior(self, Z: Tensor, phi: Tensor, g: int) -> Tensor:
        """What the frozen prior adds to mu and q, (K, 2, N)."""
        network, prior = self.network, self.network.prior
        assert prior is not None
        members, b = Z.shape[:2]
        h, f = prior.features(Z), torch.relu(prior.f_tau(phi))
        m = h.view(members, g, b // g, 1, -1) * f.view(members, g, 1, self.n_tau, -1)
        out = prior.f_out(torch.relu(prior.f_1(m.view(members, b * self.n_tau, -1)))).mT
        added: Tensor = network.prior_scale / network.prior_size * (out - network.prior_center)
        return added


def gradient(parameter: torch.nn.Parameter) -> Tensor:
    """The tensor that holds a parameter's gradient, to be written into."""
    assert parameter.grad is not None, "FlatWeights gives every parameter its gradient"
    return parameter.grad


class _Inputs:
    """What f_x sees of scaled rows: one-hot blocks replaced by their embeddings, Fourier features appended."""

    def __init__(self, iqn: IQN, Z: Tensor) -> None:
        self.iqn, shape = iqn, iqn.shape
        self.has_weights = bool(shape.blocks) or iqn.fourier is not None
        self.scaled = Z * iqn.input_scale
        self.h = self.columns = iqn.embed(self.scaled)
        if iqn.fourier is not None:
            self.angle = torch.baddbmm(iqn.fourier.bias, self.columns, iqn.fourier.weight)
            self.h = torch.cat([self.columns, torch.sin(self.angle)], dim=-1)

    def back(self, d: Tensor) -> None:
        """Gradients of frequencies, phases and embeddings, given that of h, (K, b, p')."""
        fourier, n_columns = self.iqn.fourier, self.columns.shape[-1]
        d_columns = d[..., :n_columns]
        if fourier is not None:
            d_angle = d[..., n_columns:] * torch.cos(self.angle)
            torch.bmm(self.columns.mT, d_angle, out=gradient(fourier.weight))
            torch.sum(d_angle, dim=1, keepdim=True, out=gradient(fourier.bias))
            d_columns = d_columns + torch.bmm(d_angle, fourier.weight.mT)
        at = 0  # column of h at which a block's embedding begins
        last = 0
        for layer, (start, stop, size) in zip(self.iqn.embeddings, self.iqn.shape.blocks, strict=True):
            assert isinstance(layer, StackedLinear)
            at += start - last
            d_block = d_columns[..., at : at + size]
            torch.bmm(self.scaled[..., start:stop].mT, d_block, out=gradient(layer.weight))
            torch.sum(d_block, dim=1, keepdim=True, out=gradient(layer.bias))
            at, last = at + size, stop


class _Levels:
    """Levels of each step, drawn for many steps at once, each member from its own stream."""

    def __init__(self, n_tau: int, generators: Sequence[torch.Generator], device: torch.device) -> None:
        self.n_tau, self.generators, self.device = n_tau, generators, device
        self.waiting: list[Tensor] = []
        self.n_groups = 0

    def draw(self, n_groups: int) -> Tensor:
        """Numbers of the levels of one step, (K, g t): cell perm(j) of the g cells of each of t strata for group j."""
        if not self.waiting or n_groups != self.n_groups:
            self.n_groups = n_groups
            drawn = torch.stack([self._draw_many(n_groups, g) for g in self.generators], dim=1)
            self.waiting = list(drawn.to(self.device).unbind(0))
        return self.waiting.pop()

    def _draw_many(self, n_groups: int, generator: torch.Generator) -> Tensor:
        shape = STEPS_AT_ONCE, n_groups, self.n_tau
        cell = torch.rand(shape, generator=generator).argsort(dim=1)  # a permutation of the groups in every stratum
        place = (cell + torch.rand(shape, generator=generator)) / n_groups  # within the stratum, in (0, 1)
        level = (torch.arange(self.n_tau) + place) / self.n_tau * N_LEVELS
        return level.long().clamp_(max=N_LEVELS - 1).view(STEPS_AT_ONCE, -1)


class Masks:
    """Dropout masks, each member from its own stream.

    Bernoulli draws are made once per member and read from other places in every step: drawing them afresh costs as much
    as the matrix products.
    """

    def __init__(
        self, keep: float, widths: Sequence[int], generators: Sequence[torch.Generator], device: torch.device
    ) -> None:
        self.keep, self.widths, self.generators, self.device = keep, widths, generators, device
        self.pools: Tensor | None = None
        self.n_drawn = 0

    def draw(self, rows: int) -> list[Tensor] | None:
        """Masks for the hidden layers of f_x, each (K, b, width); None without dropout."""
        if self.keep == 1:
            return None
        if self.pools is None:
            size = max(POOL, 2 * rows * max(self.widths))
            draws = [torch.empty(size).bernoulli_(self.keep, generator=g) / self.keep for g in self.generators]
            self.pools = torch.stack(draws).to(self.device)
        masks = []
        for width in self.widths:
            self.n_drawn += 1
            first = self.n_drawn * STRIDE % (self.pools.shape[1] - rows * width)
            masks.append(self.pools[:, first : first + rows * width].view(-1, rows, width))
        return masks
