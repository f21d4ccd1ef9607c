"""One training step of the chain, forward and backward written out by hand.

For all conditionals at once, b pairs, H hidden units, K components; d_x below is d loss / d x:

    h_0 = silu(z_0), z_0 = x W_0 + b_0                                     (C, b, H)
    h_i = h_{i-1} + mask_i silu(z_i), z_i = h_{i-1} W_i + b_i              (C, b, H)
    (l, a, v, m, r) = h W_out + b_out + x S                                (C, b, 3 K + 2)
    mu = m + e^r a, s = r + v                                              (C, b, K)
    u = (t - mu) e^-s, and likewise A at the lower and B at the upper end
    g = u sqrt(1 + f u^2), f the flatness, one for each conditional; likewise g_A, g_B, w = g_B - g_A
    loss = -lse(l - s - g + 2 log sig(g) + log g') + lse(l + log sig(g_B) + log sig(-g_A) + log(1 - e^-w))

With p and q the softmax of the terms of either sum over components, and

    g' = (1 + 2 f u^2) / sqrt(1 + f u^2),  g'' / g' = 4 f u / (1 + 2 f u^2) - f u / (1 + f u^2),
    D = tanh(g / 2) g' - g'' / g',
    P_A = sig(g_A) + 1 / (e^w - 1),  P_B = sig(-g_B) + 1 / (e^w - 1),

    d_l  = q - p
    d_mu = e^-s [q (P_A g_A' - P_B g_B') - p D]
    d_s  = q [A P_A g_A' - B P_B g_B'] - p [u D - 1]
    d_f  = sum q [P_B B^3 / sqrt(1 + f B^2) - P_A A^3 / sqrt(1 + f A^2)] / 2
           - p u^2 [2 / (1 + 2 f u^2) - 1 / (2 (1 + f u^2)) - tanh(g / 2) u / (2 sqrt(1 + f u^2))]
    d_a  = e^r d_mu,  d_v = d_s,  d_m = sum d_mu,  d_r = sum (a d_a + d_s).

No graph is recorded: half the time of automatic differentiation and the same numbers, which a test compares.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, silu

from genbayes.inference.chain import FLATTEST, LOG_SCALES, OUTSIDE, Chain
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
        f = self.chain.flatness
        u = (t - mu) * inverse
        inside, down, up_f = _log_density(u, f)
        inside += logit - s
        log_p = torch.logsumexp(inside, dim=-1, keepdim=True)
        p = torch.exp(inside - log_p)
        d_mu, d_s, d_f = -inverse * p * down, -p * (u * down - 1), -p * up_f
        log_q, q = torch.logsumexp(logit, dim=-1, keepdim=True), torch.softmax(logit, dim=-1)
        if self.chain.is_bounded:
            A, B, width = (self.lower - mu) * inverse, (self.upper - mu) * inverse, (self.upper - self.lower) * inverse
            mass, down_A, up_B, up_f = _log_mass(A, B, width, f)
            mass += logit
            log_q = torch.logsumexp(mass, dim=-1, keepdim=True)
            q = torch.exp(mass - log_q)
            d_mu += inverse * q * (down_A - up_B)
            d_s += q * (A * down_A - B * up_B)
            d_f += q * up_f
        d_f = d_f.sum(dim=(1, 2), keepdim=True) / t.shape[1]
        torch.mul(d_f, f * (1 - f / FLATTEST), out=gradient(self.chain.f))
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


def _log_density(u: Tensor, f: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Log density of a component but for its scale, log g' - g + 2 log sig(g), minus its slope in u, its slope in f."""
    fu = f * u
    below, above = 1 + fu * u, 1 + 2 * fu * u  # of g' = above / sqrt(below)
    root = torch.sqrt(below)
    g, slope = u * root, above / root
    tanh = torch.tanh(g / 2)
    down = tanh * slope - 4 * fu / above + fu / below
    up_f = u * u * (2 / above - 0.5 / below - 0.5 * tanh * u / root)
    return torch.log(slope) - g + 2 * logsigmoid(g), down, up_f


def _log_mass(A: Tensor, B: Tensor, width: Tensor, f: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Log mass of a component between A and B = A + width, minus its slope in A, its slopes in B and in f."""
    root_A, root_B = torch.sqrt(1 + f * A * A), torch.sqrt(1 + f * B * B)
    g_A, g_B = A * root_A, B * root_B
    w = width * (root_B + f * A * (A + B) / (root_A + root_B))  # g_B - g_A, as `warped_width`
    rest = 1 / torch.expm1(w)
    P_A, P_B = torch.sigmoid(g_A) + rest, torch.sigmoid(-g_B) + rest
    log_mass = logsigmoid(g_B) + logsigmoid(-g_A) + torch.log(-torch.expm1(-w))
    down_A, up_B = P_A * (2 * root_A - 1 / root_A), P_B * (2 * root_B - 1 / root_B)
    return log_mass, down_A, up_B, 0.5 * (P_B * B**3 / root_B - P_A * A**3 / root_A)
