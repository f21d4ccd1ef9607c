"""The chain: an autoregressive transport from uniform noise to the posterior, one conditional for each parameter.

Paper section 3.1 with a vector theta: theta_j = F_j^-1(tau_j | theta_1..j-1, s), monotone in its own level tau_j, s the
summaries of y. Each F_j is a mixture of K components truncated to the prior's support,

    F_j(t) = sum_c w_c sigmoid(g(u_c(t))),  u_c(t) = (t - mu_c) exp(-s_c),  g(u) = u sqrt(1 + f_j u^2),
    tau_j  = (F_j(t) - F_j(lo)) / (F_j(hi) - F_j(lo)),
    log p_j(t) = log sum_c w_c exp(-g_c - s_c) g'(u_c) sigmoid(g_c)^2
                 - log sum_c w_c (sigmoid(g_c(hi)) - sigmoid(g_c(lo))),  g_c = g(u_c),

whose logits, locations and log scales are the outputs of a small network of its own. From many pairs the flatness f_j
is learnt, too, one for each conditional: its components are logistic at 0, all but normal at 0.038 and flat on top at
1/6. Logistic tails alone put a halo around posteriors that lie on a thin ridge. So draws lie in the support by
construction, and the density, the product of the p_j, is exact. Several members, each with an order of the parameters
of its own, are mixed as whole densities: mixing their conditionals would be improper. Works on scaled parameters and
summaries; training is in `chain_training`, scales are in `scales`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import silu

from genbayes.arrays import FloatArray
from genbayes.errors import UnreadableFile
from genbayes.persistence import FOREIGN, State

LOG_SCALES = (-9.0, 4.0)  # of a component, in standard deviations of the parameter
OUTSIDE = 10.0  # how far beyond the support a component may lie: farther, differences drown in rounding
FLATTEST = 1 / 6  # flatness of a component beyond which its density has a dip in the middle
NORMAL = 0.0383  # flatness with which a component of scale 0.6276 is standard normal but for 2e-4 in any probability
LOGISTIC = -40.0  # logit of a share of FLATTEST that is none and stays so: of few pairs long tails are learnt best
FAR = 1e6  # stands for an infinite end of the support, in the same units
ROWS_AT_ONCE = 4_096  # draws that pass through the networks together: more leave the cache
AS_NORMALS, AS_LOGISTICS = (1.65, 0.72, 0.45), (2.16, 0.85, 0.302)  # reach r, spread q and scale: eight components at
# -r, ..., r of weights exp(-a^2 / (2 q^2)) are a standard normal but for 1e-4 of Kullback and Leibler's divergence
MOST_TO_START_FROM, N_REWEIGHTED = (
    20_000,
    3,
)  # pairs of the first linear regressions, and how often they are weighted anew
N_EM = 50  # steps that the weights of members take
N_BISECTIONS = 60  # halvings of a bracket: to the last digit of double precision


@dataclass(frozen=True)
class ChainShape:
    """Sizes of a chain.

    Attributes:
        k: Parameters.
        n_summaries: Summaries of y.
        n_members: Chains that are mixed.
        n_hidden: Units of a hidden layer.
        n_layers: Residual layers after the first.
        n_components: Components of a conditional.
    """

    k: int
    n_summaries: int
    n_members: int = 1
    n_hidden: int = 64
    n_layers: int = 3
    n_components: int = 8


class Chain(torch.nn.Module):
    """Stacked networks of all conditionals of all members, (C, in, out) with C = n_members * k.

    Conditional c of member m predicts parameter target[c] from the parameters before it in the member's order, those
    with mask[c] = 1, and from the summaries. x = (theta, s) has shape (b, k + p):

        h_0 = silu(x W_0 + b_0),  h_i = h_{i-1} + silu(h_{i-1} W_i + b_i),  out = h W_out + b_out + x S.

    Outputs are logits, places a_c and log widths v_c of the components, then their common centre m and log spread r:
    mu_c = m + e^r a_c, s_c = r + v_c. So what is narrow at some y and wide at others can keep its shape. The flatness
    of the components is sigmoid(f) / 6.

    Args:
        shape: Sizes.
        lower, upper: Ends of the support on the scale of theta, each (k,); may be infinite.
        orders: Order of the parameters in each member, (n_members, k).
        generator: Draws the first weights.
    """

    lower: Tensor
    upper: Tensor
    mask: Tensor
    target: Tensor
    weight: Tensor

    def __init__(
        self,
        shape: ChainShape,
        lower: FloatArray,
        upper: FloatArray,
        orders: FloatArray | np.ndarray[tuple[int, int], np.dtype[np.int64]],
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.shape, self.orders = shape, np.asarray(orders, dtype=np.int64)
        self.is_bounded = bool(np.isfinite(lower).any() or np.isfinite(upper).any())
        for name, edge in (("lower", lower), ("upper", upper)):
            self.register_buffer(name, torch.as_tensor(np.clip(edge, -FAR, FAR), dtype=torch.float32))
        self.register_buffer("target", torch.as_tensor(self.orders.reshape(-1)))
        self.register_buffer("mask", _masks(self.orders, shape.n_summaries))
        self.register_buffer("weight", torch.full((shape.n_members,), 1 / shape.n_members, dtype=torch.float64))
        C, n_in, H, n_out = len(self.target), shape.k + shape.n_summaries, shape.n_hidden, 3 * shape.n_components + 2

        def normal(*size: int) -> Tensor:
            return torch.randn(*size, generator=generator)

        self.W_0 = torch.nn.Parameter(1.4 * normal(C, n_in, H) / math.sqrt(n_in) * self.mask)
        self.b_0 = torch.nn.Parameter(0.3 * normal(C, 1, H))
        self.W = torch.nn.ParameterList(1.4 * normal(C, H, H) / math.sqrt(H) for _ in range(shape.n_layers))
        self.b = torch.nn.ParameterList(0.3 * normal(C, 1, H) for _ in range(shape.n_layers))
        self.W_out = torch.nn.Parameter(0.1 * normal(C, H, n_out) / math.sqrt(H))
        self.b_out = torch.nn.Parameter(torch.zeros(C, 1, n_out))
        self.S = torch.nn.Parameter(torch.zeros(C, n_in, n_out))
        self.f = torch.nn.Parameter(torch.full((C, 1, 1), math.log(NORMAL / (FLATTEST - NORMAL))))  # begins normal

    @torch.no_grad()
    def start_from_ridge(self, theta: Tensor, s: Tensor, *, framed: bool, learns_tails: bool = False) -> None:
        """Begin with the linear regression of each parameter on what its conditional sees, and the spread around it.

        Args:
            theta: Scaled parameters, shape (n, k).
            s: Scaled summaries, shape (n, p).
            framed: Whether centre and spread of the components are common outputs, the latter log-linear too;
                otherwise these stay 0, and each component has its own location and scale.
            learns_tails: Whether components begin normal and learn their flatness; otherwise they stay logistic.
        """
        K, x = self.shape.n_components, torch.cat([theta, s], dim=1)[:MOST_TO_START_FROM].double()
        self.W_out.mul_(0.05)
        for c, j in enumerate(self.target.tolist()):
            kept = torch.nonzero(self.mask[c, :, 0]).flatten()
            mean, log_spread = (a.float() for a in _linear_normal(x[:, kept], x[:, j], is_even=not framed))
            if framed:
                self.S[c, kept, -2:] = torch.stack([mean[:-1], log_spread[:-1]], dim=1)
                self.b_out[c, 0, -2:] = torch.stack([mean[-1], log_spread[-1]])
            else:
                self.S[c, kept, K : 2 * K] = mean[:-1, None]
                self.b_out[c, 0, K : 2 * K] = mean[-1] + torch.exp(log_spread[-1]) * torch.linspace(-1.2, 1.2, K)
                self.b_out[c, 0, 2 * K : 3 * K] = log_spread[-1] + math.log(0.34)
        if framed:
            reach, spread, width = AS_NORMALS if learns_tails else AS_LOGISTICS
            a = torch.linspace(-reach, reach, K)
            self.b_out[:, 0, :-2] = torch.cat([-0.5 * (a / spread) ** 2, a, torch.full((K,), math.log(width))])
        else:
            self.W_out[..., -2:] = 0
        if not learns_tails:
            self.f.fill_(LOGISTIC)

    def outputs(
        self, x: Tensor, which: slice = slice(None), dropout: float = 0.0, generator: torch.Generator | None = None
    ) -> Tensor:
        """Outputs of the networks of a slice of conditionals, (C, b, k + p) -> (C, b, 3 K + 2)."""
        h = silu(torch.baddbmm(self.b_0[which], x, self.W_0[which] * self.mask[which]))
        for W, b in zip(self.W, self.b, strict=True):
            branch = silu(torch.baddbmm(b[which], h, W[which]))
            if dropout > 0:
                branch = branch * torch.empty_like(branch).bernoulli_(1 - dropout, generator=generator) / (1 - dropout)
            h = h + branch
        return torch.baddbmm(self.b_out[which], h, self.W_out[which]) + torch.bmm(x, self.S[which] * self.mask[which])

    def as_mixtures(self, out: Tensor, which: slice = slice(None)) -> Mixtures:
        """Mixtures that outputs stand for, (C, b, 3 K + 2) -> mixtures of shape (C, b)."""
        logit, place, width, centre, log_spread = out.split([*[self.shape.n_components] * 3, 1, 1], dim=-1)
        log_spread = log_spread.clamp(*LOG_SCALES)
        mu, log_scale = centre + torch.exp(log_spread) * place, log_spread + width
        at = self.target[which][:, None, None]
        lower, upper = self.lower[at], self.upper[at]
        mu = torch.minimum(torch.maximum(mu, lower - OUTSIDE), upper + OUTSIDE)
        scale, flatness = log_scale.clamp(*LOG_SCALES), self.flatness[which]
        return Mixtures(logit, mu, scale, lower, upper, flatness, is_bounded=self.is_bounded)

    @property
    def flatness(self) -> Tensor:
        """Flatness of the components of each conditional, (C, 1, 1)."""
        return FLATTEST * torch.sigmoid(self.f)

    def log_prob(self, theta: Tensor, s: Tensor) -> Tensor:
        """Log density of each member's conditionals, (n, k), (n, p) -> (C, n)."""
        x = torch.cat([theta, s], dim=1).expand(len(self.target), -1, -1)
        return self.as_mixtures(self.outputs(x)).log_prob(theta.T[self.target])

    @torch.no_grad()
    def joint_log_prob(self, theta: Tensor, s: Tensor) -> Tensor:
        """Log density of the mixture of the members, in blocks of rows, (n, k), (n, p) -> (n,) in double precision."""
        M, found = self.shape.n_members, []
        for rows in torch.arange(len(theta)).split(ROWS_AT_ONCE):
            each = self.log_prob(theta[rows], s[rows]).double().view(M, -1, len(rows)).sum(dim=1)
            found.append(torch.logsumexp(each + torch.log(self.weight)[:, None], dim=0))
        return torch.cat(found) if found else torch.zeros(0, dtype=torch.float64)

    @torch.no_grad()
    def transport(self, s: Tensor, tau: Tensor, place: float = 0.5) -> Tensor:
        """Noise to draws, theta = T(tau | s), o observations and n draws of each at once.

        Members make as many of the draws as they weigh, one after another. Of two levels a parameter the first chooses
        the component, the second the place in it, which needs no search.

        Args:
            s: Scaled summaries, shape (o, p).
            tau: Noise in (0, 1), shape (o, n, k, 2).
            place: Noise in (0, 1) that says how parts of draws are rounded.

        Returns:
            Scaled parameters, shape (o, n, k).
        """
        o, n, k, _ = tau.shape
        theta = s.new_empty(o, n, k)
        for m, at in enumerate(self.parts(n, place)):
            part = tau[:, at]
            rows = s.repeat_interleave(part.shape[1], dim=0)
            noise = part.reshape(-1, k, 2)
            drawn = [
                self._draw(m, rows_b, noise_b)
                for rows_b, noise_b in zip(rows.split(ROWS_AT_ONCE), noise.split(ROWS_AT_ONCE), strict=True)
            ]
            if drawn:
                theta[:, at] = torch.cat(drawn).view(o, -1, k)
        return theta

    def parts(self, n: int, place: float = 0.5) -> list[slice]:
        """Which of n draws each member makes: draw i the one that holds (i + place) / n of the cumulated weights."""
        ends = np.ceil(np.cumsum(self.weight.numpy()) * n - place).clip(0, n).astype(int)
        ends[-1] = n
        return [slice(int(a), int(b)) for a, b in pairwise([0, *ends])]

    @torch.no_grad()
    def weigh(self, theta: Tensor, s: Tensor) -> None:
        """Weights of the members that make held-out pairs likely, by EM; a pair for each keeps them positive.

        Args:
            theta: Scaled parameters, shape (n, k).
            s: Scaled summaries, shape (n, p).
        """
        each = self.log_prob(theta, s).double().view(self.shape.n_members, -1, len(theta)).sum(dim=1)
        for _ in range(N_EM):
            share = torch.softmax(each + torch.log(self.weight)[:, None], dim=0)
            self.weight = (share.sum(dim=1) + 1) / (len(theta) + self.shape.n_members)

    def _draw(self, member: int, s: Tensor, noise: Tensor) -> Tensor:
        """Draws of one member, one parameter after another, (b, p), (b, k, 2) -> (b, k)."""
        k = self.shape.k
        x = torch.cat([s.new_zeros(len(s), k), s], dim=1)
        for step in range(k):
            c = member * k + step
            j = int(self.target[c])
            which = slice(c, c + 1)
            x[:, j] = self.as_mixtures(self.outputs(x[None], which), which).draw(noise[None, :, j])[0]
        return x[:, :k]

    def to_state(self) -> State:
        """Sizes, orders, ends of the support and weights."""
        values = {**vars(self.shape), "orders": self.orders.tolist()}
        arrays = {name: value.detach().cpu().numpy() for name, value in self.named_parameters()}
        edges = {name: getattr(self, name).cpu().numpy() for name in ("lower", "upper", "weight")}
        return State("Chain", values, {**arrays, **edges})

    @classmethod
    def from_state(cls, state: State) -> Chain:
        """The chain that a state describes, every array of the shape that its sizes ask for."""
        names = ("k", "n_summaries", "n_members", "n_hidden", "n_layers", "n_components")
        shape = ChainShape(**{name: state.count(name, at_least=name != "n_layers") for name in names})
        orders = state.typed("orders", list[list[int]])
        sizes = {len(orders) == shape.n_members, *(len(order) == shape.k for order in orders)}  # k may be anything yet
        if sizes != {True} or any(sorted(order) != list(range(shape.k)) for order in orders):
            raise UnreadableFile(f"the orders in the model file must have each parameter once, got others; {FOREIGN}")
        C, n_in, H = shape.n_members * shape.k, shape.k + shape.n_summaries, shape.n_hidden
        state.array("W_0", (C, n_in, H))  # sizes that the file fills, before memory is set aside for them
        state.array("W_out", (C, H, 3 * shape.n_components + 2))
        for i in range(shape.n_layers):
            state.array(f"W.{i}", (C, H, H))
        lower, upper = (state.array(name, (shape.k,)).astype(np.float64) for name in ("lower", "upper"))
        lower, upper = np.where(lower <= -FAR, -np.inf, lower), np.where(upper >= FAR, np.inf, upper)
        chain = cls(shape, lower, upper, np.asarray(orders, dtype=np.int64))
        with torch.no_grad():
            for name, parameter in chain.named_parameters():
                if name == "f" and name not in state.arrays:  # a file from before flatness was learnt
                    parameter.fill_(LOGISTIC)
                else:
                    parameter.copy_(torch.as_tensor(state.array(name, tuple(parameter.shape))))
            weight = torch.as_tensor(state.array("weight", (shape.n_members,), positive=True)).double()
            total = weight.sum()
            chain.weight.copy_(
                weight if abs(total - 1) < 1e-12 else weight / total
            )  # to the last digit as it was saved
        return chain


