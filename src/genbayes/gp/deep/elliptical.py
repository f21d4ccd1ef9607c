"""Elliptical slice sampling of a vector with a zero-mean Gaussian prior and any likelihood.

Source: Murray, Adams & MacKay (2010, "Elliptical slice sampling"), figure 2. It has nothing to tune and always
moves; it knows neither the prior's covariance nor what the vector means.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from genbayes.arrays import FloatArray

__all__ = ["elliptical_slice"]

SMALLEST_BRACKET = 1e-14  # angles below it change nothing in double precision


def elliptical_slice(
    w: FloatArray,
    nu: FloatArray,
    log_likelihood: Callable[[FloatArray], float],
    current: float,
    rng: np.random.Generator,
) -> tuple[FloatArray, float]:
    """One move along the ellipse w cos(phi) + nu sin(phi) that leaves prior times likelihood invariant.

    A level below the current log likelihood is drawn, then angles, from the whole ellipse first and then from
    ever shorter brackets around phi = 0, until one lies above the level.

    Args:
        w: Current state, shape (n,).
        nu: A fresh draw from the prior of w, shape (n,).
        log_likelihood: Log likelihood of a state.
        current: Its value at w.
        rng: Source of the level and the angles.

    Returns:
        The new state, shape (n,), and its log likelihood.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> w, value = elliptical_slice(np.zeros(2), np.ones(2), lambda w: -float(w @ w), 0.0, rng)
        >>> bool(value == -w @ w)
        True
    """
    level = current - rng.standard_exponential()  # log of a uniform share of the likelihood
    phi = rng.uniform(0.0, 2.0 * math.pi)
    lower, upper = phi - 2.0 * math.pi, phi
    while upper - lower > SMALLEST_BRACKET:
        proposal = w * math.cos(phi) + nu * math.sin(phi)
        value = log_likelihood(proposal)
        if value >= level:
            return proposal, value
        if phi < 0.0:
            lower = phi
        else:
            upper = phi
        phi = rng.uniform(lower, upper)
    # phi = 0 is always above the level, unless rounding lets an ill-conditioned likelihood differ from its own value
    return w, current
