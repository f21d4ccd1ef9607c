"""Pinball (check, quantile) loss: what the network is trained on, and a proper score of single quantiles."""

import numpy as np
from numpy.typing import ArrayLike

from genbayes.arrays import FloatArray
from genbayes.errors import InvalidInput
from genbayes.validation import check_array, check_targets, check_tau

__all__ = ["pinball"]


def pinball(q: ArrayLike, y: ArrayLike, tau: ArrayLike) -> FloatArray:
    """Pinball loss rho_tau(y - q) of quantiles, Koenker and Bassett (1978), paper section 3.3.

    rho_tau(e) = max(tau e, (tau - 1) e). Twice its integral over tau is the CRPS.

    Args:
        q: Quantiles at the levels tau, shape (n,) for one level or (n, m).
        y: Observations, shape (n,).
        tau: One level, or m of them.

    Returns:
        One loss per quantile, smaller is better, in the shape of q.

    Example:
        >>> pinball(np.array([1.0, 1.0]), np.array([3.0, 0.0]), tau=0.9)
        array([1.8, 0.1])
    """
    tau = check_tau(tau)
    q = check_array(q, "q", "(n, m)" if tau.ndim else "(n,)")
    y = check_targets(y, len(q))
    if tau.ndim and q.shape[1] != len(tau):
        raise InvalidInput(f"q must have one column per level, {len(tau)}, got shape {q.shape}")
    e = (y if q.ndim == 1 else y[:, None]) - q
    return np.maximum(tau * e, (tau - 1) * e)