@dataclass
class Mixtures:
    """Truncated mixtures whose components run from logistic over normal to flat-topped, along the last axis, (..., K).

    Attributes:
        logit, mu, log_scale: Weights (up to a factor), locations and log scales, each (..., K).
        lower, upper: Ends of the support, of a shape that broadcasts against them.
        flatness: Of the components, f in g(u) = u sqrt(1 + f u^2), the same for all K, (..., 1).
        is_bounded: Whether any end is finite.
    """

    logit: Tensor
    mu: Tensor
    log_scale: Tensor
    lower: Tensor
    upper: Tensor
    flatness: Tensor
    is_bounded: bool = True

    def log_prob(self, t: Tensor) -> Tensor:
        """Log density at t, (...) -> (...)."""
        u = self._unit(t[..., None])
        g = warp(u, self.flatness)
        inside = self.logit - self.log_scale + log_slope(u, self.flatness) - g - 2 * torch.nn.functional.softplus(-g)
        return torch.logsumexp(inside, dim=-1) - self._log_total

    def cdf(self, t: Tensor) -> Tensor:
        """Levels tau = (F(t) - F(lo)) / (F(hi) - F(lo)), (...) -> (...); 0 below the support and 1 above."""
        at = torch.minimum(torch.maximum(t[..., None], self.lower), self.upper)
        below = self.logit + self._log_below(at)
        return torch.exp(torch.logsumexp(below, dim=-1) - self._log_total)

    def ppf(self, tau: Tensor) -> Tensor:
        """Quantiles, by bisection within the support or 50 scales of the components, (...) -> (...)."""
        reach = 50 * torch.exp(self.log_scale)
        low = torch.maximum((self.mu - reach).amin(dim=-1), self.lower[..., 0])
        high = torch.minimum((self.mu + reach).amax(dim=-1), self.upper[..., 0])
        for _ in range(N_BISECTIONS):
            middle = (low + high) / 2
            is_low = self.cdf(middle) < tau
            low, high = torch.where(is_low, middle, low), torch.where(is_low, high, middle)
        return (low + high) / 2

    def draw(self, tau: Tensor) -> Tensor:
        """Component by the first level, place in it by the second, (..., 2) -> (...).

        In a component truncated to (a, b) on the scale of g, D = sigmoid(b) - sigmoid(a) its mass, g is
        log(sigmoid(a) + tau D) - log(sigmoid(-b) + (1 - tau) D): sums of positive terms, exact in either tail.
        """
        share = torch.softmax(self._log_mass(), dim=-1).cumsum(dim=-1)
        chosen = (tau[..., :1] * share[..., -1:] > share[..., :-1]).sum(dim=-1, keepdim=True)
        mu, log_scale = self.mu.gather(-1, chosen)[..., 0], self.log_scale.gather(-1, chosen)[..., 0]
        lower, upper, f, v = self.lower[..., 0], self.upper[..., 0], self.flatness[..., 0], tau[..., 1]
        if not self.is_bounded:
            return mu + torch.exp(log_scale) * unwarp(torch.log(v) - torch.log1p(-v), f)
        a, b = (lower - mu) * torch.exp(-log_scale), (upper - mu) * torch.exp(-log_scale)
        r_a, r_b = warp_root(a, f), warp_root(b, f)
        width = warped_width(a, b, (upper - lower) * torch.exp(-log_scale), r_a, r_b, f)
        a, b = a * r_a, b * r_b
        log_D = log_sigmoid_difference(a, b, width)
        log_sigmoid = torch.nn.functional.logsigmoid
        g = torch.logaddexp(log_sigmoid(a), torch.log(v) + log_D)
        g = g - torch.logaddexp(log_sigmoid(-b), torch.log1p(-v) + log_D)
        return torch.minimum(torch.maximum(mu + torch.exp(log_scale) * unwarp(g, f), lower), upper)

    def _unit(self, t: Tensor) -> Tensor:
        return (t - self.mu) * self._inverse_scale

    @cached_property
    def _inverse_scale(self) -> Tensor:
        return torch.exp(-self.log_scale)

    def _log_mass(self) -> Tensor:
        """Log weights of the components within the support, up to the same constant, (..., K)."""
        if not self.is_bounded:
            return self.logit
        return self.logit + self._log_below(self.upper)

    @cached_property
    def _log_total(self) -> Tensor:
        """Log of the sum of these weights, (...)."""
        return torch.logsumexp(self._log_mass(), dim=-1)

    @cached_property
    def _at_lower(self) -> tuple[Tensor, Tensor, Tensor]:
        """Of the lower end: u, the root in g(u), and the log mass of each component above it, each (..., K)."""
        a = self._unit(self.lower)
        root = warp_root(a, self.flatness)
        return a, root, torch.nn.functional.logsigmoid(-(a * root))

    def _log_below(self, t: Tensor) -> Tensor:
        """Log mass of each component between the lower end and t, (..., K); `log_sigmoid_difference`."""
        (a, r_a, above), b = self._at_lower, self._unit(t)
        r_b = warp_root(b, self.flatness)
        w = warped_width(a, b, (t - self.lower) * self._inverse_scale, r_a, r_b, self.flatness)
        return torch.nn.functional.logsigmoid(b * r_b) + above + log_share(w)


