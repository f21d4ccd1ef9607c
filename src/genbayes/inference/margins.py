"""Margins of a posterior: distribution functions as means of the chain's conditionals over draws, and their inverses.

The chain gives each parameter's distribution given those before it (paper section 3.1); its mean over evenly spread
draws of the others is the margin. Quantiles are found by bracketing (Anderson & Bjorck 1973) between neighbouring
draws, on the scale of log-odds, on which tails are all but straight.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy.special import logit
from scipy.stats import qmc

from genbayes.arrays import FloatArray, IntArray
from genbayes.inference.chain import Chain, Mixtures

N_MARGIN = 512  # evenly spread draws whose conditionals make a margin
NEAR = 0.05  # levels to either side between whose quantiles among the draws a quantile is looked for first
N_FAST = 24  # steps of the search by regula falsi; five to ten are enough where a distribution function is smooth
N_HALVINGS = 45  # of what is still open then: they make a bracket 3e13 times shorter
ROUNDING = 2.0**-23  # relative error of single precision, in which distribution functions are computed
CLOSE = 1e-6  # share of a level, or of what is above it, to which it is met
LEAST = 1e-30  # stands for levels of 0, whose log-odds are infinite


class Margins:
    """Margins of the posterior of each observation: means of the chain's conditionals over draws.

    Args:
        mixtures: Conditionals of each parameter at each draw, of shape (k, o, n).
        draws: These draws, shape (o, n, k).
    """

    def __init__(self, mixtures: Mixtures, draws: torch.Tensor) -> None:
        self.mixtures, self.draws = mixtures, draws
        self.n_observations = mixtures.mu.shape[1]

    def of(self, parameters: IntArray) -> Margins:
        """The margins of some of the k parameters alone, given by their numbers."""
        which, all_ = torch.as_tensor(parameters), self.mixtures
        logit_, mu, log_scale, lower, upper, flatness = (
            value[which] for value in (all_.logit, all_.mu, all_.log_scale, all_.lower, all_.upper, all_.flatness)
        )
        part = Mixtures(logit_, mu, log_scale, lower, upper, flatness, is_bounded=all_.is_bounded)
        return Margins(part, self.draws[..., which])

    def cdf(self, t: FloatArray) -> FloatArray:
        """Distribution functions on the scaled line, (o, k, m) -> (o, k, m)."""
        at = torch.as_tensor(t, dtype=torch.float32).permute(1, 0, 2)  # (k, o, m)
        found = [self.mixtures.cdf(at[..., i : i + 1]).mean(dim=-1) for i in range(at.shape[-1])]
        return torch.stack(found, dim=-1).permute(1, 0, 2).double().numpy()

    def ppf(self, tau: FloatArray) -> FloatArray:
        """Quantiles on the scaled line at m levels, (m,) -> (o, k, m)."""
        mixtures = self.mixtures
        reach = 50 * torch.exp(mixtures.log_scale)
        low = torch.maximum((mixtures.mu - reach).amin(dim=(2, 3)), mixtures.lower[..., 0, 0]).T.double().numpy()
        high = torch.minimum((mixtures.mu + reach).amax(dim=(2, 3)), mixtures.upper[..., 0, 0]).T.double().numpy()
        away = np.minimum(NEAR, np.minimum(tau, 1 - tau) / 2)
        around = np.stack([tau - away, tau + away])
        near = np.quantile(self.draws.double().numpy(), around, axis=1)  # (2, m, o, k)
        return invert(self.cdf, tau, low[..., None], high[..., None], np.moveaxis(near, 1, -1))


def invert(
    cdf: Callable[[FloatArray], FloatArray], tau: FloatArray, low: FloatArray, high: FloatArray, near: FloatArray
) -> FloatArray:
    """Where distribution functions reach levels.

    Regula falsi with the weights of Anderson & Bjorck (1973) on h(t) = logit F(t) - logit tau; halves the bracket
    instead where three steps have not, and after `N_FAST` steps at every further one, so that it is sure to end.

    Args:
        cdf: Distribution functions, (..., m) -> (..., m), each at m points.
        tau: Levels, shape (m,).
        low: Points that are surely below, of a shape that broadcasts against (..., m).
        high: Points that are surely above, likewise.
        near: Two points for each to begin at, ascending, shape (2, ..., m).

    Returns:
        The points, shape (..., m).

    Example:
        >>> from scipy.stats import norm
        >>> near = np.array([[-2.0, 0.0], [-1.0, 1.0]])
        >>> invert(norm.cdf, np.array([0.05, 0.6]), np.float64(-9.0), np.float64(9.0), near).round(4)
        array([-1.6449,  0.2533])
    """
    shape = near.shape[1:]
    a, b = np.broadcast_to(low, shape).copy(), np.broadcast_to(high, shape).copy()
    h_a, h_b = np.full(shape, -np.inf), np.full(shape, np.inf)
    is_open, was_low, width = np.ones(shape, dtype=bool), np.zeros(shape, dtype=bool), np.full(shape, np.inf)
    close = np.maximum(2 * ROUNDING * tau, CLOSE * np.minimum(tau, 1 - tau))
    q = np.clip(near[0], a, b)
    for step in range(N_FAST + N_HALVINGS):
        level = cdf(q)
        h, is_low = _log_odds(level) - _log_odds(tau), level < tau
        is_again = (is_low == was_low) & (step > 1)  # the other end stays once more, and is weighted down
        h_a, h_b = (
            np.where(is_low, h, np.where(is_again, h_a * _lighter(h, h_b), h_a)),
            np.where(is_low, np.where(is_again, h_b * _lighter(h, h_a), h_b), h),
        )
        a, b, was_low = np.where(is_open & is_low, q, a), np.where(is_open & ~is_low, q, b), is_low
        is_open &= (np.abs(level - tau) > close) & (b - a > ROUNDING * np.maximum(np.abs(a), np.abs(b)))
        if not is_open.any():
            break
        with np.errstate(invalid="ignore"):
            between = (a * h_b - b * h_a) / (h_b - h_a)
        is_slow = (step >= N_FAST) | ((step % 3 == 0) & (b - a > width / 2))
        width = b - a if step % 3 == 0 else width
        is_inside = (between > a) & (between < b) & ~is_slow
        following = np.clip(near[1], a, b) if step == 0 else np.where(is_inside, between, (a + b) / 2)
        q = np.where(is_open, following, q)
    return np.asarray(q)


def _log_odds(tau: FloatArray) -> FloatArray:
    return np.asarray(logit(np.clip(tau, LEAST, 1 - ROUNDING / 4)))


def _lighter(h: FloatArray, replaced: FloatArray) -> FloatArray:
    """What the value at the end that stays is weighted with, so that it does not stay for ever."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = 1 - h / replaced
    return np.asarray(np.where(share > 0, share, 0.5))


