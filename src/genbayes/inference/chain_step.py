"""One training step of the chain, forward and backward written out by hand.

For all conditionals at once, b pairs, H hidden units, K components; d_x below is d loss / d x:

    h_0 = silu(z_0), z_0 = x W_0 + b_0                                     (C, b, H)
    h_i = h_{i-1} + mask_i silu(z_i), z_i = h_{i-1} W_i + b_i              (C, b, H)
    (l, a, v, m, r) = h W_out + b_out + x S                                (C, b, 3 K + 2)
    mu = m + e^r a, s = r + v                                              (C, b, K)
    u = (t - mu) e^-s, and likewise A at the lower and B at the upper end, w = B - A
    loss = -lse(l - s - u + 2 log sig(u)) + lse(l + log sig(B) + log sig(-A) + log(1 - e^-w))

With p and q the softmax of the terms of either sum over components,

    d_l  = q - p
    d_mu = e^-s [q (sig(A) - sig(-B)) - p tanh(u / 2)]
    d_s  = q [A sig(A) - B sig(-B) - w / (e^w - 1)] - p [u tanh(u / 2) - 1]
    d_a  = e^r d_mu,  d_v = d_s,  d_m = sum d_mu,  d_r = sum (a d_a + d_s).

No graph is recorded: half the time of automatic differentiation and the same numbers, which a test compares.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, silu

from genbayes.inference.chain import LOG_SCALES, OUTSIDE, Chain
from genbayes.models.network.fit import gradient

POOL = 1 << 17  # Bernoulli draws of each conditional that dropout masks are read from, at other places in every step


class ChainStep:
    """Losses of a mini-batch, inputs (C, b, k + p) -> (C,), and their gradients, left in the parameters.

    Args:
        chain: What is trained; its parameters' gradients must be there to write into.
        dropout: Share of units of a residual branch silenced in a step, for each conditional, (C,).
        generator: Draws the masks.
        framed: Whether centre and spread of the components are learnt.
    """

    def __init__(self, chain: Chain, dropout: Tensor, generator: torch.Generator, *, framed: bool = True) -> None:
        self.chain, self.keep, self.generator, self.framed = chain, 1 - dropout[:, None], generator, framed
        at = chain.target[:, None, None]
        self.lower, self.upper = chain.lower[at], chain.upper[at]
        self.pool: Tensor | None = None
        self.buffers: dict[str, Tensor] = {}

    @torch.no_grad()
    def __call__(self, x: Tensor) -> Tensor:
        """Forward, backward."""
        chain, b = self.chain, x.shape[1]
        t = x.gather(2, chain.target[:, None, None].expand(-1, b, 1))
        z = [self._affine("z", x, chain.W_0, chain.b_0)]
        h, masks = [silu(z[0])], self._masks(z[0])
        for i, (W, bias) in enumerate(zip(chain.W, chain.b, strict=True)):
            z.append(self._affine(f"z{i}", h[-1], W, bias))
            h.append(h[-1] + silu(z[-1]) if masks is None else torch.addcmul(h[-1], silu(z[-1]), masks[i]))
        out = torch.baddbmm(chain.b_out, h[-1], chain.W_out).baddbmm_(x, chain.S)
        loss, d_out = self._density(out, t)

        d_out /= b
        torch.bmm(h[-1].mT, d_out, out=gradient(chain.W_out))
        torch.sum(d_out, dim=1, keepdim=True, out=gradient(chain.b_out))
        torch.mul(torch.bmm(x.mT, d_out), chain.mask, out=gradient(chain.S))
        d_h = torch.bmm(d_out, chain.W_out.mT)
        for i in reversed(range(len(chain.W))):
            d_z = torch.ops.aten.silu_backward(d_h if masks is None else d_h * masks[i], z[i + 1])
            torch.bmm(h[i].mT, d_z, out=gradient(chain.W[i]))
            torch.sum(d_z, dim=1, keepdim=True, out=gradient(chain.b[i]))
            d_h.baddbmm_(d_z, chain.W[i].mT)
        d_z = torch.ops.aten.silu_backward(d_h, z[0])
        torch.mul(torch.bmm(x.mT, d_z), chain.mask, out=gradient(chain.W_0))
        torch.sum(d_z, dim=1, keepdim=True, out=gradient(chain.b_0))
        return loss.mean(dim=1)

    def _density(self, out: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
        """Losses (C, b) of parameters t, (C, b, 1), and their gradients in the outputs, (C, b, 3 K + 2)."""
        logit, place, width, centre, free = out.split([*[self.chain.shape.n_components] * 3, 1, 1], dim=-1)
        log_spread = free.clamp(*LOG_SCALES)
        spread = torch.exp(log_spread)
        location, log_scale = centre + spread * place, log_spread + width
        mu = torch.minimum(torch.maximum(location, self.lower - OUTSIDE), self.upper + OUTSIDE)
        s = log_scale.clamp(*LOG_SCALES)
        inverse = torch.exp(-s)
        u = (t - mu) * inverse
        tanh = torch.tanh(u / 2)
        inside = logit - s - u + 2 * logsigmoid(u)
        log_p = torch.logsumexp(inside, dim=-1, keepdim=True)
        p = torch.exp(inside - log_p)
        if self.chain.is_bounded:
            A, B, w = (self.lower - mu) * inverse, (self.upper - mu) * inverse, (self.upper - self.lower) * inverse
            mass = logit + logsigmoid(B) + logsigmoid(-A) + torch.log(-torch.expm1(-w))
            log_q = torch.logsumexp(mass, dim=-1, keepdim=True)
            q = torch.exp(mass - log_q)
            at_A, at_B = torch.sigmoid(A), torch.sigmoid(-B)
            d_mu = inverse * (q * (at_A - at_B) - p * tanh)
            d_s = q * (A * at_A - B * at_B - w / torch.expm1(w)) - p * (u * tanh - 1)
        else:
            log_q = torch.logsumexp(logit, dim=-1, keepdim=True)
            q = torch.exp(logit - log_q)
            d_mu, d_s = -inverse * p * tanh, -p * (u * tanh - 1)
        d_mu, d_s = d_mu * (mu == location), d_s * (s == log_scale)
        d_place = d_mu * spread
        d_centre = d_mu.sum(dim=-1, keepdim=True)
        d_spread = (d_place * place + d_s).sum(dim=-1, keepdim=True) * (free == log_spread)
        if not self.framed:
            d_centre, d_spread = torch.zeros_like(d_centre), torch.zeros_like(d_spread)
        d_out = torch.cat([q - p, d_place, d_s, d_centre, d_spread], dim=-1)
        return (log_q - log_p)[..., 0], d_out

    def _affine(self, name: str, h: Tensor, W: Tensor, bias: Tensor) -> Tensor:
        shape = (*h.shape[:2], W.shape[2])
        kept = self.buffers.get(name)
        if kept is None or kept.shape != shape:
            kept = self.buffers[name] = h.new_empty(shape)
        return torch.baddbmm(bias, h, W, out=kept)

    def _masks(self, like: Tensor) -> list[Tensor] | None:
        """Dropout masks of the residual layers, each (C, b, H); None without dropout."""
        if bool((self.keep == 1).all()):
            return None
        size = like[0].numel()
        if self.pool is None:
            chance = self.keep.expand(-1, max(POOL, 8 * size))
            self.pool = torch.bernoulli(chance, generator=self.generator) / self.keep
        starts = torch.randint(self.pool.shape[1] - size, (len(self.chain.W),), generator=self.generator).tolist()
        return [self.pool[:, start : start + size].view(like.shape) for start in starts]