def warp(u: Tensor, f: Tensor) -> Tensor:
    """g(u) = u sqrt(1 + f u^2): the logit of a component's probability below u."""
    return u * warp_root(u, f)


def warp_root(u: Tensor, f: Tensor) -> Tensor:
    """sqrt(1 + f u^2), the root in g(u)."""
    return torch.sqrt(1 + f * u * u)


def unwarp(g: Tensor, f: Tensor) -> Tensor:
    """The u of g(u): u^2 = 2 g^2 / (1 + sqrt(1 + 4 f g^2))."""
    return g * torch.sqrt(2 / (1 + torch.sqrt(1 + 4 * f * g * g)))


def log_slope(u: Tensor, f: Tensor) -> Tensor:
    """Log g'(u), g'(u) = (1 + 2 f u^2) / sqrt(1 + f u^2)."""
    bent = f * u * u
    return torch.log1p(2 * bent) - 0.5 * torch.log1p(bent)


def warped_width(a: Tensor, b: Tensor, width: Tensor, r_a: Tensor, r_b: Tensor, f: Tensor) -> Tensor:
    """g(b) - g(a) = width (r_b + f a (a + b) / (r_a + r_b)), r = sqrt(1 + f u^2), width = b - a: nothing cancels."""
    return width * (r_b + f * a * (a + b) / (r_a + r_b))


