"""Sharpness of a chain from held-out pairs: two numbers, shared by all of its conditionals.

A mixture of calibrated members that err differently is too wide (Gneiting and Ranjan 2013, "Combining predictive
distributions", who adjust the spread of each for it); networks that learnt few pairs by heart are too narrow. What is
adjusted: with factors e^b and e^w every component's logit is multiplied by e^b and its scale by e^w. Both are taken up
into the weights of the networks, so the chain stays what it was.
"""

from __future__ import annotations

import torch
from torch import Tensor

from genbayes.inference.chain import Chain

PRIOR_SPREAD = 0.1  # of b and w: a hundred pairs say little about them
N_ITERATIONS = 25  # of L-BFGS, enough for two numbers


def sharpen(chain: Chain, theta: Tensor, s: Tensor) -> None:
    """Adjust a chain, in place, so that pairs it was not trained on are most likely.

    Args:
        chain: A trained chain whose members have their weights.
        theta: Scaled parameters, shape (n, k).
        s: Scaled summaries, shape (n, p).
    """
    with torch.no_grad():
        out = chain.outputs(torch.cat([theta, s], dim=1).expand(len(chain.target), -1, -1))
    K, t = chain.shape.n_components, theta.T[chain.target]
    log_weight = torch.log(chain.weight).float()[:, None]
    factors = torch.zeros(2, requires_grad=True)
    search = torch.optim.LBFGS([factors], max_iter=N_ITERATIONS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        search.zero_grad()
        logit, rest = out[..., :K] * torch.exp(factors[0]), out[..., 2 * K : 3 * K] + factors[1]
        adjusted = torch.cat([logit, out[..., K : 2 * K], rest, out[..., 3 * K :]], dim=-1)
        each = chain.as_mixtures(adjusted).log_prob(t).view(chain.shape.n_members, -1, len(theta)).sum(dim=1)
        mean = torch.logsumexp(each + log_weight, dim=0).mean()
        total = -mean + 0.5 * (factors / PRIOR_SPREAD).square().sum() / len(theta)
        total.backward()
        return total

    search.step(loss)
    with torch.no_grad():
        for part in (chain.W_out, chain.b_out, chain.S):
            part[..., :K] *= torch.exp(factors[0])
        chain.b_out[..., 2 * K : 3 * K] += factors[1]
