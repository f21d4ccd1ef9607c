"""Whether simulated parameters are draws from the prior; if not, the posterior answers another question.

Two tests: Kolmogorov and Smirnov's of each margin, and an energy test of all parameters jointly (Szekely and Rizzo
2004), which sees dependence. Designs that are more even than chance, Latin hypercubes and Sobol sequences, pass.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import ndtri

from genbayes.arrays import FloatArray
from genbayes.errors import NotFromPrior
from genbayes.inference.calibration import holm
from genbayes.inference.prior import Prior

FALSE_ALARM = 0.0025  # of either test, so that draws from the prior are warned of once in 200 fits at most
MOST_COMPARED = 500  # rows of theta, and draws from the prior, in the energy test
N_PERMUTATIONS = 999
FARTHEST = 6.0  # normal scores beyond count as this


def warn_unless_from_prior(theta: FloatArray, prior: Prior, rng: np.random.Generator) -> None:
    """Warn if parameters (n, k) are unlikely to be draws from the prior, and say which.

    Example:
        >>> from genbayes import Box
        >>> from genbayes.inference.prior import as_prior
        >>> warn_unless_from_prior(np.random.default_rng(0).uniform(size=(200, 1)), as_prior(Box.unit(1)), None)
    """
    margins = {name: p for name, p in margin_p_values(theta, prior).items() if p <= FALSE_ALARM}
    if margins:
        named = ", ".join(f"{name} (p = {p:.1g})" for name, p in margins.items())
        _warn(f"the distribution of {named} in theta is not that of the prior")
    elif prior.k > 1 and (p := energy_p_value(theta, prior, rng)) <= FALSE_ALARM:
        _warn(f"the parameters in theta depend on each other in another way than in the prior (p = {p:.1g})")


def margin_p_values(theta: FloatArray, prior: Prior) -> dict[str, float]:
    """P-values of Kolmogorov and Smirnov's test of each margin, adjusted by Holm."""
    from scipy.stats import kstest

    u = prior.cdf(theta)
    return holm({name: float(kstest(u[:, j], "uniform").pvalue) for j, name in enumerate(prior.names)})


def energy_p_value(theta: FloatArray, prior: Prior, rng: np.random.Generator) -> float:
    """Permutation test of the energy distance between theta and draws from the prior, both as normal scores.

    2 mean |a_i - b_j| - mean |a_i - a_j| - mean |b_i - b_j|, on at most 500 rows of each.
    """
    from scipy.spatial.distance import cdist

    rows = rng.permutation(len(theta))[:MOST_COMPARED]
    both = np.vstack([_scores(theta[rows], prior), _scores(prior.sample(len(rows), rng), prior)])
    distance, n = cdist(both, both), len(rows)
    labels = np.tile(np.r_[np.ones(n), -np.ones(n)], (N_PERMUTATIONS + 1, 1))
    labels[1:] = rng.permuted(labels[1:], axis=1)
    energy = -np.einsum("ri,ri->r", labels @ distance, labels)  # -sum_ij l_i l_j |a_i - b_j|, up to a factor
    return float(np.mean(energy >= energy[0] * (1 - 1e-12)))


def _scores(theta: FloatArray, prior: Prior) -> FloatArray:
    """Margins as normal scores, (n, k)."""
    return np.asarray(np.clip(ndtri(prior.cdf(theta)), -FARTHEST, FARTHEST), dtype=np.float64)


def _warn(what: str) -> None:
    warnings.warn(
        f"{what}; posteriors will be those under the distribution that theta has. Draw theta from the prior, or pass "
        "the prior that it was drawn from",
        NotFromPrior,
        stacklevel=4,
    )