def log_sigmoid_difference(a: Tensor, b: Tensor, width: Tensor) -> Tensor:
    """log(sigmoid(b) - sigmoid(a)) = log sigmoid(b) + log sigmoid(-a) + log(1 - e^-width), width = b - a >= 0."""
    log_sigmoid = torch.nn.functional.logsigmoid
    return log_sigmoid(b) + log_sigmoid(-a) + log_share(width)


def log_share(width: Tensor) -> Tensor:
    """log(1 - e^-width)."""
    return torch.log(-torch.expm1(-width.clamp(min=1e-12)))


def _linear_normal(x: Tensor, t: Tensor, *, is_even: bool) -> tuple[Tensor, Tensor]:
    """Coefficients, intercepts last, of mean and log spread of t, (n,), given x, (n, d): each (d + 1,).

    Ridge regressions in turn: of t with weights spread^-2, and of the logarithm of its residuals. Where the latter
    explains no more than chance does, n R^2 being chi-squared with d degrees of freedom then, the spread is even.
    """
    n, d = x.shape
    x = torch.cat([x, x.new_ones(n, 1)], dim=1)
    log_spread = x.new_zeros(d + 1)
    for _ in range(1 if is_even else N_REWEIGHTED):
        r = x @ log_spread
        mean = _ridge(x, t, torch.exp(2 * (r.mean() - r).clamp(-3, 3)))
        away = (t - x @ mean).abs() + 1e-6
        log_away = torch.log(away + 1e-3 * away.mean())
        log_spread = _ridge(x, log_away, x.new_ones(n), penalty=30)
        if is_even or n * (x @ log_spread).var() < (d + 4 * math.sqrt(2 * d)) * log_away.var():
            log_spread.zero_()
    log_spread[-1] += 0.5 * torch.log(((away * torch.exp(-x @ log_spread)) ** 2).mean()).clamp_min(math.log(1e-6))
    return mean, log_spread


def _ridge(x: Tensor, t: Tensor, weight: Tensor, penalty: float = 1.0) -> Tensor:
    """Coefficients of least squares with a penalty on all but the last, the intercept, (n, d), (n,), (n,) -> (d,)."""
    weighted, penalties = x * (weight / weight.mean())[:, None], x.new_full((x.shape[1],), penalty)
    penalties[-1] = 0
    found: Tensor = torch.linalg.solve(weighted.T @ x + torch.diag(penalties), weighted.T @ t)
    return found


def _masks(orders: np.ndarray[tuple[int, int], np.dtype[np.int64]], n_summaries: int) -> Tensor:
    """1 where a conditional sees an input: parameters before its own, and all summaries, (C, k + p, 1)."""
    place = np.argsort(orders, axis=1)  # of each parameter in each member's order
    before = place[:, None, :] < np.arange(orders.shape[1])[None, :, None]  # (M, step, parameter)
    seen = np.concatenate([before.reshape(-1, orders.shape[1]), np.ones((before[..., 0].size, n_summaries))], axis=1)
    return torch.as_tensor(seen, dtype=torch.float32)[:, :, None]
