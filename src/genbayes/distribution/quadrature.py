"""Integrals over a quantile function that is known only by its values: mean, variance, CRPS.

Gauss-Legendre nodes, moved into the tails by a power: with 1 - u or u = t^4 / 2 a logarithmic singularity of Q leaves
an integrand smooth enough for all digits. Distributions with kinks or atoms get fewer digits; the kinds that have them
bring closed forms instead.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from genbayes.arrays import FloatArray
from genbayes.distribution.rounding import LARGEST_LEVEL, SMALLEST_LEVEL

N_NODES = 64
PANEL_NODES = 6
_TAIL = np.array([1e-15, 1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.06])
PANEL_LEVELS = np.concatenate([_TAIL, np.linspace(0.1, 0.9, 17), 1 - _TAIL[::-1]])  # at most about one sd apart

QuantileFunctionOfLevels = Callable[[FloatArray], FloatArray]


@cache
def legendre(n_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and weights on (0, 1).

    Example:
        >>> t, w = legendre(2)
        >>> float(w @ t**3).__round__(12)
        0.25
    """
    t, w = np.polynomial.legendre.leggauss(n_nodes)
    return (t + 1) / 2, w / 2


@cache
def _levels() -> tuple[FloatArray, FloatArray]:
    """Levels u, shape (1, 2 N_NODES), and their weights, for integrals over all of (0, 1)."""
    t, w = legendre(N_NODES)
    u, weight = t**4 / 2, 2 * w * t**3  # du = 2 t^3 dt
    return np.concatenate([u, 1 - u[::-1]])[None, :], np.concatenate([weight, weight[::-1]])


def mean(ppf: QuantileFunctionOfLevels) -> FloatArray:
    """Integral of Q(u) du, shape (n,)."""
    u, weight = _levels()
    integral: FloatArray = (ppf(u) * weight).sum(axis=1)
    return integral


def variance(ppf: QuantileFunctionOfLevels, centre: FloatArray) -> FloatArray:
    """Integral of (Q(u) - centre)^2 du, shape (n,)."""
    u, weight = _levels()
    integral: FloatArray = ((ppf(u) - centre[:, None]) ** 2 * weight).sum(axis=1)
    return integral


def crps(ppf: QuantileFunctionOfLevels, y: FloatArray, p: FloatArray) -> FloatArray:
    """CRPS as twice the integral of the pinball loss over the levels, cut at p = F(y) where it has its kink.

    int_0^p 2 u (y - Q(u)) du + int_p^1 2 (1 - u) (Q(u) - y) du (Laio and Tamea 2007); y and p have shape (n,).
    """
    t, w = legendre(N_NODES)
    y, p = y[:, None], p[:, None]
    below, above = p * t**2, (1 - p) * t**2  # u below p, and 1 - u above it
    loss_below = 2 * below * (y - ppf(np.maximum(below, SMALLEST_LEVEL)))
    loss_above = 2 * above * (ppf(np.minimum(1 - above, LARGEST_LEVEL)) - y)
    integral: FloatArray = ((p * loss_below + (1 - p) * loss_above) * 2 * t * w).sum(axis=1)
    return integral


def crps_on_panels(cdf: Callable[[FloatArray], FloatArray], breakpoints: FloatArray, y: FloatArray) -> FloatArray:
    """CRPS as the integral of (F(z) - 1{z >= y})^2 dz, panel by panel between breakpoints (n, j) where F is smooth.

    Exact to rounding where F is piecewise linear or constant between the breakpoints; y has shape (n,).
    """
    edges = np.sort(np.concatenate([breakpoints, y[:, None]], axis=1), axis=1)
    t, w = legendre(PANEL_NODES)
    width = np.diff(edges, axis=1)
    z = edges[:, :-1, None] + width[:, :, None] * t  # (n, j, PANEL_NODES)
    F = cdf(z.reshape(len(z), -1)).reshape(z.shape)
    error = F - (z > y[:, None, None])
    integral: FloatArray = ((error**2 * w).sum(axis=2) * width).sum(axis=1)
    return integral