@torch.no_grad()
def margins_of(chain: Chain, s: torch.Tensor) -> Margins:
    """The margins of the posteriors given scaled summaries, shape (o, q)."""
    k, o = chain.shape.k, len(s)
    noise = even_noise(N_MARGIN if k > 1 else N_MARGIN // 4, k).expand(o, -1, -1, -1)
    theta = chain.transport(s, noise)
    parts = []
    for m, at in enumerate(chain.parts(theta.shape[1])):
        drawn = theta[:, at]
        if at.start == at.stop:  # a member of hardly any weight
            continue
        x = torch.cat([drawn, s[:, None].expand(-1, drawn.shape[1], -1)], dim=2).reshape(1, -1, k + s.shape[1])
        steps = slice(m * k, (m + 1) * k)
        found = chain.as_mixtures(chain.outputs(x.expand(k, -1, -1), steps), steps)
        place = torch.argsort(chain.target[steps])  # from the member's order to that of the parameters
        flatness = found.flatness.expand(-1, o * drawn.shape[1], -1)
        parts.append([v[place].view(k, o, -1, v.shape[-1]) for v in (found.logit, found.mu, found.log_scale, flatness)])
    logits, mu, log_scale, flatness = (torch.cat(values, dim=2) for values in zip(*parts, strict=True))
    lower, upper = (edge[:, None, None, None] for edge in (chain.lower, chain.upper))
    return Margins(Mixtures(logits, mu, log_scale, lower, upper, flatness, is_bounded=chain.is_bounded), theta)


def even_noise(n: int, k: int) -> torch.Tensor:
    """Evenly spread noise, a scrambled Sobol sequence, always the same, (n, k, 2)."""
    points = qmc.Sobol(2 * k, scramble=True, rng=np.random.default_rng(0)).random_base2(int(np.ceil(np.log2(n))))[:n]
    return torch.as_tensor(points.reshape(n, k, 2), dtype=torch.float32).clamp_(1e-7, 1 - 1e-7)
